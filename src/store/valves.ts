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

interface Settled {
  readonly position: SettledValve;
  /** When it was last read, in ms of the monotonic clock; null while the cloud shows it. */
  readonly seenAt: number | null;
}

/** What is known of the valves beyond their present state in the cloud. */
export class Valves {
  readonly #accepted = new Map<string, Awaited>();
  readonly #settled = new Map<string, Settled>();
  readonly #travelTimesS = new Map<string, number>();
  #staleBefore = -Number.MAX_VALUE;

  /**
   * Records the state of a sonic's valve, by a reading that was sent at that time in ms of the monotonic clock; its former
   * state was read last at the other. Returns whether a command has ended by that: then the valve may show another state
   * although the record is the same.
   */
  record({ id, valve_state: state }: Sonic, readAt: number, formerReadAt: number): boolean {
    const settled = settledValve(state);
    const former = this.#settled.get(id);
    if (settled) this.#settled.set(id, { position: settled, seenAt: null });
    else if (former?.seenAt === null) this.#settled.set(id, { ...former, seenAt: formerReadAt });
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

  /** Notes that what was read before that time is too old; the sonics whose last settled position is no longer known. */
  markStale(readBefore: number): string[] {
    this.#staleBefore = Math.max(this.#staleBefore, readBefore);
    const ids = [...this.#settled.keys()];
    return ids.filter((id) => this.#lastSettled(id) === null && this.#settled.delete(id));
  }

  /** What to show for a sonic's valve. */
  shown({ id, valve_state: state }: Sonic): Valve | null {
    return valveShownAfter(this.#accepted.get(id) ?? null, state, this.#lastSettled(id));
  }

  /** Null also where it was read too long ago: a person may have moved the valve before its pressure test began. */
  #lastSettled(id: string): SettledValve | null {
    const settled = this.#settled.get(id);
    if (!settled || (settled.seenAt ?? this.#staleBefore) < this.#staleBefore) return null;
    return settled.position;
  }

  /** Forgets a sonic that is gone. */
  forget(sonicId: string): void {
    for (const map of [this.#accepted, this.#settled, this.#travelTimesS]) map.delete(sonicId);
  }
}
