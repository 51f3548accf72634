import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { parsed } from './discoveredEntities.ts';

/** A list of which the bridge has received every page. */
export interface Crawl {
  /**
   * When the cloud was asked for the first page, and when the bridge received the last one, in ms of the
   * simulation.
   */
  readonly askedAt: number;
  readonly receivedAt: number;
}

interface PartialCrawl {
  readonly askedAt: number;
  readonly pages: number;
  readonly total: number;
  readonly receivedPages: Set<number>;
}

/** Works out from the requests when the bridge has received a complete and unaltered list. */
export class Crawls {
  readonly #partial = new Map<string, PartialCrawl>();
  readonly #askedAt = new Map<number, number>();
  readonly #complete = new Map<string, Crawl>();

  /** The cloud has just processed a request. */
  processed({ number }: SeenRequest, now: number): void {
    this.#askedAt.set(number, now);
  }

  /**
   * The bridge received an answer. `isTrue` says whether it is unaltered. Returns the list that this answer
   * completes.
   */
  answered(
    { operation, target, number }: SeenRequest,
    answer: SimulatedAnswer,
    isTrue: boolean,
    now: number,
  ): Crawl | null {
    const askedAt = this.#askedAt.get(number);
    this.#askedAt.delete(number);
    if (operation === null || askedAt === undefined || !isTrue || answer.status !== 200) return null;
    const [, pageText = '1'] = /[?&]page=(\d+)/.exec(target) ?? [];
    const page = Number(pageText);
    const document = parsed(answer.text);
    const [pages, total] = [Number(document['total_pages']), Number(document['total_entries'])];
    if (page === 1) this.#partial.set(operation, { askedAt, pages, total, receivedPages: new Set() });
    const partial = this.#partial.get(operation);
    if (!partial || partial.total !== total || askedAt < partial.askedAt) return null;
    partial.receivedPages.add(page);
    if (partial.receivedPages.size < Math.max(1, partial.pages)) return null;
    this.#partial.delete(operation);
    const crawl = { askedAt: partial.askedAt, receivedAt: now };
    this.#complete.set(operation, crawl);
    return crawl;
  }

  /** The last complete read of a list. Undefined before the first. */
  last(operation: string): Crawl | undefined {
    return this.#complete.get(operation);
  }

  /** A new run of the bridge begins. It has read nothing yet. */
  forget(): void {
    this.#partial.clear();
    this.#complete.clear();
  }
}
