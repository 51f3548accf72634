import type { Writable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import type { Board } from './board.ts';

/** What readers of the page may take. */
export interface StreamLimits {
  /** How many may read at a time; fewer than there are connections, so that others are answered. */
  readonly readers: number;
  /** How often it is looked for news while anybody reads, in ms. */
  readonly lookMs: number;
  /** How long nothing may be said, in ms: the page takes a longer silence for a lost connection. */
  readonly beatMs: number;
  /** How long a reader may leave what it was told untaken, in ms. */
  readonly patienceMs: number;
}

const usualLimits: StreamLimits = { readers: 16, lookMs: 1_000, beatMs: 5_000, patienceMs: 10_000 };

/** Of a core, what looking for news may take: that of thousands of sonics takes its time. */
const mostShare = 0.05;

/** After how long a browser comes back that was hung up on, in ms. */
const comeBackMs = 2_000;

interface Reader {
  readonly out: Writable;
  readonly page: number;
  /** The document that it was told last. */
  told: string;
  toldAt: number;
  /** Since when it takes nothing; null while it does. */
  stuckSince: number | null;
}

/** Those who read the page live, by server-sent events: all is said at first, and again when it is no longer so. */
export class Events {
  readonly #board: Board;
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #readers = new Set<Reader>();
  #cancelLook: () => void = () => {};

  constructor(board: Board, clock: Clock, limits = usualLimits) {
    this.#board = board;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether nobody else can read at present. */
  get isFull(): boolean {
    return this.#readers.size >= this.#limits.readers;
  }

  /** Tells a reader of a page from now on, until it leaves. */
  add(out: Writable, page: number): void {
    // Two may have asked for the last place at once.
    if (this.isFull) {
      out.end();
      return;
    }
    const reader: Reader = { out, page, told: '', toldAt: 0, stuckSince: null };
    out.once('close', () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#cancelLook();
    });
    out.on('error', () => {});
    out.write(`retry: ${comeBackMs}\n\n`);
    this.#tell(reader);
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.#lookAfter(this.#limits.lookMs);
  }

  #lookAfter(delayMs: number): void {
    this.#cancelLook = this.#clock.after(delayMs, () => {
      const startedAt = this.#clock.monotonic();
      for (const reader of this.#readers) this.#tell(reader);
      const tookMs = this.#clock.monotonic() - startedAt;
      this.#lookAfter(Math.max(this.#limits.lookMs, tookMs / mostShare));
    });
  }

  /** What is not taken is not piled up: the newest is told once the reader is ready, if that is soon. */
  #tell(reader: Reader): void {
    const { out, page } = reader;
    const now = this.#clock.monotonic();
    if (out.writableNeedDrain) {
      reader.stuckSince ??= now;
      if (now - reader.stuckSince >= this.#limits.patienceMs) out.destroy();
      return;
    }
    reader.stuckSince = null;
    const text = this.#board.text(page);
    if (text !== reader.told) {
      out.write(event('status', this.#board.withTime(text)));
    } else if (now - reader.toldAt >= this.#limits.beatMs) {
      out.write(event('beat', JSON.stringify({ now: this.#clock.now() })));
    } else return;
    reader.told = text;
    reader.toldAt = now;
  }
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
