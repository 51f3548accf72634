import type { Clock } from './clock.ts';
import { minuteMs } from './duration.ts';
import type { Log } from './log.ts';

/** How many different lines have their own count. So a stranger cannot fill the memory with them. */
const maxLines = 100;

/** Logs a line that others can cause once a minute at most, with the number of its repetitions. */
export class RepeatedLines {
  readonly #clock: Clock;
  readonly #log: Log;
  /** By key: how often the line came again in this minute. */
  readonly #repeats = new Map<string, number>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Logs the line, unless a line with the same key was logged within the last minute. */
  write(level: 'warn' | 'debug', key: string, fields: object, line: string): void {
    const repeats = this.#repeats.get(key);
    if (repeats !== undefined) this.#repeats.set(key, repeats + 1);
    else if (this.#repeats.size < maxLines) this.#start(level, key, fields, line, line);
    else if (this.#repeats.has('')) this.write(level, '', {}, '');
    else this.#start(level, '', {}, manyLines, manyLines);
  }

  #start(level: 'warn' | 'debug', key: string, fields: object, line: string, shown: string): void {
    this.#log[level](fields, shown);
    this.#repeats.set(key, 0);
    this.#clock.after(minuteMs, () => {
      const repeats = this.#repeats.get(key) ?? 0;
      this.#repeats.delete(key);
      if (repeats > 0)
        this.#start(level, key, fields, line, `${line} (again in the last minute: ${repeats})`);
    });
  }
}

const manyLines = 'Commands for many different topics failed. bridge/event has all of them';
