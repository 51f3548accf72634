import type { BrokerMessage } from '../broker/message.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { IdMap, isSameId } from '../model/ids.ts';

/** The reason why a call that was not sent yet gives way to a command. */
export const overtakenByWish = new GivenUp('a newer command for this valve arrived', false);

/** A call on its way that moves a valve but is no valve command: a pressure test, or an action of an incident. */
interface Guest {
  readonly valve: string | null;
  readonly giveWay: AbortController;
  isInFlight: boolean;
  isOvertaken: boolean;
}

/**
 * The sender's view of a guest. `signal` ends its call, `onFlight` is passed to the client, and `end` must always be
 * called.
 */
interface GuestWatch {
  readonly signal: AbortSignal;
  readonly onFlight: (isInFlight: boolean) => void;
  readonly end: () => void;
}

/**
 * Keeps the order in which messages asked to move valves. Pressure tests and some actions of incidents move a valve
 * too, but wait in other queues than valve commands. Once a newer command for the valve has come, they are no longer
 * sent.
 */
export class ValveWishes {
  #count = 0;
  /** By valve: the number of its newest command. */
  readonly #newest = new IdMap<number>();
  /** By message: how many commands had come before it. */
  readonly #before = new WeakMap<BrokerMessage, number>();
  readonly #guests = new Set<Guest>();

  /** Call this for each command or request on arrival. */
  arrived(message: BrokerMessage): void {
    this.#before.set(message, this.#count);
  }

  /** Call this for each valve command. */
  commanded(valve: string): void {
    this.#count += 1;
    this.#newest.set(valve, this.#count);
    for (const guest of this.#guests) {
      if (guest.valve !== null && !isSameId(guest.valve, valve)) continue;
      guest.isOvertaken = true;
      if (!guest.isInFlight) guest.giveWay.abort(overtakenByWish);
    }
  }

  /** Watches a call that a message has requested and that moves this valve; null if the valve is not known. */
  watch(valve: string | null, message: BrokerMessage): GuestWatch {
    const before = this.#before.get(message) ?? this.#count;
    const newest = valve === null ? this.#count : (this.#newest.get(valve) ?? 0);
    const giveWay = new AbortController();
    const guest: Guest = { valve, giveWay, isInFlight: false, isOvertaken: newest > before };
    if (guest.isOvertaken) giveWay.abort(overtakenByWish);
    this.#guests.add(guest);
    return {
      signal: giveWay.signal,
      onFlight: (isInFlight) => {
        guest.isInFlight = isInFlight;
        // The client must not send it again.
        if (!isInFlight && guest.isOvertaken) giveWay.abort(overtakenByWish);
      },
      end: () => this.#guests.delete(guest),
    };
  }
}
