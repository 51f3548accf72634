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

/**
 * Returns the status as JSON, page by page: the page with that number, or the nearest one that exists. It is collected
 * only on request, so it costs nothing if nobody has the page open.
 */
export function statusDocuments(gather: () => StatusSnapshot, hide: (text: string) => string, clock: Clock) {
  let kept: ReturnType<typeof statusPages> | null = null;
  const documents = new Map<number, StatusDocument>();
  return (wanted: number): StatusDocument => {
    const startedAt = clock.monotonic();
    const pages = kept ?? statusPages(gather(), hide);
    const number = pages.nearest(wanted);
    const document = documents.get(number) ?? documentOf(pages.page(number));
    documents.set(number, document);
    if (kept === null) {
      kept = pages;
      const tookMs = clock.monotonic() - startedAt;
      clock.after(Math.max(keptMs, tookMs / maxShare), () => {
        kept = null;
        documents.clear();
      });
    }
    return document;
  };
}

function documentOf(page: object): StatusDocument {
  const text = JSON.stringify(page);
  return { text, tag: `"${createHash('sha1').update(text).digest('base64url')}"` };
}
