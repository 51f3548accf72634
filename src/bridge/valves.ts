import type { Sonic } from '../model/records.ts';
import {
  type AcceptedCommand,
  type SettledValve,
  settledValve,
  type Valve,
  valveShownAfter,
} from '../model/valve.ts';

/** What is known of the valves beyond the cloud's present word. */
export class Valves {
  readonly #accepted = new Map<string, AcceptedCommand>();
  readonly #settled = new Map<string, SettledValve>();
  readonly #travelTimesS = new Map<string, number>();

  /** Notes what the cloud says of a sonic's valve. */
  note({ id, valve_state: state }: Sonic): void {
    const settled = settledValve(state);
    if (settled) this.#settled.set(id, settled);
    const accepted = this.#accepted.get(id);
    // The cloud said something new: from here on its own words are shown.
    if (accepted && accepted.stateBefore !== state) this.#accepted.delete(id);
  }

  /** Notes that the cloud accepted a command; shown as its movement until the cloud says anything new. */
  accept(sonicId: string, command: AcceptedCommand): void {
    this.#accepted.set(sonicId, command);
  }

  /** Notes that a command is awaited no more: the cloud's word stands. Says whether one was. */
  forgetAccepted(sonicId: string): boolean {
    return this.#accepted.delete(sonicId);
  }

  /** Notes how long a valve took from command to confirmation, in s. */
  noteTravelTime(sonicId: string, seconds: number): void {
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
