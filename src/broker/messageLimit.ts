/** A message that the broker has not acknowledged. */
export interface Unanswered {
  readonly topic: string;
  /** An upper bound for the size of its packet. */
  readonly bytes: number;
}

/** Every broker accepts messages that are shorter than this, in bytes. */
export const largeBytes = 1_024;

/**
 * Finds out how long a message may be for a broker that names no limit and closes the connection at a longer message.
 *
 * - If a connection ends with large messages unacknowledged, large messages are sent one at a time from then on.
 * - If two connections in a row end at the same single large message, it is too long. From then on, one end is enough.
 * - Messages of that length or more are not sent, so that the others get through.
 * - The limit holds until a lasting connection ends, because the broker may have another limit after that.
 */
export class MessageLimit {
  #maxBytes = Number.POSITIVE_INFINITY;
  #isOneAtATime = false;
  #suspect: string | null = null;
  #isProven = false;

  /** The longest packet that is sent. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Whether only one large message may be unacknowledged at a time. */
  get isOneAtATime(): boolean {
    return this.#isOneAtATime;
  }

  /**
   * A connection has ended. If the broker has ended it, `large` is the first large message that it did not acknowledge.
   */
  ended(large: Unanswered | undefined, hasLasted: boolean): void {
    if (large) {
      this.#isProven ||= this.#suspect === large.topic;
      if (this.#isProven) this.#maxBytes = Math.min(this.#maxBytes, large.bytes - 1);
      if (this.#isOneAtATime) this.#suspect = large.topic;
      this.#isOneAtATime = true;
    } else if (hasLasted) {
      this.#isProven = this.#maxBytes !== Number.POSITIVE_INFINITY;
      this.#isOneAtATime = this.#isProven;
      this.#maxBytes = Number.POSITIVE_INFINITY;
      this.#suspect = null;
    }
  }
}
