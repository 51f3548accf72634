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

/** What is known of the valves beyond the cloud's present word. */
export class Valves {
  readonly #accepted = new Map<string, Awaited>();
  readonly #settled = new Map<string, SettledValve>();
  readonly #travelTimesS = new Map<string, number>();

  /**
   * Notes what the cloud says of a sonic's valve, by a reading begun at that time in ms of the monotonic clock. Says
   * whether a command is awaited no more, so that the valve may be shown otherwise although the record is the same.
   */
  record({ id, valve_state: state }: Sonic, readAt: number): boolean {
    const settled = settledValve(state);
    if (settled) this.#settled.set(id, settled);
    const accepted = this.#accepted.get(id);
    if (!accepted) return false;
    // It may have been said before the command came.
    if (readAt < accepted.acceptedAt) {
      this.#accepted.set(id, { ...accepted, stateBefore: state });
      return false;
    }
    // The cloud said something new, or that the valve is there: from here on its own words are shown.
    const isOver = accepted.stateBefore !== state || settled === targetOf[accepted.action];
    return isOver && this.#accepted.delete(id);
  }

  /** Notes that the cloud accepted a command; shown as its movement until the cloud says anything new. */
  accept(sonic: Sonic, action: ValveAction, acceptedAt: number): void {
    const wasMoving = settledValve(this.shown(sonic)) === null;
    this.#accepted.set(sonic.id, { action, stateBefore: sonic.valve_state, wasMoving, acceptedAt });
  }

  /** The sonics whose valves are awaited. */
  get awaited(): Iterable<string> {
    return this.#accepted.keys();
  }

  /** Notes that a command is awaited no more: the cloud's word stands. Says whether one was. */
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
