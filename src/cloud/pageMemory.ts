import type { Secrets } from '../base/log.ts';
import type { Page } from './answer.ts';

/** As many as there are in a large account; then it begins anew. */
const mostPages = 5_000;

/** A page has ten records and 4 KB. */
const longestText = 65_536;

/**
 * Pages of lists as they were last read, by what was asked. Most polls find most pages unchanged: comparing texts costs
 * a fortieth of taking one apart, and the records stay the very same.
 */
export class PageMemory {
  readonly #secrets: Pick<Secrets, 'version'>;
  readonly #pages = new Map<string, { readonly text: string; readonly page: Page<unknown> }>();
  #version = 0;

  constructor(secrets: Pick<Secrets, 'version'>) {
    this.#secrets = secrets;
  }

  /** What was read when the same was answered last, if that is remembered. */
  recall(path: string, text: string): Page<unknown> | null {
    this.#forgetWhatHidLess();
    const known = this.#pages.get(path);
    return known?.text === text ? known.page : null;
  }

  keep(path: string, text: string, page: Page<unknown>): void {
    if (text.length > longestText) return;
    if (this.#pages.size >= mostPages && !this.#pages.has(path)) this.#pages.clear();
    this.#pages.set(path, { text, page });
  }

  /** With a new secret, another reading of the same might hide more. */
  #forgetWhatHidLess(): void {
    if (this.#version === this.#secrets.version) return;
    this.#version = this.#secrets.version;
    this.#pages.clear();
  }
}
