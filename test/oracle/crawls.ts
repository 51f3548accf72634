import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { parsed } from './eyes.ts';

/** A whole list that has reached the bridge. */
export interface Crawl {
  /** When the cloud was asked for its first page, and when its last page reached the bridge; ms of the simulation. */
  readonly askedAt: number;
  readonly heardAt: number;
}

interface Reading {
  readonly askedAt: number;
  readonly pages: number;
  readonly total: number;
  readonly heard: Set<number>;
}

/** Finds out from outside when a list has reached the bridge as a whole, and as it is. */
export class Crawls {
  readonly #readings = new Map<string, Reading>();
  readonly #askedAt = new Map<number, number>();
  readonly #whole = new Map<string, Crawl>();

  /** The cloud judged a request now. */
  judged({ number }: SeenRequest, now: number): void {
    this.#askedAt.set(number, now);
  }

  /** An answer has reached the bridge; `isTrue` is whether it is what the cloud meant. Returns a list that is whole by it. */
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
    if (page === 1) this.#readings.set(operation, { askedAt, pages, total, heard: new Set() });
    const reading = this.#readings.get(operation);
    if (!reading || reading.total !== total || askedAt < reading.askedAt) return null;
    reading.heard.add(page);
    if (reading.heard.size < Math.max(1, reading.pages)) return null;
    this.#readings.delete(operation);
    const crawl = { askedAt: reading.askedAt, heardAt: now };
    this.#whole.set(operation, crawl);
    return crawl;
  }

  /** The last whole one; undefined before the first. */
  last(operation: string): Crawl | undefined {
    return this.#whole.get(operation);
  }

  /** A bridge starts anew: it has read nothing. */
  forget(): void {
    this.#readings.clear();
    this.#whole.clear();
  }
}
