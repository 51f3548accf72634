import type { Topics } from '../homeassistant/topics.ts';
import type { Outcome } from './outcome.ts';
import { isValveOperation } from './valveCall.ts';

/** How commands to valves end; one that the cloud took and the valve did not follow ends twice. */
export const valveOutcomes = ['ok', 'error', 'refused', 'superseded', 'not_confirmed'] as const;
export type ValveOutcome = (typeof valveOutcomes)[number];

/** Counts how the commands to valves end. */
export class ValveOutcomes {
  readonly #topics: Topics;
  readonly #counts: Record<ValveOutcome, number> = {
    ok: 0,
    error: 0,
    refused: 0,
    superseded: 0,
    not_confirmed: 0,
  };

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  get counts(): Readonly<Record<ValveOutcome, number>> {
    return this.#counts;
  }

  /** Takes the outcome of any command; those that are about no valve do not count. */
  note({ topic, status, reason }: Outcome): void {
    if (this.#isAboutValve(topic)) this.#counts[reason === 'not_confirmed' ? reason : status] += 1;
  }

  #isAboutValve(topic: string): boolean {
    const operation = this.#topics.operationOf(topic);
    if (operation !== null) return isValveOperation(operation);
    const target = this.#topics.parse(topic);
    return target?.kind === 'sonic' && target.path === 'valve/set';
  }
}
