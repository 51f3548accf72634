/**
 * The longest packet, in bytes. The bridge's own messages must pass: they are not longer, because the cloud's answers
 * are not.
 */
export const maxPacketBytes = 16 * 1024 * 1024;

const longestHead = 5;

/**
 * No UTF-8 text contains this byte. It ends a message that was cut, so that nobody takes the message for a whole one.
 */
const noText = Buffer.of(0xff);

/**
 * Limits the length of MQTT packets while their bytes arrive, because the parser keeps a packet in memory until it is
 * complete. A packet that is too long is cut to the limit. Its topic is kept, and enough of its payload to be refused
 * as too long.
 */
export class PacketLimit {
  /** The largest "remaining length" of a packet that passes uncut; may be changed between packets. */
  maxBytes: number;
  readonly #onTooLong: (bytes: number) => void;
  /** The beginning of a packet, until its length is known. */
  #head: Buffer = Buffer.alloc(0);
  /** How many bytes of the current packet still pass. In the next field: how many bytes after them are left out. */
  #passing = 0;
  #leavingOut = 0;

  constructor(maxBytes: number, onTooLong: (bytes: number) => void) {
    this.maxBytes = maxBytes;
    this.#onTooLong = onTooLong;
  }

  /** Returns the next bytes without the parts that are left out. */
  apply(piece: Buffer): Buffer {
    const bytes = this.#head.length > 0 ? Buffer.concat([this.#head, piece]) : piece;
    const left: Buffer[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#passing + this.#leavingOut === 0) {
        const head = this.#begin(bytes.subarray(at, at + longestHead));
        if (head === null) break;
        left.push(head.bytes);
        at += head.size;
      } else {
        const count = Math.min(this.#passing || this.#leavingOut, bytes.length - at);
        if (this.#passing > 0) left.push(...this.#pass(bytes.subarray(at, at + count)));
        else this.#leavingOut -= count;
        at += count;
      }
    }
    this.#head = Buffer.from(bytes.subarray(at));
    return Buffer.concat(left);
  }

  /** Reads the fixed header of a packet; null if it is not complete yet. */
  #begin(bytes: Buffer): { readonly size: number; readonly bytes: Buffer } | null {
    const lengthBytes = bytes.subarray(1);
    const last = lengthBytes.findIndex((byte) => byte < 0x80);
    if (last < 0 && bytes.length < longestHead) return null;
    // A length of five bytes violates the protocol. Such a header passes, so that the parser reports the error.
    const size = last < 0 ? longestHead : last + 2;
    const length = last < 0 ? 0 : lengthOf(lengthBytes.subarray(0, last + 1));
    const isTooLong = length > this.maxBytes;
    this.#passing = isTooLong ? this.maxBytes - noText.length : length;
    this.#leavingOut = length - this.#passing;
    if (!isTooLong) return { size, bytes: bytes.subarray(0, size) };
    this.#onTooLong(length);
    return { size, bytes: Buffer.from([bytes[0] ?? 0, ...encoded(this.maxBytes)]) };
  }

  #pass(body: Buffer): Buffer[] {
    this.#passing -= body.length;
    return this.#passing === 0 && this.#leavingOut > 0 ? [body, noText] : [body];
  }
}

/** MQTT encodes a length with seven bits in each byte, the lowest bits first. */
function lengthOf(bytes: Buffer): number {
  return bytes.reduceRight((length, byte) => length * 0x80 + (byte & 0x7f), 0);
}

function encoded(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...encoded(Math.floor(length / 0x80))];
}
