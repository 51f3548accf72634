import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { parsed } from './discoveredEntities.ts';

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
  readonly #complete = new Map<string, number>();

  /** The cloud has just processed a request. */
  processed({ number }: SeenRequest, now: number): void {
    this.#askedAt.set(number, now);
  }

  /**
   * The bridge received an answer. `isTrue` says whether it is unaltered. If it completes a list, returns when
   * the cloud was asked for the first page, in ms of the simulation.
   */
  answered(
    { operation, target, number }: SeenRequest,
    answer: SimulatedAnswer,
    isTrue: boolean,
  ): number | null {
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
    this.#complete.set(operation, partial.askedAt);
    return partial.askedAt;
  }

  /** When the last list that was read whole was asked for. 0 before the first. */
  lastAskedAt(operation: string): number {
    return this.#complete.get(operation) ?? 0;
  }

  /** A new run of the bridge begins. It has read nothing yet. */
  forget(): void {
    this.#partial.clear();
    this.#complete.clear();
  }
}
