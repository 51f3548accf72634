import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import type { FlowHistory } from './flowHistory.ts';
import { commonHeaders, sendJson } from './httpServer.ts';
import { type PageRequest, statusPages } from './status.ts';

const usualStreamLimits = {
  readers: 16,
  /** How often the status is checked for changes while a page is open, in ms. */
  lookMs: 1_000,
  /** The longest silence, in ms. After a longer silence, the page assumes that the connection is lost. */
  beatMs: 5_000,
};

/** How long a collected status is used for all requests, in ms. */
const keptMs = 900;

/** How many pages are kept during that time. The number is limited because strangers can search for anything. */
const maxTexts = 50;

/** The share of a core that checking for changes may take. With thousands of valves, one check takes long. */
const maxShare = 0.05;

/** After how long a disconnected browser connects again, in ms. */
const comeBackMs = 2_000;

interface PageReader {
  readonly response: ServerResponse;
  readonly page: PageRequest;
  text: string;
  sentAt: number;
}

/**
 * The status as JSON, once, or again after each change (server-sent events). It is collected only on request, so it
 * costs nothing if nobody has the page open.
 */
export class LiveStatus {
  readonly #gather: () => StatusSnapshot;
  readonly #flows: Pick<FlowHistory, 'of'>;
  readonly #hide: (text: string) => string;
  readonly #clock: Clock;
  readonly #limits: typeof usualStreamLimits;
  readonly #readers = new Set<PageReader>();
  #cancelLook: () => void = () => {};
  #pages: ReturnType<typeof statusPages> | null = null;
  /** The documents of the requested pages, as JSON, by page number and search. */
  readonly #texts = new Map<string, string>();

  constructor(
    gather: () => StatusSnapshot,
    flows: Pick<FlowHistory, 'of'>,
    hide: (text: string) => string,
    clock: Clock,
    limits = usualStreamLimits,
  ) {
    this.#gather = gather;
    this.#flows = flows;
    this.#hide = hide;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** One page, or the nearest page that exists, with the current time, because the browser's clock may be wrong. */
  document(page: PageRequest): string {
    return this.#withTime(this.#text(page));
  }

  /** Sends a page now, and again after each change, until the client closes the connection. */
  follow(response: ServerResponse, page: PageRequest): void {
    const { readers, lookMs } = this.#limits;
    if (this.#readers.size >= readers) {
      sendJson(response, 503, { status: 'too_many_readers' }, { 'retry-after': '10' });
      return;
    }
    // The second header keeps nginx from buffering the events.
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    response.writeHead(200, { ...commonHeaders, ...headers }).write(`retry: ${comeBackMs}\n\n`);
    const reader: PageReader = { response, page, text: '', sentAt: 0 };
    this.#readers.add(reader);
    response.once('close', () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#cancelLook();
    });
    this.#update(reader);
    if (this.#readers.size === 1) this.#lookAfter(lookMs);
  }

  #lookAfter(delayMs: number): void {
    this.#cancelLook = this.#clock.after(delayMs, () => {
      const startedAt = this.#clock.monotonic();
      for (const reader of this.#readers) this.#update(reader);
      const tookMs = this.#clock.monotonic() - startedAt;
      this.#lookAfter(Math.max(this.#limits.lookMs, tookMs / maxShare));
    });
  }

  /** A client that does not read gets no more data, and the idle timeout disconnects it. */
  #update(reader: PageReader): void {
    const { response, page } = reader;
    if (response.writableNeedDrain) return;
    const now = this.#clock.monotonic();
    const text = this.#text(page);
    if (text !== reader.text) response.write(event('status', this.#withTime(text)));
    else if (now - reader.sentAt < this.#limits.beatMs) return;
    else response.write(event('beat', JSON.stringify({ now: this.#clock.now() })));
    reader.text = text;
    reader.sentAt = now;
  }

  #text(wanted: PageRequest): string {
    this.#pages ??= this.#look();
    const page = this.#pages.nearest(wanted);
    const key = `${page.number} ${page.query}`;
    const text = this.#texts.get(key) ?? JSON.stringify(this.#pages.page(page));
    if (this.#texts.size < maxTexts) this.#texts.set(key, text);
    return text;
  }

  #look(): ReturnType<typeof statusPages> {
    this.#clock.after(keptMs, () => {
      this.#pages = null;
      this.#texts.clear();
    });
    return statusPages(this.#gather(), this.#flows, this.#hide);
  }

  #withTime(text: string): string {
    return `{"now":${this.#clock.now()},"status":${text}}`;
  }
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
