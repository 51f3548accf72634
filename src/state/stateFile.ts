import { hash } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import { errorCode } from '../base/systemErrors.ts';
import { type Disk, describeDiskError, systemDisk } from './disk.ts';
import { Memory, type SessionOwner } from './memory.ts';
import { readState, type State, sections } from './stateSchema.ts';

/** The name of the file in the data directory. */
export const stateFileName = 'state.json';

/**
 * Whether a file in `data_dir` holds the state. This includes files of earlier versions, backups and unreadable copies.
 */
export function isStateFile(name: string): boolean {
  return /^(state|ledger(_\d+)?)\.json(\.bak|\.unreadable|\.tmp)*$/.test(name);
}

/** The delay before a failed write is tried again, in ms. By then the disk may have free space, or may be mounted. */
const retryDelayMs = 60_000;

/** The longest wait for a disk that hangs, in ms. The alert of a leak must not wait longer. */
const maxWaitMs = 10_000;

/** If another process writes to the same file, it writes again within this time, in ms. */
const otherWriterMs = 3_600_000;

/**
 * How often the backup is written, in ms. The cloud has forgotten older months, so their sum is only in this file. One
 * bad sector must not destroy it.
 */
const backupEveryMs = 86_400_000;

const sharedFile = 'another sonic2mqtt uses the same folder. Give each its own';

/** These errors are not temporary: a file with one of them stays unreadable. */
const unreadableCodes = ['EISDIR', 'EIO', 'ELOOP', 'ERR_STRING_TOO_LONG'];

/**
 * The memory on disk. The file `state.json` is read once, at the start, and written completely when a change asks for
 * it. If the file on disk is not the one that this process read or wrote, it is read and added first: the disk was
 * mounted late, or a backup was restored. If a section is damaged, it is taken from the backup, which is at most a day
 * old. Nothing here ever rejects. If the folder cannot be used, the bridge works without memory, reports that, and
 * tries again every minute.
 */
export class StateFile extends Memory {
  readonly #directory: string;
  readonly #log: Log;
  readonly #disk: Disk;
  readonly #file: string;
  /** The file of version 0.1.0, which is read if there is no newer one. */
  readonly #ledger: string;
  #isDirty = true;
  #isRead = false;
  #hasWritten = false;
  #isDamaged = false;
  #isNew = false;
  #isHanging = false;
  #unlock: (() => void) | null = null;
  #lockProblem: string | null = null;
  /**
   * Digests of the texts that this process may have left in the file: the last text that it read or wrote, then the
   * texts that it has tried to write since.
   */
  #ownTexts: readonly string[] = [];
  readonly #createdAt: number;
  /** When another running process was last found to have written the file, in ms of the monotonic clock. */
  #otherWriterAt = Number.NEGATIVE_INFINITY;
  #backupDueAt = Number.NEGATIVE_INFINITY;
  #isBackupFailing = false;
  #cancelTimer: (() => void) | null = null;
  #problem: string | null = null;
  readonly #save = coalesce(async () => {
    if (this.#isDirty) await this.#saveInTime();
  });

  constructor(
    directory: string,
    account: SessionOwner,
    log: Log,
    clock: Clock = systemClock,
    disk: Disk = systemDisk,
  ) {
    super(account, clock);
    this.#directory = directory;
    this.#log = log;
    this.#disk = disk;
    this.#createdAt = clock.monotonic();
    this.#file = join(directory, stateFileName);
    this.#ledger = join(directory, 'ledger.json');
  }

  /** Takes the lock, reads the file and finds out whether it can be written. */
  open(): Promise<void> {
    return this.#save();
  }

  /** Writes everything, and gives up the lock. */
  async close(): Promise<void> {
    this.isAtRest = true;
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

  /** Whether there was no file of an earlier run. It may also have been lost. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** Whether the pauses of an earlier run are known. They are not while the disk cannot be read. */
  get arePausesKnown(): boolean {
    return this.#isRead || this.#isNew;
  }

  // ---- writing ------------------------------------------------------------------------------------------------

  protected saveNow(): Promise<void> {
    this.#isDirty = true;
    return this.#save();
  }

  protected saveIn(delayMs: number): void {
    this.#cancelTimer ??= this.clock.after(delayMs, () => void this.saveNow());
  }

  /**
   * Writes the file, but waits for the disk for a limited time only. If a disk hangs, no new write begins until it
   * answers.
   */
  async #saveInTime(): Promise<void> {
    if (this.#isHanging) {
      this.saveIn(retryDelayMs);
      return;
    }
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isHanging = true;
    const saving = this.#readAndWrite()
      .then(
        () => this.#noteProblem(this.#isSharedFile ? sharedFile : null),
        (error) => {
          if (!this.#hasWritten) this.markBehind();
          this.#noteProblem(unwritable(describeDiskError(error)));
        },
      )
      .finally(() => {
        this.#isHanging = false;
      });
    let stopWaiting = () => {};
    const patience = new Promise<void>((resolve) => {
      stopWaiting = this.clock.after(maxWaitMs, () => {
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
    const state = this.state();
    const pauses = [...this.pauses.values()];
    const text = textOf(state);
    this.#ownTexts = [...this.#ownTexts.slice(0, 1), ...this.#ownTexts.slice(1).slice(-1), digestOf(text)];
    await this.#disk.write(this.#file, text);
    this.#ownTexts = [digestOf(text)];
    this.#isRead = true;
    this.noteWritten(state, pauses);
    if (!this.#hasWritten && this.#lockProblem !== null) this.#log.warn(this.#lockProblem);
    if (!this.#hasWritten && this.#isNew) {
      this.#log.info(
        `${this.#file} is new. Water totals start with the data that the broker and the cloud have`,
      );
    }
    this.#hasWritten = true;
    await this.#writeBackup(state);
  }

  /** Adds the data of the file if it is not the file that this process wrote. */
  async #adoptForeign(): Promise<void> {
    const text = await this.#textIn(this.#file);
    if (text === null || this.#ownTexts.includes(digestOf(text))) return;
    const { writtenAt } = readState(text).state;
    await this.#read();
    const now = this.clock.monotonic();
    const startedAt = this.clock.now() - (now - this.#createdAt);
    if (Date.parse(writtenAt ?? '') > startedAt) this.#otherWriterAt = now;
    else this.#log.warn(`${this.#file} is not the file that this bridge wrote. Its data was added`);
  }

  get #isSharedFile(): boolean {
    return this.clock.monotonic() < this.#otherWriterAt + otherWriterMs;
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
   * Writes the backup, at most once a day. It has no session, because a stolen backup must not give access to the
   * account. It is always a little behind. So incidents that wait to be announced count as announced in it, because an
   * event is better lost than repeated. It has no pauses, because a pause has ended by the time the backup is used.
   */
  async #writeBackup(state: State): Promise<void> {
    if (Object.keys(state.usage).length === 0 || this.clock.monotonic() < this.#backupDueAt) return;
    try {
      const announced = [...state.announced, ...state.waiting];
      const backup = { ...state, session: null, announced, waiting: [], pauses: {}, isBehind: true };
      await this.#disk.write(`${this.#file}.bak`, textOf(backup));
      this.#backupDueAt = this.clock.monotonic() + backupEveryMs;
      this.#isBackupFailing = false;
    } catch (error) {
      if (!this.#isBackupFailing) {
        this.#log.warn(`${this.#file}.bak cannot be written: ${describeDiskError(error)}`);
      }
      this.#isBackupFailing = true;
    }
  }

  #noteProblem(problem: string | null): void {
    const wasProblem = this.#problem !== null;
    this.#problem = problem;
    if (this.#problem !== null) {
      this.#isDirty = true;
      this.saveIn(retryDelayMs);
      if (!wasProblem) this.#log.warn(`data_dir ${this.#directory}: ${this.#problem}`);
    } else if (wasProblem) this.#log.info(`data_dir ${this.#directory} works again`);
  }

  // ---- reading ------------------------------------------------------------------------------------------------

  /**
   * Reads the data of an earlier run. Each section comes from the first file in which it is intact. Resolves to whether
   * there was any file: if not, the disk may be mounted later. Rejects if there may be a file that cannot be read at
   * the moment and so must not be replaced.
   */
  async #read(): Promise<boolean> {
    const backupOf = (file: string) => `${file}.bak`;
    const damagedFiles: string[] = [];
    let missing = sections;
    let first = null;
    let last = null;
    for (const file of [this.#file, backupOf(this.#file), this.#ledger, backupOf(this.#ledger)]) {
      const text = await this.#textIn(file);
      if (text === null) continue;
      if (file === this.#file) this.#ownTexts = [digestOf(text)];
      const { state, damaged } = readState(text);
      first ??= file;
      last = { file, state, isWhole: damaged.length === 0 };
      if (damaged.length > 0) {
        await this.#disk.rename(file, `${file}.unreadable`);
        damagedFiles.push(file);
      }
      this.take(state, missing, state.isBehind || damaged.length > 0);
      missing = missing.filter((section) => damaged.includes(section));
      if (missing.length === 0) break;
    }
    this.#isNew = first === null;
    if (first === null || last === null) return false;
    if (first === this.#ledger)
      this.#log.info(`Read ${first}, a file of an older version. ${this.#file} replaces it`);
    if (damagedFiles.length === 0 && !first.endsWith('.bak')) return true;
    this.#isDamaged = true;
    const problem = damagedFiles.map((file) => `${file} is damaged. It is kept as ${file}.unreadable.`);
    if (problem.length === 0) problem.push(`${first.replace(/\.bak$/, '')} is missing.`);
    const consequence = last.isWhole
      ? `${last.file} of ${last.state.writtenAt ?? 'an unknown day'} replaces it.`
      : 'Water totals start again with the data that the cloud still has.';
    this.#log.warn([...problem, consequence].join(' '));
    return true;
  }

  /** The text of a file; null if there is no file, and empty if it will never be readable. */
  async #textIn(file: string): Promise<string | null> {
    try {
      return await this.#disk.read(file);
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') return null;
      if (unreadableCodes.includes(code)) return '';
      throw new Error(`${file} cannot be read: ${describeDiskError(error)}`);
    }
  }
}

function unwritable(reason: string): string {
  return `cannot write to the folder (${reason}). Water totals will start again after a restart`;
}

function digestOf(text: string): string {
  return hash('sha1', text);
}

function textOf(state: State): string {
  return `${JSON.stringify(state)}\n`;
}
