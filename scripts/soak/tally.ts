import type { OperationName } from '../../src/cloud/operations.ts';
import { type PollName, pollNames } from '../../src/polling/pollStatus.ts';
import type { LoggedRequest } from '../../src/simulator/server.ts';

/** What the cloud was asked. */
export interface Tally {
  readonly requests: number;
  /** Those that were answered with 200 or another good status. */
  readonly answered: number;
  /**
   * How often each slice was read: a list from its beginning; what is asked sonic by sonic, as often as all of
   * them were asked for once.
   */
  readonly polls: Readonly<Record<PollName, number>>;
}

/** The operation whose first page begins a poll, or whose questions, one for each sonic, make one. */
const askedBy: Readonly<Record<PollName, { first: OperationName } | { each: readonly OperationName[] }>> = {
  properties: { first: 'list_properties' },
  signals: { first: 'list_signals' },
  sonics: { first: 'list_sonics' },
  incidents: { first: 'list_incidents' },
  telemetry: { each: ['read_telemetry', 'read_wifi_telemetry'] },
  usage: { each: ['read_daily_usage'] },
  pressure_tests: { each: ['read_pressure_tests'] },
};

/** Counts what a cloud with so many sonics is asked. */
export class Tallier {
  readonly #sonics: number;
  #requests = 0;
  #answered = 0;
  readonly #good = new Map<OperationName, number>();

  constructor(sonics: number) {
    this.#sonics = sonics;
  }

  add({ operation, status, path }: LoggedRequest): void {
    this.#requests += 1;
    if (status === null || status >= 400 || operation === null) return;
    this.#answered += 1;
    if (/[?&]page=(?!1(&|$))/.test(path)) return;
    this.#good.set(operation, this.#count(operation) + 1);
  }

  tally(): Tally {
    const polls = Object.fromEntries(pollNames.map((slice) => [slice, this.#polls(slice)]));
    return {
      requests: this.#requests,
      answered: this.#answered,
      polls: polls as Record<PollName, number>,
    };
  }

  #polls(slice: PollName): number {
    const asked = askedBy[slice];
    if ('first' in asked) return this.#count(asked.first);
    const questions = asked.each.reduce((sum, name) => sum + this.#count(name), 0);
    return Math.floor((10 * questions) / this.#sonics) / 10;
  }

  #count(operation: OperationName): number {
    return this.#good.get(operation) ?? 0;
  }
}
