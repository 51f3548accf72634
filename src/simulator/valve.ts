import { movementOf, type SettledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Timeline } from './timeline.ts';

/** What a valve depends on, and what it reports to. */
interface ValveOptions {
  readonly timeline: Timeline;
  /** From an accepted command to the new position, in ms. */
  readonly travelMs: number;
  /** Called with each new state. */
  readonly onState: (state: string) => void;
  /** Called when the battery is too low to move the handle. */
  readonly onStuck: () => void;
}

/** The valve on the pipe: it obeys the newest command, takes its time, and waits for a lost radio link. */
export class SimulatedValve {
  readonly #options: ValveOptions;
  /** Its position, or the one that it had before it began to move. */
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

  constructor(options: ValveOptions) {
    this.#options = options;
    this.changedAt = options.timeline.now;
  }

  /** Whether it can be reached, rests, and is not being tested. */
  get isResting(): boolean {
    return this.#online && this.#wanted === null && !this.testing;
  }

  /** Starts towards a position, as soon as there is a link. */
  command(action: ValveAction): void {
    this.#wanted = action;
    this.#start();
  }

  /** Connects or cuts the link; a movement that it interrupts begins again when it returns. */
  setOnline(online: boolean): void {
    if (online === this.#online) return;
    this.#online = online;
    this.#start();
  }

  /** Puts it into a state at once, as by hand, which ends any movement. */
  put(state: string): void {
    this.stop();
    this.testing = state === 'pressure_test';
    if (state === 'open' || state === 'closed') this.settled = state;
    this.#report(state);
  }

  /** Ends any movement without a report. */
  stop(): void {
    this.#cancel();
    this.#wanted = null;
  }

  #start(): void {
    this.#cancel();
    if (!this.#online || this.#wanted === null) return;
    const { timeline, travelMs, onStuck } = this.#options;
    const target = targetOf[this.#wanted];
    const movement = movementOf[this.#wanted];
    this.#report(`requested_${target}`);
    this.#cancel = timeline.after(travelMs / 6, () => {
      if (this.weak) {
        this.put(this.settled);
        onStuck();
      } else if (this.settled === target) {
        this.put(target);
      } else {
        this.#report(movement);
        this.#cancel = timeline.after((travelMs * 5) / 6, () => this.put(target));
      }
    });
  }

  #report(state: string): void {
    this.changedAt = this.#options.timeline.now;
    this.#options.onState(state);
  }
}
