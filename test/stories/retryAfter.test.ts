import { msOf } from '../support/script.ts';
import { secondMs } from './home.ts';
import { tell } from './words.ts';

const begins = Date.parse('2026-03-02T09:00:00Z');

tell(import.meta.url, {
  /** The cloud answers nothing but this, and does nothing. */
  limit: (home, ...words) => {
    const after = msOf(words[1] ?? '');
    const date = new Date(begins + home.time.now + (after ?? 0)).toUTCString();
    const headers = { 'retry-after': after === null ? words.join(' ') : date };
    home.strike = () => ({ status: 429, headers: words[0] === 'none' ? {} : headers, text: '{}' });
  },
  /** How long the bridge has said at most that it would wait, and how often the log told. */
  longest: (home) => {
    const waits = home.published('bridge/health').flatMap(({ at, payload }) => {
      const until = JSON.parse(payload).limited_until;
      return until === null ? [] : [Math.ceil((Date.parse(until) - begins - at) / secondMs)];
    });
    const told = home.linesFrom(0).filter((line) => /limits requests/.test(line)).length;
    const longest = Math.max(0, ...waits);
    return `waits ${longest > 1 && longest < 10 ? 'some' : longest} s, told ${told <= 3 ? 'a few times' : 'too often'}`;
  },
  sent: (home) => `${home.valveCommands.length <= 3 ? home.valveCommands.length : 'too many'} valve commands`,
});
