import { movementOf, type SettledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Timeline } from './timeline.ts';

interface ValveOptions {
  readonly timeline: Timeline;
  /** The time from an accepted command to the new position, in ms. */
  readonly travelMs: number;
  readonly onState: (state: string) => void;
  readonly onStuck: () => void;
}

/** The valve of a sonic. It obeys the newest command, takes time to move, and waits while its radio link is lost. */
export class SimulatedValve {
  readonly #options: ValveOptions;
  /** Its position, or its last position if it is moving. */
  settled: SettledValve = 'open';
  /** Whether the battery is too low to move the handle. */
  weak = false;
  /** Whether it is closed because of a pressure test. */
  testing = false;
  /** When it last reported a state, in ms since 1970. */
  changedAt: number;
  #online = true;
  #wanted: ValveAction | null = null;
  #cancel: () => void = () => {};

  constructor(options: ValveOptions) {
    this.#options = options;
    this.changedAt = options.timeline.now;
  }

  /** Whether it is reachable, does not move, and is not being tested. */
  get isResting(): boolean {
    return this.#online && this.#wanted === null && !this.testing;
  }

  /** Starts to move to a position as soon as there is a link. */
  command(action: ValveAction): void {
    this.#wanted = action;
    this.#start();
  }

  /** Connects or cuts the link. If that interrupts a movement, the movement begins again when the link is back. */
  setOnline(online: boolean): void {
    if (online === this.#online) return;
    this.#online = online;
    this.#start();
  }

  /** Sets a state at once, as if by hand. This ends any movement. */
  put(state: string): void {
    this.stop();
    this.testing = state === 'pressure_test';
    if (state === 'open' || state === 'closed') this.settled = state;
    this.#report(state);
  }

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
