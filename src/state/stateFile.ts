import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';
import { type Clock, endsWithin, sleep, systemClock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import { minuteMs } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import { errorCode } from '../base/systemErrors.ts';
import { type Disk, describeDiskError, systemDisk } from './disk.ts';
import { saveIn } from './kept.ts';
import { type Kept, newKept, readSections, storedSections } from './sections.ts';

/** The name of the file in `data_dir`. Several bridges, each with its own base topic, may share the folder. */
export function stateFileName(baseTopic: string): string {
  return `${encodeURIComponent(baseTopic)}.json`;
}

/** Whether a file in `data_dir` holds the state of a bridge: also a damaged copy, or one that was half written. */
export function isStateFile(name: string): boolean {
  return /\.json(\.unreadable|\.tmp)*$/.test(name);
}

/** What tells the state of a bridge from any other file. */
const stateOfBridge = z.object({ writtenAt: z.string(), discoveryPrefixes: z.array(z.string()) });

/** The longest wait for a disk that hangs, in ms. The alert of a leak must not wait longer. */
const maxWaitMs = 10_000;

/** With one of these errors, the path is no file that could ever be read. Any other error may pass. */
const unreadableCodes = ['EISDIR', 'ELOOP', 'ERR_STRING_TOO_LONG'];

/** A file that cannot be read is read again: the wait in ms, and how often. Later the next write tries again. */
const readAgainMs = 500;
const maxReads = 3;

interface StateEvents {
  /** Data that an earlier run has kept, on the disk or on the broker, was added. */
  readonly added: [];
}

/**
 * All that survives a restart, on disk. The file is read at the start, and written completely when a section asks for it.
 * If the file is another one than this process has written last, it is added first: the disk was mounted late. Nothing
 * here ever rejects. If the folder cannot be used, the bridge works without memory, reports that, and tries again every
 * minute.
 *
 * The broker has a copy of what matters (`publishing/recovery.ts`). A number that grows with each change that is
 * written at once is kept with both. It shows which of them is newer, so an older file is the same as a lost one.
 */
export class StateFile extends EventEmitter<StateEvents> {
  readonly #directory: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #file: string;
  readonly kept: Kept = newKept({
    changed: (delayMs) => {
      if (delayMs === saveIn.now) this.#revision += 1;
      void this.#ask(delayMs);
    },
    saved: () => this.#ask(saveIn.now),
  });
  #revision = 0;
  /** The revision of the newest memory that was found. */
  #foundRevision = 0;
  #isBrokerRead = false;
  #isDirty = true;
  /** Whether an intact file of an earlier run was found. */
  #isFound = false;
  #isNew = false;
  #isDamaged = false;
  #hasWritten = false;
  #isHanging = false;
  #isClosed = false;
  /** The digest of the text that was last read or written; null before that. */
  #text: string | null = null;
  #dueAt = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};
  #problem: string | null = null;
  #asked: Promise<void> | null = null;
  readonly #save = coalesce(async () => {
    if (this.#isDirty) await this.#saveInTime();
  });

  constructor(
    directory: string,
    log: Log,
    clock: Clock = systemClock,
    disk: Disk = systemDisk,
    baseTopic = 'sonic2mqtt',
  ) {
    super();
    this.#directory = directory;
    this.#log = log;
    this.#clock = clock;
    this.#disk = disk;
    this.#file = join(directory, stateFileName(baseTopic));
  }

  /** Reads the file and finds out whether it can be written. */
  open(): Promise<void> {
    return this.#save();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isDirty = true;
    await this.#save();
  }

  /** The problem with the data directory, for people; null if there is none. */
  get problem(): string | null {
    return this.#problem === null ? null : `data_dir ${this.#directory}: ${this.#problem}`;
  }

  /** Whether data of an earlier run may be missing, so that incidents which that run announced are not known here. */
  get isIncomplete(): boolean {
    return !this.#hasWritten || this.#isDamaged;
  }

  /** Whether there was no file at the start. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** The other base topics whose state is in the folder, with the discovery prefix of each. Never rejects. */
  async others(): Promise<readonly { readonly base: string; readonly prefix: string }[]> {
    const found: { readonly base: string; readonly prefix: string }[] = [];
    const names = await this.#disk.names(this.#directory).catch(() => []);
    // One after the other, so that a disk that hangs holds up one of the runtime's few threads.
    for (const name of names) {
      if (!name.endsWith('.json') || join(this.#directory, name) === this.#file) continue;
      try {
        const stored = JSON.parse(await this.#disk.read(join(this.#directory, name)));
        const base = decodeURIComponent(name.slice(0, -'.json'.length));
        for (const prefix of stateOfBridge.parse(stored).discoveryPrefixes) found.push({ base, prefix });
      } catch {
        // It is no state of a bridge.
      }
    }
    return found;
  }

  /** The number of the last change; null before the broker was read, because the broker may have a larger one. */
  get revision(): number | null {
    return this.#isBrokerRead ? this.#revision : null;
  }

  /** Whether the broker, which has this revision or none, may know what the file lacks. */
  misses(brokerRevision: number | null): boolean {
    return !this.#isFound || (brokerRevision ?? 0) > this.#foundRevision;
  }

  /** Whether the broker has come back without what it was told last, for example after a power cut. */
  isAheadOf(brokerRevision: number | null): boolean {
    return brokerRevision !== null && brokerRevision < this.#foundRevision;
  }

  /** What the broker has was added. */
  brokerRead(brokerRevision: number | null): void {
    if (this.#isFound && this.misses(brokerRevision))
      this.#log.info(`${this.#file} is older than the messages on the broker. Their data was added`);
    this.#found(brokerRevision ?? 0);
    this.#isBrokerRead = true;
    void this.#ask(saveIn.now);
    this.emit('added');
  }

  #found(revision: number): void {
    this.#foundRevision = Math.max(this.#foundRevision, revision);
    this.#revision = Math.max(this.#revision, revision) + 1;
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
      void this.#ask(minuteMs);
      return;
    }
    this.#cancelTimer();
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#isHanging = true;
    const saving = this.#readAndWrite()
      .then(
        () => this.#noteProblem(null),
        (error) => {
          if (!this.#hasWritten) this.#markBehind();
          this.#noteProblem(unwritable(describeDiskError(error)));
        },
      )
      .finally(() => {
        this.#isHanging = false;
      });
    if (!(await endsWithin(this.#clock, maxWaitMs, saving)))
      this.#noteProblem(unwritable('the disk does not answer'));
  }

  async #readAndWrite(): Promise<void> {
    await this.#read();
    this.#isDirty = false;
    const about = { isBehind: !this.#isClosed, revision: this.#revision };
    const text = `${JSON.stringify(storedSections(this.kept, about, this.#clock))}\n`;
    await this.#disk.write(this.#file, text);
    this.#text = digestOf(text);
    for (const map of Object.values(this.kept)) map.confirmWritten();
    if (!this.#hasWritten && this.#isNew) {
      this.#log.info(
        `${this.#file} is new. Water totals start with the data that the broker and the cloud have`,
      );
    }
    this.#hasWritten = true;
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
      void this.#ask(minuteMs);
      if (!wasProblem) this.#log.warn(`data_dir ${this.#directory}: ${this.#problem}`);
    } else if (wasProblem) this.#log.info(`data_dir ${this.#directory} works again`);
  }

  // ---- reading ------------------------------------------------------------------------------------------------

  /**
   * Adds the data of the file, unless this process has written it. Rejects if there is a file that cannot be read at the
   * moment and so must not be replaced.
   */
  async #read(): Promise<void> {
    const isFirst = this.#text === null;
    const text = await this.#readText();
    if (text === null) {
      if (isFirst) this.#isNew = true;
      return;
    }
    const digest = digestOf(text);
    if (digest === this.#text) return;
    const { revision, damaged } = readSections(this.kept, text, this.#foundRevision, this.#clock);
    this.#found(revision);
    if (damaged.length === 0) this.#isFound = true;
    else await this.#setAside(damaged, isFirst);
    this.#text = digest;
    this.emit('added');
  }

  async #setAside(damaged: readonly string[], isFirst: boolean): Promise<void> {
    if (isFirst) this.#isDamaged = true;
    if (isFirst && damaged.includes('pauses')) this.kept.lostPauses.set('', true);
    await this.#disk.rename(this.#file, `${this.#file}.unreadable`);
    const lines = [`${this.#file} is damaged. It is kept as ${this.#file}.unreadable.`];
    if (isFirst) lines.push('Data that neither the broker nor the cloud has is lost.');
    this.#log.warn(lines.join(' '));
  }

  /**
   * The text of the file; null if there is no file, and empty if there is something else in its place. A file that cannot
   * be read is not damaged: it is read again, and this rejects if it still cannot be read.
   */
  async #readText(): Promise<string | null> {
    for (let reads = 1; ; reads++) {
      try {
        return await this.#disk.read(this.#file);
      } catch (error) {
        const code = errorCode(error);
        if (code === 'ENOENT' || code === 'ENOTDIR') return null;
        if (unreadableCodes.includes(code)) return '';
        if (reads === maxReads) throw new Error(`${this.#file} cannot be read: ${describeDiskError(error)}`);
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
