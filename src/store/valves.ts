import type { Sonic } from '../model/records.ts';
import {
  type AcceptedCommand,
  type SettledValve,
  settledValve,
  targetOf,
  type Valve,
  type ValveAction,
  valveShownAfter,
} from '../model/valve.ts';

interface Awaited extends AcceptedCommand {
  /** When the cloud accepted it, in ms of the monotonic clock. */
  readonly acceptedAt: number;
}

/** What is known of the valves besides their present state in the cloud. */
export class Valves {
  readonly #accepted = new Map<string, Awaited>();
  readonly #settled = new Map<string, SettledValve>();
  readonly #travelTimesS = new Map<string, number>();

  /**
   * Records the state of a sonic's valve, by a reading that was sent at that time in ms of the monotonic clock. Returns
   * whether a command has ended by that: then the valve may show another state although the record is the same.
   */
  record({ id, valve_state: state }: Sonic, readAt: number): boolean {
    const settled = settledValve(state);
    if (settled) this.#settled.set(id, settled);
    const accepted = this.#accepted.get(id);
    if (!accepted) return false;
    // The reading may be older than the command.
    if (readAt < accepted.acceptedAt) {
      this.#accepted.set(id, { ...accepted, stateBefore: state });
      return false;
    }
    // The state has changed, or is the one that the command asked for: from now on it is shown.
    const isOver = accepted.stateBefore !== state || settled === targetOf[accepted.action];
    return isOver && this.#accepted.delete(id);
  }

  /** Records that the cloud accepted a command. The valve shows as moving until its state in the cloud changes. */
  accept(sonic: Sonic, action: ValveAction, acceptedAt: number): void {
    const wasMoving = settledValve(this.shown(sonic)) === null;
    this.#accepted.set(sonic.id, { action, stateBefore: sonic.valve_state, wasMoving, acceptedAt });
  }

  /** The sonics with an open command. */
  get awaited(): Iterable<string> {
    return this.#accepted.keys();
  }

  /** Records that a command has ended: the state in the cloud is shown. Returns whether there was one. */
  forgetAccepted(sonicId: string): boolean {
    return this.#accepted.delete(sonicId);
  }

  /** Notes how long a valve took from command to confirmation, in s. */
  recordTravelTime(sonicId: string, seconds: number): void {
    this.#travelTimesS.set(sonicId, seconds);
  }

  /** In s; null before the first confirmed command. */
  travelTimeS(sonicId: string): number | null {
    return this.#travelTimesS.get(sonicId) ?? null;
  }

  /** What to show for a sonic's valve. */
  shown({ id, valve_state: state }: Sonic): Valve | null {
    return valveShownAfter(this.#accepted.get(id) ?? null, state, this.#settled.get(id) ?? null);
  }

  /** Forgets a sonic that is gone. */
  forget(sonicId: string): void {
    for (const map of [this.#accepted, this.#settled, this.#travelTimesS]) map.delete(sonicId);
  }
}
