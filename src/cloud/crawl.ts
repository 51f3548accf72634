import { forEachLimit } from '../base/forEachLimit.ts';
import { CloudError } from './errors.ts';
import type { Page } from './response.ts';

// Reads a whole list, page by page. Pages move while they are read, so a list is complete only if its pages add up to its
// totals. What does not add up deletes nothing. The client decides whether it is the totals that are wrong.

export interface ListResult<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read. */
  readonly complete: boolean;
  /** Why it is not complete; null if it is. */
  readonly problem: string | null;
  /** The key of the error that made the list incomplete; null if no error did. */
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
  readonly onPage?: PageWatcher | undefined;
}

/** How many were read so far, and how many the cloud has announced. */
export interface HowFar {
  readonly read: number;
  readonly announced: number | null;
}

/** Is called with how many pages and records were read. */
export type PageWatcher = (pages: HowFar, records: HowFar) => void;

const maxPages = 5_000;
// A cloud that fails so often in one reading is unreachable or overloaded. Requesting the rest would add to its load.
const maxFailures = 5;

/** Reads all pages of a list; throws if not even the first page can be read. */
export async function crawl<T extends { readonly id: string }>(list: PagedList<T>): Promise<ListResult<T>> {
  const { byId, unread, flaw, key, inconsistency, mayBeWhole } = await readPages(list);
  if (unread) throw unread;
  const problem = flaw ?? inconsistency;
  const isInconsistent = flaw === null && inconsistency !== null;
  const records = [...byId.values()];
  return { records, complete: problem === null, problem, key, isInconsistent, mayBeWhole };
}

/** What one pass over the pages has read. */
interface Pass<T> {
  /** By number, in the order in which they came. */
  readonly pages: Map<number, Page<T>>;
  readonly byId: Map<string, T>;
  readonly failures: Map<number, CloudError>;
  /** Whether there are more pages than a list can have. */
  isCutOff: boolean;
}

async function readPages<T extends { readonly id: string }>(list: PagedList<T>) {
  const pass: Pass<T> = { pages: new Map(), byId: new Map(), failures: new Map(), isCutOff: false };
  const { pages, byId, failures } = pass;
  const request = async (number: number): Promise<Page<T> | null> => {
    try {
      const page = await list.readPage(number);
      if (page.page_number === null || page.page_number === number) return page;
      const message = `page ${number} was requested, page ${page.page_number} came`;
      throw new CloudError('unreadable', list.operation, message);
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      failures.set(number, error);
      return null;
    }
  };
  const hasNews = ({ records }: Page<T>) => records.some(({ id }) => !byId.has(id));
  const take = (number: number, page: Page<T>) => {
    pages.set(number, page);
    for (const record of page.records) byId.set(record.id, record);
    const { total_pages = null, total_entries = null } = pages.get(1) ?? {};
    const entries = sum([...pages.values()].map(sizeOf));
    list.onPage?.({ read: pages.size, announced: total_pages }, { read: entries, announced: total_entries });
  };

  const first = await request(1);
  if (!first) return { byId, ...judge(pass) };
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
    const verdict = judge(pass);
    if (verdict.flaw !== null || verdict.inconsistency === null) return { byId, ...verdict };
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
  return { byId, ...judge(pass) };
}

/** What follows from one pass over the pages. */
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
  let flaw: string | null = null;
  if (failed) {
    const others = failures.size > 1 ? ` and ${failures.size - 1} more` : '';
    flaw = `page ${failed[0]}${others} could not be read: ${failed[1].message}`;
  } else if (missing > 0) flaw = `records without a usable id: ${missing}`;
  else if (isCutOff) flaw = `the list has more than ${maxPages} pages`;

  let inconsistency: string | null = null;
  if (repeated > 0) inconsistency = `records seen on more than one page: ${repeated}`;
  else if (isChanged) inconsistency = 'the list changed while it was read';
  else if (total_entries !== null && total_entries !== entries)
    inconsistency = `${entries} records read, ${total_entries} announced`;
  else if (total_entries === null && isLastFull)
    inconsistency = 'the last page is full and no total is announced';

  return {
    /** Why the first page could not be read; undefined if it could. */
    unread: failures.get(1),
    /** What is certainly missing; null if nothing is. */
    flaw,
    key: failed?.[1].key ?? null,
    /** Why records may be missing; null if the pages add up to the list's totals. */
    inconsistency,
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
