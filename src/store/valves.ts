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
import { isSameWord } from '../model/words.ts';

interface Awaited extends AcceptedCommand {
  /** When the cloud accepted it, in ms of the monotonic clock. */
  readonly acceptedAt: number;
}

interface Settled {
  readonly position: SettledValve;
  /** When the position was last read, in ms of the monotonic clock; null while the cloud still shows it. */
  readonly seenAt: number | null;
}

/**
 * What is known of the valves beyond their current state in the cloud: accepted commands, last positions, travel times.
 */
export class Valves {
  readonly #accepted = new Map<string, Awaited>();
  readonly #settled = new Map<string, Settled>();
  readonly #travelTimesS = new Map<string, number>();
  #staleBefore = -Number.MAX_VALUE;

  /**
   * Records the state of a sonic's valve. `readAt` is when the reading was sent, and `formerReadAt` when the former
   * state was last read, in ms of the monotonic clock.
   */
  record({ id, valve_state: state }: Sonic, readAt: number, formerReadAt: number): void {
    const settled = settledValve(state);
    const former = this.#settled.get(id);
    if (settled) this.#settled.set(id, { position: settled, seenAt: null });
    else if (former?.seenAt === null) this.#settled.set(id, { ...former, seenAt: formerReadAt });
    const accepted = this.#accepted.get(id);
    if (!accepted) return;
    // The reading may be older than the command.
    if (readAt < accepted.acceptedAt) {
      this.#accepted.set(id, { ...accepted, stateBefore: state });
      return;
    }
    // The state has changed, or is the requested one. From now on the state in the cloud is shown.
    const isOver = !isSameWord(accepted.stateBefore, state) || settled === targetOf[accepted.action];
    if (isOver) this.#accepted.delete(id);
  }

  /** Records that the cloud accepted a command. The valve shows as moving until its state in the cloud changes. */
  accept(sonic: Sonic, action: ValveAction, acceptedAt: number): void {
    const wasMoving = settledValve(this.shown(sonic)) === null;
    this.#accepted.set(sonic.id, { action, stateBefore: sonic.valve_state, wasMoving, acceptedAt });
  }

  get awaited(): Iterable<string> {
    return this.#accepted.keys();
  }

  /** Records that a command has ended. From now on the state in the cloud is shown. */
  forgetAccepted(sonicId: string): void {
    this.#accepted.delete(sonicId);
  }

  /** Records how long a valve took from the command to its confirmation, in s. */
  recordTravelTime(sonicId: string, seconds: number): void {
    this.#travelTimesS.set(sonicId, seconds);
  }

  /** The time of the last confirmed command, in s; null if there was none. */
  travelTimeS(sonicId: string): number | null {
    return this.#travelTimesS.get(sonicId) ?? null;
  }

  /** A last position that was read before that time is no longer known. */
  markStale(readBefore: number): void {
    this.#staleBefore = Math.max(this.#staleBefore, readBefore);
    for (const id of this.#settled.keys()) if (this.#lastSettled(id) === null) this.#settled.delete(id);
  }

  shown({ id, valve_state: state }: Sonic): Valve | null {
    return valveShownAfter(this.#accepted.get(id) ?? null, state, this.#lastSettled(id));
  }

  /**
   * The last position in which the valve stood still; null if it is not known, or was read too long ago. For example, a
   * person may have moved the valve before a pressure test began.
   */
  #lastSettled(id: string): SettledValve | null {
    const settled = this.#settled.get(id);
    if (!settled || (settled.seenAt ?? this.#staleBefore) < this.#staleBefore) return null;
    return settled.position;
  }

  forget(sonicId: string): void {
    for (const map of [this.#accepted, this.#settled, this.#travelTimesS]) map.delete(sonicId);
  }
}
