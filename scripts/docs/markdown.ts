/** Said at the top of each written file. */
export const generatedNote =
  '<!-- Written by `npm run docs` from the tables in src; edit those, not this file. -->';

/** A table; cells are Markdown already. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Words in the typeface of code; nothing for nothing. */
export function code(words: string): string {
  return words === '' ? '' : `\`${words}\``;
}

/** A block of code in a language. */
export function codeBlock(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

const longestLine = 100;

/** JSON for reading: what fits on a line stands on one. */
export function json(value: unknown, indent = ''): string {
  const flat = flatJson(value);
  if (typeof value !== 'object' || value === null || indent.length + flat.length <= longestLine) return flat;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((each) => json(each, inner))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${json(each, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${lines.map((line) => `${inner}${line}`).join(',\n')}\n${indent}${close}`;
}

function flatJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${flatJson(each)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
