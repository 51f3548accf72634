import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { StoredSession } from '../cloud/session.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { type Shard, wholeAccount } from '../model/shard.ts';
import { mergedRecords, type UsageRecord } from '../model/usage.ts';
import { type Disk, systemDisk } from './disk.ts';
import { type Account, type Content, type Found, keptOf } from './ledgerContent.ts';
import { describe, LedgerFile } from './ledgerFile.ts';
import { ledgerName, readNeighbours } from './ledgerNeighbours.ts';

/** Usage can be read again, so it need not wear out a memory card: not so often, and for thousands of sonics less. */
const usageEveryMs = 60_000;
const mostBytesAMinute = 1_000_000;

/** What cannot be written now may be written later: a disk has been tidied up, or mounted. */
const tryAgainMs = 60_000;

/** What is remembered over a restart: in one file, written atomically, readable by its owner only. */
export class Ledger {
  readonly #directory: string;
  readonly #account: Account;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #disk: Disk;
  /** Of its file in the directory, which may hold those of other bridges too. */
  readonly #name: string;
  readonly #file: LedgerFile;
  readonly #announced = new Set<string>();
  /** Told of, but not announced at their device. */
  readonly #waiting = new Set<string>();
  /** Announced by other bridges and not forgotten here: theirs to write, lest each hand back what another has forgotten. */
  #borrowed: Set<string> = new Set();
  /** All that the others' files named when they were last looked at: only what is new in them is news. */
  #namedByOthers: ReadonlySet<string> = new Set();
  readonly #accepted = new Map<string, AcceptedSettings>();
  readonly #usage = new Map<string, UsageRecord>();
  /** Sonics whose usage was read from the file or written to it. */
  readonly #remembered = new Set<string>();
  #session: StoredSession | null = null;
  #isDirty = true;
  /** Whether nothing was read of the water since all was put on disk. */
  #isAtRest = false;
  #writing: Promise<void> = Promise.resolve();
  /** Waits for the one that is under way, and takes in all that is said until it begins. */
  #nextWriting: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;
  #looking: Promise<void> | null = null;
  #problem: string | null = null;
  /** Whether the file was read and written in this run: what fails later makes nothing forgotten that is known here. */
  #hasWorked = false;

  constructor(
    directory: string,
    account: Account,
    log: Log,
    clock: Clock = systemClock,
    disk: Disk = systemDisk,
    shard: Shard = wholeAccount,
  ) {
    this.#directory = directory;
    this.#account = account;
    this.#log = log;
    this.#clock = clock;
    this.#disk = disk;
    this.#name = ledgerName(shard);
    this.#file = new LedgerFile(directory, this.#name, log, clock, disk);
  }

  /** Reads the file and finds out whether it can be written; never rejects: without a file it works without memory. */
  async open(): Promise<void> {
    await this.#keep();
    await this.lookAround();
  }

  /** Takes over what other bridges have kept in the directory, of what may be this one's now; never rejects. */
  lookAround(): Promise<void> {
    const looking: Promise<void> = this.#takeOver().finally(() => {
      if (this.#looking === looking) this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  /** Resolves once that was done; null while there is nothing to wait for. */
  get looking(): Promise<void> | null {
    return this.#looking;
  }

  /** What is wrong with the data directory, in words; null while nothing is. */
  get problem(): string | null {
    return this.#problem ?? this.#file.problem;
  }

  /** Whether an earlier run may have announced what is not known of here. */
  get hasForgotten(): boolean {
    return !this.#hasWorked || this.#file.isForgetful;
  }

  /** The session token of this account. */
  loadSession(): StoredSession | null {
    return this.#session;
  }

  /** Keeps the session token; null forgets it. */
  saveSession(session: StoredSession | null): void {
    this.#session = session;
    this.#save();
  }

  /** Whether the opening of the incident was announced. */
  hasAnnounced(incidentId: string): boolean {
    return this.#announced.has(incidentId) || this.#borrowed.has(incidentId);
  }

  /** Keeps that the incidents are announced; resolves once that is on disk, or cannot be. */
  async noteAnnounced(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#announced.add(id);
      this.#waiting.delete(id);
    }
    this.#isDirty = true;
    await this.#keep();
  }

  /** Whether the opening of the incident was told, and still waits to be announced at its device. */
  isWaiting(incidentId: string): boolean {
    return this.#waiting.has(incidentId);
  }

  /** Notes incidents whose bridge event was published and whose device is not known yet; resolves once written, or failed. */
  async noteWaiting(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#waiting.add(id);
      this.#announced.delete(id);
    }
    this.#isDirty = true;
    await this.#keep();
  }

  /** Keeps as its own what another bridge has announced, if that is so: the incident is this one's now. */
  async adoptAnnounced(incidentId: string): Promise<void> {
    if (this.#borrowed.has(incidentId)) await this.noteAnnounced([incidentId]);
  }

  /** Forgets an incident that is no longer open: if it opens again, that is announced again. */
  forgetAnnounced(incidentId: string): void {
    this.#borrowed.delete(incidentId);
    const wasWaiting = this.#waiting.delete(incidentId);
    if (this.#announced.delete(incidentId) || wasWaiting) this.#save();
  }

  /** Ids that were announced or told of and not forgotten, by this bridge or another. */
  announced(): string[] {
    return [...new Set([...this.#announced, ...this.#waiting, ...this.#borrowed])];
  }

  /** What the cloud accepted of a property and does not show, as far as it is kept. */
  acceptedBy(propertyId: string): AcceptedSettings {
    return this.#accepted.get(propertyId) ?? {};
  }

  /** Keeps what the cloud has accepted of a property. */
  keepAccepted(propertyId: string, settings: AcceptedSettings): void {
    const kept = keptOf(settings);
    if (Object.keys(kept).length === 0) return;
    this.#accepted.set(propertyId, { ...this.#accepted.get(propertyId), ...kept });
    this.#save();
  }

  /** Forgets a property that is gone. */
  forgetAccepted(propertyId: string): void {
    if (this.#accepted.delete(propertyId)) this.#save();
  }

  /** What was read of a sonic's water; null for one that was never read. */
  usageOf(sonicId: string): UsageRecord | null {
    return this.#usage.get(sonicId) ?? null;
  }

  /** Whether a sonic's usage will still be known after a restart. */
  remembersUsage(sonicId: string): boolean {
    return this.#problem === null || this.#remembered.has(sonicId);
  }

  /** Keeps what was read of a sonic's water: on disk soon where it is news, else with whatever is written next. */
  keepUsage(sonicId: string, record: UsageRecord, isNews: boolean): void {
    this.#usage.set(sonicId, record);
    this.#isDirty = true;
    this.#isAtRest = false;
    if (isNews) this.#saveIn(usageEveryMs * Math.max(1, this.#file.size / mostBytesAMinute));
  }

  /** Forgets a sonic that is gone for good. */
  forgetUsage(sonicId: string): void {
    this.#usage.delete(sonicId);
    this.#remembered.delete(sonicId);
    this.#isDirty = true;
  }

  /** Sonics of which usage is kept, with when they were last read, in ms since 1970. */
  keptUsage(): { readonly sonicId: string; readonly readAt: number }[] {
    return [...this.#usage].map(([sonicId, { readAt }]) => ({ sonicId, readAt }));
  }

  /** Puts everything on disk, as before a stop; resolves once it is there, or cannot be. */
  flush(): Promise<void> {
    this.#isAtRest = true;
    this.#isDirty = true;
    return this.#keep();
  }

  /** Their sessions stay theirs: each bridge has its own. */
  async #takeOver(): Promise<void> {
    let isNews = false;
    const neighbours = await readNeighbours(this.#directory, this.#name, this.#disk, this.#log);
    this.#borrow(new Set(neighbours.flatMap(({ announced }) => announced)));
    for (const { usage } of neighbours) {
      for (const [id, kept] of Object.entries(usage)) {
        const own = this.#usage.get(id);
        // What is older was taken over when it was news.
        if (own && own.readAt >= kept.readAt) continue;
        this.#usage.set(id, own ? mergedRecords(own, kept) : kept);
        isNews = true;
      }
    }
    if (isNews) this.#save();
  }

  #borrow(named: ReadonlySet<string>): void {
    const isForgotten = (id: string) => this.#namedByOthers.has(id) && !this.#borrowed.has(id);
    this.#borrowed = new Set([...named].filter((id) => !isForgotten(id)));
    this.#namedByOthers = named;
  }

  #save(): void {
    this.#isDirty = true;
    void this.#keep();
  }

  #saveIn(delayMs: number): void {
    this.#cancelTimer ??= this.#clock.after(delayMs, () => this.#save());
  }

  /** Resolves once what is said so far is on disk, or cannot be. */
  #keep(): Promise<void> {
    this.#nextWriting ??= this.#writing.then(() => {
      this.#nextWriting = null;
      this.#writing = this.#isDirty ? this.#write() : Promise.resolve();
      return this.#writing;
    });
    return this.#nextWriting;
  }

  async #write(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isDirty = false;
    try {
      for (const found of await this.#file.news()) this.#take(found);
      const content = this.#content();
      await this.#file.put(content);
      this.#hasWorked = true;
      for (const id of Object.keys(content.usage)) this.#remembered.add(id);
      if (this.#problem) this.#log.info(`The data directory ${this.#directory} can be written again`);
      this.#problem = null;
    } catch (error) {
      const reason = describe(error);
      const problem = `the data directory cannot be used, so nothing new is remembered over a restart (${reason})`;
      if (this.#problem === null) this.#log.warn(`data_dir ${this.#directory}: ${problem}`);
      this.#problem = problem;
    }
    if (this.problem !== null) this.#saveIn(tryAgainMs);
  }

  #content(): Content {
    return {
      session: this.#session && { ...this.#account, ...this.#session },
      announced: [...this.#announced],
      waiting: [...this.#waiting],
      accepted: Object.fromEntries(this.#accepted),
      usage: Object.fromEntries(this.#usage),
      isBehind: !this.#isAtRest,
      copiedAt: null,
    };
  }

  #take({ session, announced, waiting, accepted, usage }: Found): void {
    if (session && session.baseUrl === this.#account.baseUrl && session.email === this.#account.email) {
      this.#session ??= { token: session.token, since: session.since };
    }
    for (const id of waiting) this.#waiting.add(id);
    for (const id of announced) this.#announced.add(id);
    for (const id of this.#announced) this.#waiting.delete(id);
    for (const [id, kept] of Object.entries(accepted)) {
      this.#accepted.set(id, { ...kept, ...this.#accepted.get(id) });
    }
    for (const [id, kept] of Object.entries(usage)) {
      const read = this.#usage.get(id);
      this.#usage.set(id, read ? mergedRecords(kept, read) : kept);
      this.#remembered.add(id);
    }
  }
}
