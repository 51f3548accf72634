import { forEachLimit } from '../base/forEachLimit.ts';
import { CloudError } from './errors.ts';
import type { Page } from './response.ts';

// Pages move while they are read, so a list is complete only if its pages add up to its totals. What does not add up
// deletes nothing. The client decides whether it is the totals that are wrong.

export interface ListResult<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read. */
  readonly complete: boolean;
  /** Why it is not complete; null if it is. */
  readonly problem: string | null;
  /** The key of the error behind the problem; null if there is none. */
  readonly key: string | null;
  /** Whether the only problem is that the pages do not fit together. This happens while the list changes. */
  readonly isInconsistent: boolean;
  /** Whether no other page than the last is short, so that the list may be complete although its totals differ. */
  readonly mayBeWhole: boolean;
}

interface PagedList<T> {
  readonly operation: string;
  readonly concurrency: number;
  /** Reads one page, counted from 1; rejects with a `CloudError`. */
  readonly readPage: (page: number) => Promise<Page<T>>;
  readonly onPage?: ((records: HowFar) => void) | undefined;
}

/** How many records were read so far, and how many the cloud has announced. */
export interface HowFar {
  readonly read: number;
  readonly announced: number | null;
}

const maxPages = 5_000;
// A cloud that fails so often in one reading is unreachable or overloaded. Requesting the rest would add to its load.
const maxFailures = 5;

/** What was read so far. */
interface Pass<T> {
  /** By number, in the order in which they came. */
  readonly pages: Map<number, Page<T>>;
  readonly byId: Map<string, T>;
  readonly failures: Map<number, CloudError>;
  /** Whether there are more pages than a list can have. */
  isCutOff: boolean;
}

/** Reads all pages of a list; throws if not even the first page can be read. */
export async function crawl<T extends { readonly id: string }>(list: PagedList<T>): Promise<ListResult<T>> {
  const pass: Pass<T> = { pages: new Map(), byId: new Map(), failures: new Map(), isCutOff: false };
  const { pages, byId, failures } = pass;
  const request = async (number: number): Promise<Page<T> | null> => {
    try {
      const page = await list.readPage(number);
      if (page.page_number === null || page.page_number === number) return page;
      const message = `page ${number} was requested, page ${page.page_number} came`;
      throw new CloudError('unreadable', list.operation, message);
    } catch (error) {
      if (!(error instanceof CloudError) || number === 1) throw error;
      failures.set(number, error);
      return null;
    }
  };
  const hasNews = ({ records }: Page<T>) => records.some(({ id }) => !byId.has(id));
  const take = (number: number, page: Page<T>) => {
    pages.set(number, page);
    for (const record of page.records) byId.set(record.id, record);
    const read = sum([...pages.values()].map(sizeOf));
    list.onPage?.({ read, announced: pages.get(1)?.total_entries ?? null });
  };
  const result = () => ({ records: [...byId.values()], ...judge(pass) });

  const first = (await request(1)) as Page<T>;
  take(1, first);
  const announced = first.total_pages;
  if (announced !== null) {
    let isPastEnd = false;
    await forEachLimit(list.concurrency, numbers(2, Math.min(announced, maxPages)), async (number) => {
      if (isPastEnd || failures.size >= maxFailures) return;
      const page = await request(number);
      if (!page) return;
      isPastEnd ||= page.dropped === 0 && !hasNews(page);
      take(number, page);
    });
    pass.isCutOff = announced > maxPages && !isPastEnd;
    if (!judge(pass).isInconsistent) return result();
  }
  // The list may have more pages than it announces.
  for (const number of numbers(Math.max(...pages.keys()) + 1, maxPages)) {
    const page = await request(number);
    if (!page) {
      const isMissing = failures.get(number)?.kind === 'notFound';
      // A page that was not announced need not exist. If no number of pages is announced, it is the end, like an empty one.
      if (announced !== null || isMissing) failures.delete(number);
      if (announced === null && isMissing) take(number, { ...first, records: [], dropped: 0, missing: 0 });
      break;
    }
    const isLast = !hasNews(page);
    // Some clouds answer a page number past the end with the last page, or always with the first. Such a repeat is not
    // taken, because it would look as if records had moved.
    if (!isLast || sizeOf(page) === 0) take(number, page);
    if (isLast) break;
    pass.isCutOff = number === maxPages;
  }
  return result();
}

/** What follows from the pages: first what is certainly missing, then what may be. */
function judge({ pages, byId, failures, isCutOff }: Pass<unknown>) {
  const all = [...pages.values()];
  const { total_entries = null, total_pages = null } = pages.get(1) ?? {};
  const sizeAt = (number: number) => sizeOf(pages.get(number));
  const entries = sum(all.map(sizeOf));
  const missing = sum(all.map((page) => page.missing));
  const repeated = sum(all.map(({ records }) => records.length)) - byId.size;
  const isChanged = all.some(
    (page) => page.total_entries !== total_entries || page.total_pages !== total_pages,
  );
  const last = Math.max(...pages.keys());
  const isLastFull = sizeAt(last) > 0 && sizeAt(last) >= (pages.get(last)?.page_size ?? sizeAt(1));
  const end = Math.max(total_pages ?? 1, ...[...pages.keys()].filter((number) => sizeAt(number) > 0));
  const fullSize = Math.max(...all.map(sizeOf));
  const hasGap = sizeAt(end) === 0 || [...numbers(1, end - 1)].some((number) => sizeAt(number) < fullSize);

  const [failed] = failures;
  const others = failures.size > 1 ? ` and ${failures.size - 1} more` : '';
  const found = [
    failed && `page ${failed[0]}${others} could not be read: ${failed[1].message}`,
    missing > 0 && `records without a usable id: ${missing}`,
    isCutOff && `the list has more than ${maxPages} pages`,
    repeated > 0 && `records seen on more than one page: ${repeated}`,
    isChanged && 'the list changed while it was read',
    total_entries !== null &&
      total_entries !== entries &&
      `${entries} records read, ${total_entries} announced`,
    total_entries === null && isLastFull && 'the last page is full and no total is announced',
  ];
  const problem = found.find((each) => typeof each === 'string') ?? null;
  return {
    complete: problem === null,
    problem,
    key: failed?.[1].key ?? null,
    isInconsistent: problem !== null && !failed && missing === 0 && !isCutOff,
    mayBeWhole: repeated === 0 && !isLastFull && (entries >= (total_entries ?? 0) || !hasGap),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function sizeOf(page: Page<unknown> | undefined): number {
  return page ? page.records.length + page.dropped : 0;
}

function* numbers(from: number, to: number): Generator<number> {
  for (let number = from; number <= to; number++) yield number;
}

/**
 * The records that cannot be told from another one, because their ids differ only in case. Of each such pair, the id in
 * lower case stays, in whatever order they are listed, so that no valve is shown with the values of another.
 */
export function twinsIn<T extends { readonly id: string }>(records: readonly T[]): T[] {
  const kept = new Map<string, T>();
  const isKept = (record: T) => kept.get(record.id.toLowerCase()) === record;
  for (const record of records) {
    const key = record.id.toLowerCase();
    if (record.id > (kept.get(key)?.id ?? '')) kept.set(key, record);
  }
  return records.filter((record) => !isKept(record));
}
