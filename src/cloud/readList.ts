import { CloudError } from './errors.ts';
import type { Page } from './response.ts';

/** A whole list, as far as it could be read. */
export interface ListResult<T> {
  readonly records: readonly T[];
  /** Every record the cloud has was read. */
  readonly complete: boolean;
  /** In words; null when complete. */
  readonly problem: string | null;
  /** The key of the error that is the problem; null where it is none. */
  readonly key: string | null;
  /** Whether the problem is only that its pages do not fit together, as they do not while the list changes. */
  readonly isInDoubt: boolean;
  /** Wall-clock ms when its first request was made. */
  readonly startedAt: number;
}

/** What a crawl came to; a notice is worth telling once. */
export interface CrawlOutcome<T> {
  readonly records: readonly T[];
  readonly problem: string | null;
  readonly key: string | null;
  readonly notice: string | null;
  readonly isInDoubt: boolean;
}

/** A list that comes in pages. */
export interface PagedList<T> {
  readonly operation: string;
  /** Pages asked for at the same time. */
  readonly concurrency: number;
  /** Reads the page of a number, 1 the first; rejects with a `CloudError`. */
  readonly readPage: (page: number) => Promise<Page<T>>;
  /** Told how many pages were read so far, and how many are announced. */
  readonly onPage?: PageWatcher;
}

/** How many of something were read so far, and how many are announced. */
export interface HowFar {
  readonly read: number;
  readonly announced: number | null;
}

/** Hears how far a crawl is; it starts again at 1 where a list has to be read twice. */
export type PageWatcher = (pages: HowFar, records: HowFar) => void;

const maxPages = 5_000;
// A cloud that fails so often in one crawl is away; asking for the rest would only add to its trouble.
const maxFailures = 5;

/**
 * Reads all pages of a list. Pages move between requests and totals lie, so a first reading that is in doubt is read
 * beyond its end and then once more; only two that agree, or one that adds up, count as complete. Throws what page 1
 * throws.
 */
export async function readList<T extends { readonly id: string }>(
  list: PagedList<T>,
): Promise<CrawlOutcome<T>> {
  const first = await Reading.of(list);
  if (first.flaw() !== null) return outcome(first.records(), first);
  if (first.doubt() === null) return outcome(first.records());

  let second: Reading<T>;
  try {
    second = await Reading.of(list);
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    const words = `${first.doubt()}, and reading again failed: ${error.message}`;
    return { ...outcome(first.records()), problem: words, key: error.key };
  }
  const both = [...new Map([...first.byId, ...second.byId]).values()];
  if (second.flaw() !== null) return outcome(both, second);
  if (second.doubt() === null) return outcome(second.records());
  if (second.isWhole() && second.holdsSameAs(first)) {
    return { ...outcome(second.records()), notice: `the list's totals are wrong: ${second.doubt()}` };
  }
  return { ...outcome(both), problem: `${second.doubt()}, twice`, isInDoubt: true };
}

function outcome<T extends { readonly id: string }>(
  records: readonly T[],
  reading: Reading<T> | null = null,
): CrawlOutcome<T> {
  return {
    records,
    problem: reading?.flaw() ?? null,
    key: reading?.key() ?? null,
    notice: null,
    isInDoubt: false,
  };
}

/** One pass over the pages, and what it shows of their truth. */
class Reading<T extends { readonly id: string }> {
  readonly #list: PagedList<T>;
  readonly #failures = new Map<number, CloudError>();
  readonly #pages = new Map<number, Page<T>>();
  readonly #byId = new Map<string, T>();
  #entries = 0;
  #repeated = 0;
  #nameless = 0;
  #totals: { entries: number | null; pages: number | null } | undefined;
  #haveTotalsChanged = false;
  #last = { page: 0, isFull: false };
  #firstSize = 0;
  #isCutOff = false;

  private constructor(list: PagedList<T>) {
    this.#list = list;
  }

  static async of<T extends { readonly id: string }>(list: PagedList<T>): Promise<Reading<T>> {
    const reading = new Reading(list);
    await reading.#read();
    return reading;
  }

  records(): readonly T[] {
    return [...this.byId.values()];
  }

  get byId(): ReadonlyMap<string, T> {
    return this.#byId;
  }

  /** What is certainly missing, in words; reading again would not help. */
  flaw(): string | null {
    const [failed] = this.#failures;
    if (failed) {
      const [page, error] = failed;
      const others = this.#failures.size - 1;
      return `page ${page}${others > 0 ? ` and ${others} more` : ''} could not be read: ${error.message}`;
    }
    if (this.#nameless > 0) return `records without a readable id: ${this.#nameless}`;
    return this.#isCutOff ? `the list has more than ${maxPages} pages` : null;
  }

  /** What kept a page from being read; null where that is not the flaw. */
  key(): string | null {
    const [error] = this.#failures.values();
    return error?.key ?? null;
  }

  /** Why the reading may not be the whole list; null where it adds up. */
  doubt(): string | null {
    const total = this.#totals?.entries ?? null;
    if (this.#repeated > 0) return `records seen on more than one page: ${this.#repeated}`;
    if (this.#haveTotalsChanged) return 'the list changed while it was read';
    if (total !== null && total !== this.#entries) return `${this.#entries} records read, ${total} announced`;
    if (total === null && this.#last.isFull) return 'the last page is full and no total is announced';
    return null;
  }

  /** Whether it ended where a list ends, and nothing moved. */
  isWhole(): boolean {
    return this.#repeated === 0 && !this.#last.isFull && !this.#hasHole();
  }

  holdsSameAs(other: Reading<T>): boolean {
    return this.byId.size === other.byId.size && [...this.byId.keys()].every((id) => other.byId.has(id));
  }

  async #read(): Promise<void> {
    this.#take(1, await this.#request(1));
    const pages = this.#totals?.pages ?? null;
    if (pages === null) {
      await this.#readOn();
      return;
    }
    await this.#readUpTo(pages);
    if (this.flaw() !== null || this.doubt() === null) return;
    await this.#readOn();
    // Beyond what it announced, the cloud owes no answer.
    this.#failures.clear();
  }

  /** Reads pages 2 to the last, several at a time, unless the list turns out to end before. */
  async #readUpTo(announced: number): Promise<void> {
    const lastPage = Math.min(announced, maxPages);
    let next = 2;
    let isPastEnd = false;
    const work = async () => {
      while (next <= lastPage && !isPastEnd && this.#failures.size < maxFailures) {
        const page = next++;
        const answer = await this.#tryRequest(page);
        if (!answer) continue;
        isPastEnd ||= answer.dropped === 0 && !this.#bringsNews(answer);
        this.#take(page, answer);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#list.concurrency, lastPage - 1) }, work));
    this.#isCutOff = announced > maxPages && !isPastEnd;
  }

  /** Reads one page after another, beyond what is announced, until one is empty or brings nothing new. */
  async #readOn(): Promise<void> {
    for (let page = this.#last.page + 1; page <= maxPages; page++) {
      const answer = await this.#tryRequest(page);
      if (!answer) return;
      const isEmpty = answer.records.length + answer.dropped === 0;
      const bringsNews = this.#bringsNews(answer);
      // A cloud that shows its last page again, or always the first, has not moved any record.
      if (isEmpty || bringsNews) this.#take(page, answer);
      if (!bringsNews) return;
    }
    this.#isCutOff = true;
  }

  async #tryRequest(page: number): Promise<Page<T> | null> {
    try {
      return await this.#request(page);
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      this.#failures.set(page, error);
      return null;
    }
  }

  async #request(page: number): Promise<Page<T>> {
    const answer = await this.#list.readPage(page);
    if (answer.pageNumber !== null && answer.pageNumber !== page) {
      const words = `page ${page} was requested, page ${answer.pageNumber} came`;
      throw new CloudError('unreadable', this.#list.operation, words);
    }
    return answer;
  }

  /** Whether records are lacking where the list should have some: a total alone may lie, but not with the pages. */
  #hasHole(): boolean {
    const { entries, pages } = this.#totals ?? {};
    if (this.#entries >= (entries ?? 0)) return false;
    const sizes = [...this.#pages].map(([page, answer]) => [page, sizeOf(answer)] as const);
    const lastWithRecords = Math.max(...sizes.map(([page, size]) => (size > 0 ? page : 0)));
    const fullSize = Math.max(...sizes.map(([, size]) => size));
    return sizes.some(
      ([page, size]) => (page < lastWithRecords && size < fullSize) || (page <= (pages ?? 1) && size === 0),
    );
  }

  #bringsNews({ records }: Page<T>): boolean {
    return records.some(({ id }) => !this.#byId.has(id));
  }

  #take(page: number, answer: Page<T>): void {
    const size = sizeOf(answer);
    this.#entries += size;
    this.#pages.set(page, answer);
    const knownBefore = this.#byId.size;
    for (const record of answer.records) this.#byId.set(record.id, record);
    this.#repeated += knownBefore + answer.records.length - this.#byId.size;
    this.#nameless += answer.nameless;
    if (page === 1) this.#firstSize = size;
    if (page > this.#last.page) {
      this.#last = { page, isFull: size > 0 && size >= (answer.pageSize ?? this.#firstSize) };
    }
    const totals = { entries: answer.totalEntries, pages: answer.totalPages };
    this.#totals ??= totals;
    if (totals.entries !== this.#totals.entries || totals.pages !== this.#totals.pages)
      this.#haveTotalsChanged = true;
    this.#list.onPage?.(
      { read: this.#pages.size, announced: this.#totals.pages },
      { read: this.#entries, announced: this.#totals.entries },
    );
  }
}

/** How many records a page has, the unreadable ones too. */
function sizeOf({ records, dropped }: Page<unknown>): number {
  return records.length + dropped;
}
