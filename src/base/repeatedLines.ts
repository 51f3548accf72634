import type { Clock } from './clock.ts';
import { minuteMs } from './duration.ts';
import type { Log } from './log.ts';

/** How many different lines have their own count. So a stranger cannot fill the memory with them. */
const maxLines = 100;

type Level = 'warn' | 'debug';

/**
 * Returns a function that logs lines which others can cause: each once a minute at most, with the number of its
 * repetitions. Lines with the same key count as the same.
 */
export function repeatedLines(clock: Clock, log: Log) {
  /** By key: how often the line came again in this minute. */
  const repeats = new Map<string, number>();

  function start(level: Level, key: string, fields: object, line: string, shown: string): void {
    log[level](fields, shown);
    repeats.set(key, 0);
    clock.after(minuteMs, () => {
      const count = repeats.get(key) ?? 0;
      repeats.delete(key);
      if (count > 0) start(level, key, fields, line, `${line} (again in the last minute: ${count})`);
    });
  }

  return function write(level: Level, key: string, fields: object, line: string): void {
    const count = repeats.get(key);
    if (count !== undefined) repeats.set(key, count + 1);
    else if (repeats.size < maxLines) start(level, key, fields, line, line);
    else if (repeats.has('')) write(level, '', {}, '');
    else start(level, '', {}, manyLines, manyLines);
  };
}

const manyLines = 'Commands for many different topics failed. bridge/event has all of them';
