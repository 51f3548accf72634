/** A message that the broker has not acknowledged. */
export interface Unanswered {
  readonly topic: string;
  /** Of its packet, at most. */
  readonly bytes: number;
}

/** Each broker accepts shorter messages than this. */
export const largeBytes = 1_024;

/**
 * Finds out how long a message may be for a broker that names no limit and closes the connection at a longer message.
 * After an end with large messages unacknowledged, large ones are sent one at a time. A message that is the only one at
 * two ends in a row is too long, and from then on each that is the only one at an end. Messages that are as long are left
 * out, so that the rest gets through. The limit holds until a lasting connection ends: then the broker may have another.
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

  /** Whether no two large messages may be unacknowledged. */
  get isOneAtATime(): boolean {
    return this.#isOneAtATime;
  }

  /** A connection has ended; `large` is the first large message without an answer if the broker has ended it. */
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
