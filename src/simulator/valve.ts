import { movementOf, type SettledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Agenda } from './agenda.ts';

/** What a valve is told about its surroundings, and whom it tells. */
export interface ValveFittings {
  readonly agenda: Agenda;
  /** From an accepted command to the new position, in ms. */
  readonly travelMs: number;
  /** Reports a new state to the cloud. */
  readonly show: (state: string) => void;
  /** Called when the battery turned out to be too weak for the handle. */
  readonly onStuck: () => void;
}

/** The valve on the pipe: obeys the newest command, takes its time, and waits for a lost radio link. */
export class Valve {
  readonly #fittings: ValveFittings;
  /** The position that it has, or had before it began to move. */
  settled: SettledValve = 'open';
  /** Whether the battery is too low to move the handle. */
  weak = false;
  /** Whether it rests closed because a pressure test runs. */
  testing = false;
  /** When it last reported a state; ms since 1970. */
  changedAt: number;
  #online = true;
  #wanted: ValveAction | null = null;
  #cancel: () => void = () => {};

  constructor(fittings: ValveFittings) {
    this.#fittings = fittings;
    this.changedAt = fittings.agenda.now;
  }

  /** Whether it can be reached and nothing is under way. */
  get isResting(): boolean {
    return this.#online && this.#wanted === null && !this.testing;
  }

  /** Starts towards a position; kept until the link returns if there is none. */
  command(action: ValveAction): void {
    this.#cancel();
    this.#wanted = action;
    if (this.#online) this.#start(action);
  }

  /** Connects or cuts the link; what was under way or asked for meanwhile begins when it returns. */
  setOnline(online: boolean): void {
    if (online === this.#online) return;
    this.#online = online;
    this.#cancel();
    if (online && this.#wanted) this.#start(this.#wanted);
  }

  /** Puts it into a state at once, as by hand; whatever was under way ends. */
  put(state: string): void {
    this.#cancel();
    this.#wanted = null;
    this.testing = state === 'pressure_test';
    if (state === 'open' || state === 'closed') this.settled = state;
    this.#show(state);
  }

  /** Ends whatever is under way, without a report. */
  remove(): void {
    this.#cancel();
  }

  #start(action: ValveAction): void {
    const target = targetOf[action];
    const requestMs = this.#fittings.travelMs / 6;
    this.#show(`requested_${target}`);
    this.#next(requestMs, () => {
      if (this.weak) {
        this.put(this.settled);
        this.#fittings.onStuck();
      } else if (this.settled === target) {
        this.put(target);
      } else {
        this.#show(movementOf[action]);
        this.#next(this.#fittings.travelMs - requestMs, () => this.put(target));
      }
    });
  }

  #next(delayMs: number, run: () => void): void {
    this.#cancel = this.#fittings.agenda.after(delayMs, run);
  }

  #show(state: string): void {
    this.changedAt = this.#fittings.agenda.now;
    this.#fittings.show(state);
  }
}
