import type { Log } from '../base/log.ts';
import type { OperationName } from './operations.ts';

const maxRemembered = 200;
const maxShown = 20;

/** What is odd in the cloud's answers: each oddity is logged once, and the latest are kept for health. */
export class DataProblems {
  readonly #log: Log;
  readonly #seen = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report(level: 'info' | 'warn', operation: OperationName, notice: string): void {
    const problem = `${operation}: ${notice}`;
    if (this.#seen.has(problem) || this.#seen.size >= maxRemembered) return;
    this.#seen.add(problem);
    this.#log[level](`The cloud's data is odd: ${problem}`);
    if (this.#seen.size === maxRemembered) {
      this.#log.warn(`The cloud's data was odd in ${maxRemembered} ways; further ones are not logged`);
    }
  }

  /** The latest distinct problems, oldest first. */
  latest(): readonly string[] {
    return [...this.#seen].slice(-maxShown);
  }
}
