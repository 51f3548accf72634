import type { Plugin } from 'rolldown';

/**
 * Writes characters beyond Latin-1 as escapes. Node.js keeps the text of each module in memory, with two bytes for every
 * character if one of them needs two. All of them are in strings, templates and patterns, where an escape is the same.
 */
export const oneByte: Plugin = {
  name: 'one-byte',
  renderChunk: (code) => ({
    code: code.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    map: null,
  }),
};
