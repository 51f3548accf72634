import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import { statusPages } from './status.ts';

/** How long a collected status is used for all requests, in ms. A page that is open asks every two seconds. */
const keptMs = 500;

/** The share of a core that collecting may take. With thousands of valves, it takes long. */
const maxShare = 0.05;

/** The document of a page, as JSON. It has the same tag until something on the page changes. */
export interface StatusDocument {
  readonly text: string;
  readonly tag: string;
}

/** The status as JSON, page by page. It is collected only on request, so it costs nothing if nobody has the page open. */
export class StatusDocuments {
  readonly #gather: () => StatusSnapshot;
  readonly #hide: (text: string) => string;
  readonly #clock: Clock;
  #pages: ReturnType<typeof statusPages> | null = null;
  readonly #documents = new Map<number, StatusDocument>();

  constructor(gather: () => StatusSnapshot, hide: (text: string) => string, clock: Clock) {
    this.#gather = gather;
    this.#hide = hide;
    this.#clock = clock;
  }

  /** The page with that number, or the nearest one that exists. */
  of(wanted: number): StatusDocument {
    const startedAt = this.#clock.monotonic();
    const pages = this.#pages ?? statusPages(this.#gather(), this.#hide);
    const number = pages.nearest(wanted);
    const document = this.#documents.get(number) ?? documentOf(pages.page(number));
    this.#documents.set(number, document);
    if (this.#pages === null) this.#keep(pages, this.#clock.monotonic() - startedAt);
    return document;
  }

  #keep(pages: ReturnType<typeof statusPages>, tookMs: number): void {
    this.#pages = pages;
    this.#clock.after(Math.max(keptMs, tookMs / maxShare), () => {
      this.#pages = null;
      this.#documents.clear();
    });
  }
}

function documentOf(page: object): StatusDocument {
  const text = JSON.stringify(page);
  return { text, tag: `"${createHash('sha1').update(text).digest('base64url')}"` };
}
