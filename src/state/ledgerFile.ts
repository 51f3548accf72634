import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Disk, isAbsent, isBeyondReading } from './disk.ts';
import { type Content, contentText, type Found, readContent } from './ledgerContent.ts';

/** The sum of the months that the cloud has forgotten is nowhere else: one bad sector must not cost it. */
const copyEveryMs = 86_400_000;

/** Once is a disk that was mounted late; twice in this time is another bridge. */
const otherWithinMs = 3_600_000;

const sharedWords =
  'the data directory is used by another bridge too, which may cost either what it has to remember: each needs its own';

/** The ledger's file and its copy: finds what others than this bridge have done to them, and says so. */
export class LedgerFile {
  readonly #directory: string;
  readonly #name: string;
  readonly #path: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #disk: Disk;
  #hasRead = false;
  #hasWritten = false;
  /** The file as this bridge has left it; null while there is none. */
  #left: string | null = null;
  /** What was last begun to be written: a disk that did not answer in time may have done it after all. */
  #begun: string | null = null;
  #isForgetful = false;
  #copyDueAt = Number.NEGATIVE_INFINITY;
  #copyProblem: string | null = null;
  /** When something else was last found to have written the file, in ms of the monotonic clock. */
  #otherAt = Number.NEGATIVE_INFINITY;
  #isShared = false;

  constructor(directory: string, name: string, log: Log, clock: Clock, disk: Disk) {
    this.#directory = directory;
    this.#name = name;
    this.#path = join(directory, name);
    this.#log = log;
    this.#clock = clock;
    this.#disk = disk;
  }

  /** What is wrong although the file can be written, in words; null while nothing is. */
  get problem(): string | null {
    return this.#copyProblem ?? (this.#isShared ? sharedWords : null);
  }

  /** Whether an earlier run has kept something that was lost, at least in part. */
  get isForgetful(): boolean {
    return this.#isForgetful;
  }

  /** In characters, as it was last written. */
  get size(): number {
    return this.#left?.length ?? 0;
  }

  /**
   * What is to be taken in: what an earlier run has kept, and what something else has written since. Rejects where
   * there may be a whole file that cannot be read now, and must not be replaced.
   */
  async news(): Promise<readonly Found[]> {
    const text = await this.#read(this.#path);
    const isOwn = text === this.#left || (text !== null && text === this.#begun);
    if (this.#hasRead && isOwn) {
      this.#left = text;
      this.#noteAlone();
      return [];
    }
    const found = text === null ? null : readContent(text);
    if (text !== null && found === null) await this.#disk.putAside(this.#path, this.#asidePath);
    const copy = this.#hasRead ? null : await this.#copyFor(found);
    if (this.#hasRead) this.#noteOther(text, found);
    else if (found) this.#sayDamaged(found, copy);
    else this.#sayLost(text, copy);
    this.#hasRead = true;
    this.#left = found && text;
    return [found, copy].filter((each) => each !== null);
  }

  /** Writes the content, unless the file holds it, and now and then the copy; rejects where the file cannot be. */
  async put(content: Content): Promise<void> {
    const text = contentText(content);
    this.#begun = text;
    if (text !== this.#left || !this.#hasWritten) await this.#disk.write(this.#path, text);
    this.#left = text;
    this.#hasWritten = true;
    await this.#copy(content);
  }

  /** Once a day at most. It is no use to a thief of sessions, and is always a bit behind. */
  async #copy(content: Content): Promise<void> {
    if (Object.keys(content.usage).length === 0 || this.#clock.monotonic() < this.#copyDueAt) return;
    const copiedAt = new Date(this.#clock.now()).toISOString();
    const copy = { ...content, session: null, isBehind: true, copiedAt };
    try {
      await this.#disk.write(this.#copyPath, contentText(copy));
    } catch (error) {
      const problem = `its copy cannot be written, so a damaged file would cost the water totals (${describe(error)})`;
      if (this.#copyProblem === null) this.#log.warn(`${this.#path}: ${problem}`);
      this.#copyProblem = `${this.#name}: ${problem}`;
      return;
    }
    this.#copyDueAt = this.#clock.monotonic() + copyEveryMs;
    if (this.#copyProblem) this.#log.info(`${this.#copyPath} can be written again`);
    this.#copyProblem = null;
  }

  /** What the copy has of what the file has not; null where nothing is missing, or nothing is there. */
  async #copyFor(found: Found | null): Promise<Found | null> {
    if (found?.hasUsage && found.damaged.length === 0) return null;
    const text = await this.#read(this.#copyPath);
    const copy = text === null ? null : readContent(text);
    if (!copy || !found) return copy;
    const { hasUsage, damaged } = found;
    const usage = Object.entries(copy.usage).filter(([id]) => !hasUsage || damaged.includes(id));
    return { ...copy, announced: [], waiting: [], usage: Object.fromEntries(usage) };
  }

  #sayLost(text: string | null, copy: Found | null): void {
    this.#isForgetful = text !== null || copy !== null;
    const end = copy ? `${copyWords(copy)} takes its place` : 'it is started anew';
    const loss = copy ? '' : ': water totals begin again with what the cloud still knows';
    if (text !== null)
      this.#log.warn(`${this.#path} is not readable; ${this.#asideWords}, and ${end}${loss}`);
    else if (copy) this.#log.warn(`${this.#path} is missing; ${end}`);
  }

  #sayDamaged({ hasUsage, damaged }: Found, copy: Found | null): void {
    if (!hasUsage && copy) {
      this.#log.warn(
        `${this.#path} has no water totals, as an earlier version leaves it; they are taken from ${copyWords(copy)}`,
      );
    }
    const copied = damaged.filter((id) => copy?.usage[id]);
    const lost = damaged.filter((id) => !copied.includes(id));
    const say = (ids: readonly string[], end: string) => {
      if (ids.length === 0) return;
      const others = ids.length > 5 ? ` and ${ids.length - 5} others` : '';
      const names = `${ids.slice(0, 5).join(', ')}${others}`;
      this.#log.warn(`${this.#path}: the usage of sonic ${names} is damaged; ${end}`);
    };
    if (copy) say(copied, `it is taken from ${copyWords(copy)}`);
    say(lost, 'it is counted anew');
  }

  /** What is remembered here is not lost by that: it is written again. */
  #noteOther(text: string | null, found: Found | null): void {
    if (text === null) this.#log.warn(`${this.#path} has vanished; it is written again`);
    else if (!found) {
      this.#log.warn(`${this.#path} is not readable any more; ${this.#asideWords}, and written again`);
    } else {
      const now = this.#clock.monotonic();
      const isAgain = now - this.#otherAt < otherWithinMs;
      this.#otherAt = now;
      if (!isAgain) this.#log.info(`${this.#path} was written by something else; what it holds is taken in`);
      else if (!this.#isShared) this.#log.warn(`data_dir ${this.#directory}: ${sharedWords}`);
      this.#isShared ||= isAgain;
    }
  }

  #noteAlone(): void {
    if (!this.#isShared || this.#clock.monotonic() - this.#otherAt < otherWithinMs) return;
    this.#isShared = false;
    this.#log.info(`Nothing else writes ${this.#path} any more`);
  }

  /** Null where there is none, and empty where there is something that is no text. */
  async #read(path: string): Promise<string | null> {
    try {
      return await this.#disk.read(path);
    } catch (error) {
      if (isAbsent(error)) return null;
      if (isBeyondReading(error)) return '';
      throw new Error(`${path} cannot be read: ${describe(error)}`);
    }
  }

  get #asideWords(): string {
    return `it is put aside as ${this.#asidePath}`;
  }

  get #asidePath(): string {
    return `${this.#path}.unreadable`;
  }

  get #copyPath(): string {
    return `${this.#path}.bak`;
  }
}

/** Why, without the name of the temporary file, which is another each time. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, \w+( '.*)?$/s, '');
}

function copyWords({ copiedAt }: Found): string {
  return `its copy of ${copiedAt ?? 'an unknown day'}`;
}
