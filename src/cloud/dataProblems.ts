import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { OperationName } from './operations.ts';

/** Something odd in the cloud's data: `warn` where something is lost by it, `info` where it was tolerated. */
export interface DataProblem {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

/** Collects what is odd in the answers to one question. */
export interface ProblemCollector {
  report(level: DataProblem['level'], notice: string): void;
  /** All answers are there: what was odd the last time, and is not now, is forgotten. */
  end(): void;
}

/** What one question's last answers showed. */
interface Collected {
  readonly problems: ReadonlyMap<string, DataProblem>;
  /** In ms of the monotonic clock. */
  readonly at: number;
}

/** What nobody has asked for since says nothing of the present: it may have been asked once, or be gone. */
const lapseMs = 24 * 3_600_000;

const maxLogged = 200;
const maxQuestions = 200;
const maxShown = 20;

/** What is odd in the cloud's answers: each oddity is logged once, and kept as long as the answers show it; a day, if nobody asks again. */
export class DataProblems {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #logged = new Set<string>();
  readonly #byQuestion = new Map<string, Collected>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Collects what is odd in the answers to an operation with these parameters. */
  collect(operation: OperationName, params: unknown): ProblemCollector {
    const question = () => `${operation} ${JSON.stringify(params ?? {})}`;
    const heard = new Map<string, DataProblem>();
    return {
      report: (level, notice) => {
        const message = `${operation}: ${notice}`;
        if (heard.size < maxShown) heard.set(message, { level, message });
        this.#remember(
          question(),
          new Map([...(this.#byQuestion.get(question())?.problems ?? []), ...heard]),
        );
        this.#logOnce(level, message);
      },
      end: () => {
        if (heard.size + this.#byQuestion.size > 0) this.#remember(question(), heard);
      },
    };
  }

  /** The distinct problems of the latest answers, oldest first. */
  latest(): readonly DataProblem[] {
    const since = this.#clock.monotonic() - lapseMs;
    const lasting = [...this.#byQuestion.values()].filter(({ at }) => at >= since);
    const distinct = new Map(lasting.flatMap(({ problems }) => [...problems]));
    return [...distinct.values()].slice(-maxShown);
  }

  #remember(question: string, problems: ReadonlyMap<string, DataProblem>): void {
    this.#byQuestion.delete(question);
    if (problems.size > 0) this.#byQuestion.set(question, { problems, at: this.#clock.monotonic() });
    const [oldest] = this.#byQuestion.keys();
    if (this.#byQuestion.size > maxQuestions && oldest !== undefined) this.#byQuestion.delete(oldest);
  }

  #logOnce(level: DataProblem['level'], message: string): void {
    if (this.#logged.has(message) || this.#logged.size >= maxLogged) return;
    this.#logged.add(message);
    this.#log[level](`Unexpected data from the cloud: ${message}`);
    if (this.#logged.size === maxLogged) {
      this.#log.warn(
        `More than ${maxLogged} kinds of unexpected data from the cloud. Further ones are not logged`,
      );
    }
  }
}
