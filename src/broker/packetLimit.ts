/** The bridge's own messages are not longer, since the cloud's answers are not. These must pass. */
export const maxPacketBytes = 16 * 1024 * 1024;

const longestHead = 5;

/** No UTF-8 text has this byte. So a message that was cut is not taken for a whole one. */
const noText = Buffer.of(0xff);

/**
 * Limits the length of MQTT packets while their bytes arrive, because the parser keeps a packet in memory until it is whole.
 * A packet that is too long is cut to the limit. Its topic is left, and enough of its payload to be refused as too long.
 */
export class PacketLimit {
  /** The longest remaining length of a packet that is let pass; may be changed between packets. */
  maxBytes: number;
  readonly #onTooLong: (bytes: number) => void;
  /** The beginning of a packet, until its length is known. */
  #head: Buffer = Buffer.alloc(0);
  /** How many bytes of the packet still pass, and how many are left out after them. */
  #passing = 0;
  #leavingOut = 0;

  constructor(maxBytes: number, onTooLong: (bytes: number) => void) {
    this.maxBytes = maxBytes;
    this.#onTooLong = onTooLong;
  }

  /** What is left of the next bytes. */
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

  /** Reads the fixed header of a packet; null where it is not whole yet. */
  #begin(bytes: Buffer): { readonly size: number; readonly bytes: Buffer } | null {
    const lengthBytes = bytes.subarray(1);
    const last = lengthBytes.findIndex((byte) => byte < 0x80);
    if (last < 0 && bytes.length < longestHead) return null;
    // A fifth byte violates the protocol, and the parser reports it.
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

/** A length in MQTT has seven bits a byte, the lowest first. */
function lengthOf(bytes: Buffer): number {
  return bytes.reduceRight((length, byte) => length * 0x80 + (byte & 0x7f), 0);
}

function encoded(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...encoded(Math.floor(length / 0x80))];
}
