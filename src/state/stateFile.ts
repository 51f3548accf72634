import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import { errorCode } from '../base/systemErrors.ts';
import type { Pause } from '../model/pause.ts';
import { type Disk, describeDiskError, systemDisk } from './disk.ts';
import { saveIn } from './kept.ts';
import { type Kept, newKept, readSections, sectionsOf, storedSections } from './sections.ts';

export const stateFileName = 'state.json';

/** Whether a file in `data_dir` holds the state: also one of version 0.1.0, a backup and a damaged copy. */
export function isStateFile(name: string): boolean {
  return /^(state|ledger(_\d+)?)\.json(\.bak|\.unreadable|\.tmp)*$/.test(name);
}

/** The delay before a failed write is tried again, in ms. By then the disk may have free space, or may be mounted. */
const retryDelayMs = 60_000;

/** The longest wait for a disk that hangs, in ms. The alert of a leak must not wait longer. */
const maxWaitMs = 10_000;

/** If another process writes to the same file, it writes again within this time, in ms. */
const otherWriterMs = 3_600_000;

/** How often the backup is written, in ms: the cloud has forgotten the older months, whose sum is only here. */
const backupEveryMs = 86_400_000;

const sharedFile = 'another sonic2mqtt uses the same folder. Give each its own';

/** With one of these errors, the path is no file that could ever be read. Any other error may pass. */
const unreadableCodes = ['EISDIR', 'ELOOP', 'ERR_STRING_TOO_LONG'];

/** A file that cannot be read is read again: the wait in ms, and how often. Later the next write tries again. */
const readAgainMs = 500;
const maxReads = 3;

interface StateEvents {
  /** Data that an earlier run, or another process, has kept was added. */
  readonly added: [];
}

/**
 * All that survives a restart, on disk. The file `state.json` is read once, at the start, and written completely when a
 * section asks for it. If the file on disk is not the one that this process read or wrote, it is read and added first:
 * the disk was mounted late, or a backup was restored. If a section is damaged, it is taken from the backup. Nothing
 * here ever rejects. If the folder cannot be used, the bridge works without memory, reports that, and tries again every
 * minute.
 */
export class StateFile extends EventEmitter<StateEvents> {
  readonly #directory: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #file: string;
  readonly kept: Kept = newKept((delayMs) => this.#ask(delayMs));
  #isDirty = true;
  #isRead = false;
  #hasWritten = false;
  #isDamaged = false;
  #isNew = false;
  #isUnrecovered = false;
  #isHanging = false;
  #isClosed = false;
  #unlock: (() => void) | null = null;
  #lockProblem: string | null = null;
  /** Digests of the texts that may be in the file: the last one read or written, then those tried since. */
  #ownTexts: readonly string[] = [];
  readonly #createdAt: number;
  /** When another running process was last found to have written the file, in ms of the monotonic clock. */
  #otherWriterAt = Number.NEGATIVE_INFINITY;
  #backupDueAt = Number.NEGATIVE_INFINITY;
  #pausesInBackup: ReadonlyMap<string, Pause> = new Map();
  #isBackupFailing = false;
  #dueAt = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};
  #problem: string | null = null;
  #asked: Promise<void> | null = null;
  readonly #save = coalesce(async () => {
    if (this.#isDirty) await this.#saveInTime();
  });

  constructor(directory: string, log: Log, clock: Clock = systemClock, disk: Disk = systemDisk) {
    super();
    this.#directory = directory;
    this.#log = log;
    this.#clock = clock;
    this.#disk = disk;
    this.#createdAt = clock.monotonic();
    this.#file = join(directory, stateFileName);
    for (const map of Object.values(this.kept)) map.isKnown = false;
  }

  /** Takes the lock, reads the file and finds out whether it can be written. */
  open(): Promise<void> {
    return this.#save();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isDirty = true;
    await this.#save();
    this.#unlock?.();
    this.#unlock = null;
  }

  /** The problem with the data directory, for people; null if there is none. */
  get problem(): string | null {
    return this.#problem === null ? null : `data_dir ${this.#directory}: ${this.#problem}`;
  }

  /** Why the data directory is not locked, for people; null if it is locked, or cannot be used at all. */
  get lockProblem(): string | null {
    return this.#hasWritten ? this.#lockProblem : null;
  }

  /** Whether data of an earlier run may be missing, so that incidents which that run announced are not known here. */
  get isIncomplete(): boolean {
    return !this.#hasWritten || this.#isDamaged;
  }

  /**
   * Whether there was no file of an earlier run, or one of a run that could not replace a lost file by what the broker has.
   */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** What earlier runs have left on the broker was added. Until then, the next run tries it again. */
  recovered(): void {
    if (!this.#isUnrecovered) return;
    this.#isUnrecovered = false;
    void this.#ask(saveIn.now);
  }

  // ---- writing ------------------------------------------------------------------------------------------------

  /** Writes after this time. Changes that are made together are written together. */
  #ask(delayMs: number): Promise<void> {
    if (delayMs === saveIn.now) {
      this.#isDirty = true;
      this.#asked ??= Promise.resolve().then(() => {
        this.#asked = null;
        return this.#save();
      });
      return this.#asked;
    }
    const dueAt = this.#clock.monotonic() + delayMs;
    if (dueAt < this.#dueAt) {
      this.#cancelTimer();
      this.#dueAt = dueAt;
      this.#cancelTimer = this.#clock.after(delayMs, () => void this.#ask(saveIn.now));
    }
    return Promise.resolve();
  }

  /** If a disk hangs, nobody waits for longer, and no new write begins until it answers. */
  async #saveInTime(): Promise<void> {
    if (this.#isHanging) {
      void this.#ask(retryDelayMs);
      return;
    }
    this.#cancelTimer();
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#isHanging = true;
    const saving = this.#readAndWrite()
      .then(
        () => this.#noteProblem(this.#isSharedFile ? sharedFile : null),
        (error) => {
          if (!this.#hasWritten) this.#markBehind();
          this.#noteProblem(unwritable(describeDiskError(error)));
        },
      )
      .finally(() => {
        this.#isHanging = false;
      });
    let stopWaiting = () => {};
    const patience = new Promise<void>((resolve) => {
      stopWaiting = this.#clock.after(maxWaitMs, () => {
        this.#noteProblem(unwritable('the disk does not answer'));
        resolve();
      });
    });
    await Promise.race([saving, patience]);
    stopWaiting();
  }

  async #readAndWrite(): Promise<void> {
    await this.#lock();
    if (!this.#isRead) this.#isRead = await this.#read();
    else await this.#adoptForeign();
    this.#isDirty = false;
    const about = { isBehind: !this.#isClosed, isUnrecovered: this.#isUnrecovered };
    const stored = storedSections(this.kept, about, this.#clock);
    const text = textOf(stored);
    this.#ownTexts = [...this.#ownTexts.slice(0, 1), ...this.#ownTexts.slice(1).slice(-1), digestOf(text)];
    await this.#disk.write(this.#file, text);
    this.#ownTexts = [digestOf(text)];
    this.#isRead = true;
    for (const map of Object.values(this.kept)) map.confirmWritten();
    if (!this.#hasWritten && this.#lockProblem !== null) this.#log.warn(this.#lockProblem);
    if (!this.#hasWritten && this.#isNew) {
      this.#log.info(
        `${this.#file} is new. Water totals start with the data that the broker and the cloud have`,
      );
    }
    this.#hasWritten = true;
    await this.#writeBackup(stored);
  }

  /** Adds the data of the file if it is not the file that this process wrote. */
  async #adoptForeign(): Promise<void> {
    const text = await this.#textIn(this.#file);
    if (text === null || this.#ownTexts.includes(digestOf(text))) return;
    const { writtenAt } = readSections(this.kept, text, [], this.#clock);
    await this.#read();
    const now = this.#clock.monotonic();
    const startedAt = this.#clock.now() - (now - this.#createdAt);
    if (Date.parse(writtenAt ?? '') > startedAt) this.#otherWriterAt = now;
    else this.#log.warn(`${this.#file} is not the file that this bridge wrote. Its data was added`);
  }

  get #isSharedFile(): boolean {
    return this.#clock.monotonic() < this.#otherWriterAt + otherWriterMs;
  }

  /** Takes the lock, because two processes would overwrite each other's data. */
  async #lock(): Promise<void> {
    if (this.#unlock !== null) return;
    try {
      this.#unlock = await this.#disk.lock(this.#directory);
    } catch (error) {
      // The lock only guards against a mistake. The bridge can remember without it.
      this.#lockProblem = `data_dir ${this.#directory} cannot be locked (${describeDiskError(error)}). Make sure that no other sonic2mqtt uses it`;
      return;
    }
    this.#lockProblem = null;
    if (this.#unlock === null) throw new Error(sharedFile);
  }

  /**
   * Writes the backup once a day, and when a pause has changed, because only a pause that is known is ended. It has no
   * session, because a stolen backup must not give access to the account. Otherwise it is a little behind.
   */
  async #writeBackup(stored: object): Promise<void> {
    const { usage, pauses } = this.kept;
    const isDue = usage.size > 0 && this.#clock.monotonic() >= this.#backupDueAt;
    if (!isDue && isDeepStrictEqual(new Map(pauses), this.#pausesInBackup)) return;
    const inBackup = new Map(pauses);
    try {
      const backup = {
        ...stored,
        session: null,
        isBehind: true,
      };
      await this.#disk.write(`${this.#file}.bak`, textOf(backup));
      this.#backupDueAt = this.#clock.monotonic() + backupEveryMs;
      this.#pausesInBackup = inBackup;
      this.#isBackupFailing = false;
    } catch (error) {
      if (!this.#isBackupFailing) {
        this.#log.warn(`${this.#file}.bak cannot be written: ${describeDiskError(error)}`);
      }
      this.#isBackupFailing = true;
    }
  }

  /**
   * An earlier run may have counted water that it could not write. So no sum is shown before the months are read again.
   */
  #markBehind(): void {
    this.kept.usage.correct((record) => (record.isWhole ? { ...record, isWhole: false } : record));
    this.emit('added');
  }

  #noteProblem(problem: string | null): void {
    const wasProblem = this.#problem !== null;
    this.#problem = problem;
    if (this.#problem !== null) {
      this.#isDirty = true;
      void this.#ask(retryDelayMs);
      if (!wasProblem) this.#log.warn(`data_dir ${this.#directory}: ${this.#problem}`);
    } else if (wasProblem) this.#log.info(`data_dir ${this.#directory} works again`);
  }

  // ---- reading ------------------------------------------------------------------------------------------------

  /**
   * Reads the data of an earlier run. Each section comes from the first file in which it is intact. Resolves to whether
   * there was any file: if not, the disk may be mounted later. Rejects if there is a file that cannot be read at the
   * moment and so must not be replaced.
   */
  async #read(): Promise<boolean> {
    const files: string[] = [];
    const damagedFiles: string[] = [];
    let missing = sectionsOf(this.kept);
    let writtenAt: string | null = null;
    let isUnrecovered = false;
    let failure: unknown = null;
    for (const file of [this.#file, `${this.#file}.bak`]) {
      const text = await this.#textIn(file).catch((error: unknown) => {
        failure ??= error;
        return null;
      });
      if (text === null) continue;
      files.push(file);
      if (file === this.#file) this.#ownTexts = [digestOf(text)];
      const read = readSections(this.kept, text, missing, this.#clock);
      missing = read.damaged;
      writtenAt = read.writtenAt;
      isUnrecovered ||= read.isUnrecovered;
      if (missing.length === 0) break;
      await this.#disk.rename(file, `${file}.unreadable`);
      damagedFiles.push(file);
    }
    if (files.length > 0) this.emit('added');
    if (failure !== null) throw failure;
    this.#isNew = files.length === 0 || isUnrecovered;
    if (this.#isNew) this.#isUnrecovered = true;
    if (files.length === 0) for (const map of Object.values(this.kept)) map.isKnown = true;
    const last = files.at(-1);
    if (last === undefined) return false;
    if (last === this.#file && damagedFiles.length === 0) return true;
    this.#isDamaged = true;
    this.#isUnrecovered = true;
    const problems = damagedFiles.map((file) => `${file} is damaged. It is kept as ${file}.unreadable.`);
    if (problems.length === 0) problems.push(`${this.#file} is missing.`);
    const consequence =
      missing.length === 0
        ? `${last} of ${writtenAt ?? 'an unknown day'} replaces it.`
        : 'Water totals start again with the data that the cloud still has. A pause of the automatic shut-off may be lost.';
    this.#log.warn([...problems, consequence].join(' '));
    return true;
  }

  /**
   * The text of a file; null if there is no file, and empty if there is something else in its place. A file that cannot
   * be read is not damaged: it is read again, and this rejects if it still cannot be read.
   */
  async #textIn(file: string): Promise<string | null> {
    for (let reads = 1; ; reads++) {
      try {
        return await this.#disk.read(file);
      } catch (error) {
        const code = errorCode(error);
        if (code === 'ENOENT' || code === 'ENOTDIR') return null;
        if (unreadableCodes.includes(code)) return '';
        if (reads === maxReads) throw new Error(`${file} cannot be read: ${describeDiskError(error)}`);
        await sleep(this.#clock, readAgainMs);
      }
    }
  }
}

function unwritable(reason: string): string {
  return `cannot write to the folder (${reason}). Water totals will start again after a restart`;
}

function digestOf(text: string): string {
  return hash('sha1', text);
}

function textOf(stored: object): string {
  return `${JSON.stringify(stored)}\n`;
}
