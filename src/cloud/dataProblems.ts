import type { Log } from '../base/log.ts';
import type { OperationName } from './operations.ts';

/** Something odd in the cloud's data: `warn` if data is lost by it, `info` if it was tolerated. */
export interface DataProblem {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

export type ProblemCollector = ReturnType<DataProblems['collect']>;

const maxLogged = 200;
const maxShown = 20;

/** The oddities in the cloud's answers. Each is kept as long as the answers show it, and logged once, if not too many are. */
export class DataProblems {
  readonly #log: Log;
  readonly #logged = new Set<string>();
  /** From the last answers, by message. */
  readonly #byQuestion = new Map<string, ReadonlyMap<string, DataProblem>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** A question is an operation with its parameters. At its `end`, oddities that were not reported again are forgotten. */
  collect(operation: OperationName, params: unknown) {
    const question = `${operation} ${JSON.stringify(params)}`;
    const heard = new Map<string, DataProblem>();
    const keep = (problems: ReadonlyMap<string, DataProblem>) => {
      this.#byQuestion.delete(question);
      if (problems.size > 0) this.#byQuestion.set(question, problems);
    };
    const report = (level: DataProblem['level'], notice: string) => {
      const message = `${operation}: ${notice}`;
      if (heard.size < maxShown) heard.set(message, { level, message });
      keep(new Map([...(this.#byQuestion.get(question) ?? []), ...heard]));
      if (this.#logged.has(message) || this.#logged.size >= maxLogged) return;
      this.#logged.add(message);
      this.#log[level](`Unexpected data from the cloud: ${message}`);
    };
    return { report, end: () => keep(heard) };
  }

  latest(): readonly DataProblem[] {
    const distinct = new Map([...this.#byQuestion.values()].flatMap((problems) => [...problems]));
    return [...distinct.values()].slice(-maxShown);
  }
}
