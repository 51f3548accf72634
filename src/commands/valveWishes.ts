import type { BrokerMessage } from '../broker/message.ts';
import { GivenUp } from '../cloud/deadline.ts';

/** Why a call that was not sent yet gives way. */
export const overtakenByWish = new GivenUp('a newer command for this valve arrived', false);

/** What moves a valve without being a command to it, on its way to the cloud. */
interface Guest {
  readonly valve: string | null;
  readonly giveWay: AbortController;
  isInFlight: boolean;
  isOvertaken: boolean;
}

/** A guest as its sender sees it: `signal` ends it, `onFlight` is for the client, and `end` must always be called. */
interface GuestWatch {
  readonly signal: AbortSignal;
  readonly onFlight: (isInFlight: boolean) => void;
  readonly end: () => void;
}

/**
 * The order in which wishes for valves came. A pressure test and some actions of incidents move a valve too, and wait in other
 * queues than its commands: once a newer command for the valve has come, they are not sent any more.
 */
export class ValveWishes {
  #count = 0;
  /** By valve, the number of its newest command. */
  readonly #newest = new Map<string, number>();
  /** How many commands had come before a message. */
  readonly #before = new WeakMap<BrokerMessage, number>();
  readonly #guests = new Set<Guest>();

  /** A message has come that may ask for something. */
  arrived(message: BrokerMessage): void {
    this.#before.set(message, this.#count);
  }

  /** A command for a valve has come, named by its id in small letters. */
  commanded(valve: string): void {
    this.#count += 1;
    this.#newest.set(valve, this.#count);
    for (const guest of this.#guests) {
      if (guest.valve !== null && guest.valve !== valve) continue;
      guest.isOvertaken = true;
      if (!guest.isInFlight) guest.giveWay.abort(overtakenByWish);
    }
  }

  /** Watches over a call that a message has asked for and that moves this valve; null, nobody knows which. */
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
        // It must not be sent again.
        if (!isInFlight && guest.isOvertaken) giveWay.abort(overtakenByWish);
      },
      end: () => this.#guests.delete(guest),
    };
  }
}
