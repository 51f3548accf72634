import type { Secrets } from '../base/secrets.ts';
import type { Whole } from './listAll.ts';
import type { Page } from './response.ts';

/** As many as there are in a large account; then it begins anew. */
const mostPages = 5_000;

/** A page has ten records and 4 KB. */
const mostBytes = 65_536;

/**
 * Pages of lists as they were last read, by what was asked. Most polls find most pages unchanged: comparing bytes costs
 * a hundredth of taking them apart, and the records stay the very same.
 */
export class PageMemory {
  readonly #secrets: Pick<Secrets, 'version'>;
  readonly #pages = new Map<string, { readonly bytes: Buffer; readonly page: Page<unknown> }>();
  readonly #lists = new Map<string, Whole<unknown>>();
  #version = 0;

  constructor(secrets: Pick<Secrets, 'version'>) {
    this.#secrets = secrets;
  }

  /** What was read when the same was answered last, if that is remembered. */
  recall(path: string, bytes: Buffer): Page<unknown> | null {
    this.#forgetWhatHidLess();
    const known = this.#pages.get(path);
    return known?.bytes.equals(bytes) ? known.page : null;
  }

  keep(path: string, bytes: Buffer, page: Page<unknown>): void {
    if (bytes.length > mostBytes) return;
    if (this.#pages.size >= mostPages && !this.#pages.has(path)) this.#forget();
    // A copy: what came is a part of what the socket read.
    this.#pages.set(path, { bytes: Buffer.from(bytes), page });
  }

  /** A whole list as it was last read. */
  recallList(path: string): Whole<unknown> | null {
    return this.#lists.get(path) ?? null;
  }

  keepList(path: string, list: Whole<unknown>): void {
    // One page is sorted as soon as it is compared.
    if (list.pages.size < 2) return;
    if (this.#lists.size >= mostPages && !this.#lists.has(path)) this.#forget();
    this.#lists.set(path, list);
  }

  /** With a new secret, another reading of the same might hide more. */
  #forgetWhatHidLess(): void {
    if (this.#version === this.#secrets.version) return;
    this.#version = this.#secrets.version;
    this.#forget();
  }

  #forget(): void {
    this.#pages.clear();
    this.#lists.clear();
  }
}
