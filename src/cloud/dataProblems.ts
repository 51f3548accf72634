import type { Log } from '../base/log.ts';
import type { OperationName } from './operations.ts';

/** Something odd in the cloud's data: `warn` if data is lost by it, `info` if it was tolerated. */
export interface DataProblem {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

/** Collects the oddities in the answers to one question: an operation with its parameters. */
export interface ProblemCollector {
  report(level: DataProblem['level'], notice: string): void;
  /** Call this once all answers are there. Oddities of the last time that were not reported again are forgotten. */
  end(): void;
}

const maxLogged = 200;
const maxShown = 20;

/** The oddities in the cloud's answers. Each is logged once, and kept as long as the answers show it. */
export class DataProblems {
  readonly #log: Log;
  readonly #logged = new Set<string>();
  /** The oddities in the last answers to each question, by message. */
  readonly #byQuestion = new Map<string, ReadonlyMap<string, DataProblem>>();

  constructor(log: Log) {
    this.#log = log;
  }

  collect(operation: OperationName, params: unknown): ProblemCollector {
    const question = `${operation} ${JSON.stringify(params)}`;
    const heard = new Map<string, DataProblem>();
    const keep = (problems: ReadonlyMap<string, DataProblem>) => {
      this.#byQuestion.delete(question);
      if (problems.size > 0) this.#byQuestion.set(question, problems);
    };
    const report: ProblemCollector['report'] = (level, notice) => {
      const message = `${operation}: ${notice}`;
      if (heard.size < maxShown) heard.set(message, { level, message });
      keep(new Map([...(this.#byQuestion.get(question) ?? []), ...heard]));
      this.#logOnce(level, message);
    };
    return { report, end: () => keep(heard) };
  }

  latest(): readonly DataProblem[] {
    const distinct = new Map([...this.#byQuestion.values()].flatMap((problems) => [...problems]));
    return [...distinct.values()].slice(-maxShown);
  }

  #logOnce(level: DataProblem['level'], message: string): void {
    if (this.#logged.has(message) || this.#logged.size >= maxLogged) return;
    this.#logged.add(message);
    this.#log[level](`Unexpected data from the cloud: ${message}`);
    const isLast = this.#logged.size === maxLogged;
    if (isLast)
      this.#log.warn(
        `More than ${maxLogged} kinds of unexpected data from the cloud. Further ones are not logged`,
      );
  }
}
