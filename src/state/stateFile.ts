import { hash } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import { errorCode } from '../base/systemErrors.ts';
import type { StoredSession } from '../cloud/session.ts';
import { defaultPauseMinutes, type Pause } from '../model/pause.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { bridgeName, type Shard, wholeAccount } from '../model/shard.ts';
import { mergedRecords, type UsageRecord } from '../model/usage.ts';
import type { ValveRecord } from '../model/valveCommand.ts';
import { type Disk, describeDiskError, systemDisk } from './disk.ts';
import { readState, type State, sections } from './stateSchema.ts';

/** Whose session it is. */
export interface SessionOwner {
  readonly baseUrl: string;
  readonly email: string;
}

/** The name of the file in the data directory. */
export const stateFileName = 'state.json';

/** Whether a file in `data_dir` is one of the state, also of an earlier version, or a copy that was put aside. */
export function isStateFile(name: string): boolean {
  return /^(state|ledger(_\d+)?)\.json(\.bak|\.unreadable|\.tmp)*$/.test(name);
}

/** What can be learned again need not wear out a memory card. */
const laterMs = 60_000;

/** What cannot be written now may be written later: a disk has been tidied up, or mounted. */
const retryDelayMs = 60_000;

/** The news of a leak does not wait longer for a disk that hangs. */
const maxWaitMs = 10_000;

/** If another process writes the same file, it does so again within this time. */
const otherWriterMs = 3_600_000;

/** The sum of the months that the cloud has forgotten is nowhere else: one bad sector must not cost it. */
const backupEveryMs = 86_400_000;

/** A clock that is corrected a little now and then is not behind. */
const maxClockErrorMs = 5_000;

const sharedFile = 'another sonic2mqtt uses the same folder. Give each its own';

/** No error of the moment: such a file will not be read however often that is tried. */
const unreadableCodes = ['EISDIR', 'EIO', 'ELOOP', 'ERR_STRING_TOO_LONG'];

/**
 * What is remembered over a restart. All of it is in memory. The file `state.json` is read once, at the start, and written
 * whole after each change: what must not be lost at once, water a while later. What this process has neither read nor written
 * is read first and not replaced: the disk was mounted late, or a backup was restored. A damaged section of it is taken from the
 * backup, which is a day old at most. Nothing here ever rejects: without a folder that it can use the bridge works without
 * memory, says so, and tries again every minute.
 */
export class StateFile {
  readonly #directory: string;
  readonly #account: SessionOwner;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #file: string;
  /** The file of version 0.1.0, which is read where there is no other. */
  readonly #ledger: string;
  readonly #announced = new Set<string>();
  readonly #pending = new Set<string>();
  readonly #accepted = new Map<string, AcceptedSettings>();
  /** By property; null for a pause that was over in this run, and that a file of an earlier run does not bring back. */
  readonly #pauses = new Map<string, Pause | null>();
  readonly #pauseMinutes = new Map<string, number>();
  /** What the file has of them by this process. */
  readonly #writtenPauses = new WeakSet<Pause>();
  readonly #valves = new Map<string, ValveRecord>();
  readonly #devices = new Set<string>();
  #wifiSonics: readonly string[] = [];
  readonly #shownSettings = new Set<string>();
  readonly #usage = new Map<string, UsageRecord>();
  /** Sonics whose usage this run has read. */
  readonly #usageRead = new Set<string>();
  /** By sonic, in Unix seconds. */
  readonly #rested = new Map<string, number>();
  readonly #baseTopics = new Set<string>();
  /** Sonics whose usage was read from the file or written to it. */
  readonly #remembered = new Set<string>();
  #session: StoredSession | null = null;
  /** Whether nothing was read of the water since all was written. */
  #isAtRest = false;
  #isDirty = true;
  #isRead = false;
  #hasWritten = false;
  #isDamaged = false;
  #isNew = false;
  #isHanging = false;
  #unlock: (() => void) | null = null;
  #lockProblem: string | null = null;
  /** Digests of what may be in the file by this process: what it read or wrote last, then what it has tried to write since. */
  #ownTexts: readonly string[] = [];
  readonly #createdAt: number;
  /** When the file was found to be written by another process that runs now; of the monotonic clock. */
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
    shard: Shard = wholeAccount,
  ) {
    this.#directory = directory;
    this.#account = account;
    this.#log = log;
    this.#clock = clock;
    this.#disk = disk;
    this.#createdAt = clock.monotonic();
    this.#file = join(directory, stateFileName);
    this.#ledger = join(directory, `${bridgeName(shard).replace('bridge', 'ledger')}.json`);
  }

  /** Takes the lock, reads the file and finds out whether it can be written. */
  open(): Promise<void> {
    return this.#save();
  }

  /** Writes everything, as before a stop, and gives up the lock. */
  async close(): Promise<void> {
    this.#isAtRest = true;
    this.#isDirty = true;
    await this.#save();
    this.#unlock?.();
    this.#unlock = null;
  }

  /** What is wrong with the data directory, in words; null while nothing is. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Why no lock guards the data directory, in words; null if there is one, or if the directory cannot be used at all. */
  get lockProblem(): string | null {
    return this.#hasWritten ? this.#lockProblem : null;
  }

  /** Whether an earlier run may have announced what is not known of here. */
  get isIncomplete(): boolean {
    return !this.#hasWritten || this.#isDamaged;
  }

  /** Whether there was no file of an earlier run, which may have been lost. */
  get isNew(): boolean {
    return this.#isNew;
  }

  // ---- session ------------------------------------------------------------------------------------------------

  /** The session token of this account. */
  get session(): StoredSession | null {
    return this.#session;
  }

  /** Keeps the session token; null forgets it. */
  recordSession(session: StoredSession | null): void {
    this.#session = session;
    this.#saveSoon();
  }

  // ---- incidents ----------------------------------------------------------------------------------------------

  /** Whether the opening of the incident was announced. */
  isAnnounced(incidentId: string): boolean {
    return this.#announced.has(incidentId);
  }

  /** Whether the incident was published at `bridge/event`, and is still to be announced at its device. */
  isPending(incidentId: string): boolean {
    return this.#pending.has(incidentId);
  }

  /** Keeps that the incidents are announced; resolves once that is on disk, or cannot be. */
  recordAnnounced(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#announced.add(id);
      this.#pending.delete(id);
    }
    return this.#saveNow();
  }

  /** Keeps that the incidents wait to be announced at their devices; resolves once that is on disk, or cannot be. */
  recordPending(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#pending.add(id);
      this.#announced.delete(id);
    }
    return this.#saveNow();
  }

  /** Forgets an incident that is no longer open: if it opens again, that is announced again. */
  forgetIncident(incidentId: string): void {
    const wasPending = this.#pending.delete(incidentId);
    if (this.#announced.delete(incidentId) || wasPending) this.#saveSoon();
  }

  /** Ids of incidents that are announced or pending. */
  incidentIds(): string[] {
    return [...this.#announced, ...this.#pending];
  }

  // ---- accepted settings --------------------------------------------------------------------------------------

  /** What the cloud accepted of a property and does not show, as far as it is kept. */
  acceptedBy(propertyId: string): AcceptedSettings {
    return this.#accepted.get(propertyId) ?? {};
  }

  /** Keeps what the cloud has accepted of a property. */
  recordAccepted(propertyId: string, settings: AcceptedSettings): void {
    const kept = withoutSecrets(settings);
    if (Object.keys(kept).length === 0) return;
    this.#accepted.set(propertyId, { ...this.#accepted.get(propertyId), ...kept });
    this.#saveSoon();
  }

  /** Forgets a property that is gone. */
  forgetAccepted(propertyId: string): void {
    if (this.#accepted.delete(propertyId)) this.#saveSoon();
  }

  // ---- pauses of the automatic shut-off -----------------------------------------------------------------------

  /** Whether the pauses of an earlier run are known: a disk may not be readable yet. */
  get arePausesKnown(): boolean {
    return this.#isRead || this.#isNew;
  }

  /** The pauses that have not ended, or whose end is not confirmed, by property. */
  get pauses(): ReadonlyMap<string, Pause> {
    return new Map([...this.#pauses].flatMap(([id, pause]) => (pause ? [[id, pause]] : [])));
  }

  /** Keeps a pause, or forgets it; resolves to whether it is on disk, where a power cut does not undo it. */
  async recordPause(propertyId: string, pause: Pause | null): Promise<boolean> {
    this.#pauses.set(propertyId, pause);
    await this.#saveNow();
    return this.#problem === null && (pause === null || this.#writtenPauses.has(pause));
  }

  /** How long a pause of the property is that is not given a time, in minutes. */
  pauseMinutesOf(propertyId: string): number {
    return this.#pauseMinutes.get(propertyId) ?? defaultPauseMinutes;
  }

  recordPauseMinutes(propertyId: string, minutes: number): void {
    this.#pauseMinutes.set(propertyId, minutes);
    this.#saveSoon();
  }

  // ---- valves -------------------------------------------------------------------------------------------------

  /** What is kept of a valve's commands and movements; null if nothing is. */
  valveRecord(sonicId: string): ValveRecord | null {
    return this.#valves.get(sonicId) ?? null;
  }

  /** Keeps it. */
  recordValve(sonicId: string, record: ValveRecord): void {
    if (isDeepStrictEqual(this.#valves.get(sonicId), record)) return;
    this.#valves.set(sonicId, record);
    this.#saveSoon();
  }

  /** Forgets a valve that is gone. */
  forgetValve(sonicId: string): void {
    if (this.#valves.delete(sonicId)) this.#saveSoon();
  }

  /** Whether an earlier run, or this one, has told of the incident. */
  isKnownIncident(incidentId: string): boolean {
    return this.#announced.has(incidentId) || this.#pending.has(incidentId);
  }

  // ---- usage --------------------------------------------------------------------------------------------------

  /** What was read of a sonic's water; null for one that was never read. */
  usageOf(sonicId: string): UsageRecord | null {
    return this.#usage.get(sonicId) ?? null;
  }

  /** Whether a sonic's usage will still be known after a restart. */
  remembersUsage(sonicId: string): boolean {
    return this.#problem === null || this.#remembered.has(sonicId);
  }

  /** Keeps what was read of a sonic's water: on disk soon where it is news, else with whatever is written next. */
  recordUsage(sonicId: string, record: UsageRecord, isNews: boolean): void {
    this.#usageRead.add(sonicId);
    this.#putUsage(sonicId, record);
    if (isNews) this.#saveIn(laterMs);
  }

  /**
   * Adds the water usage of a sonic that another bridge or an earlier run has counted. What this run shows of it by its own
   * reading is newer than that.
   */
  adoptUsage(sonicId: string, found: UsageRecord, isOwnShown: boolean): void {
    this.#putUsage(sonicId, this.#withUsage(sonicId, found, isOwnShown));
  }

  #putUsage(sonicId: string, record: UsageRecord): void {
    this.#usage.set(sonicId, record);
    this.#isDirty = true;
    this.#isAtRest = false;
  }

  /** What is kept of a sonic's water with what was found. The clock of the run that has read that may have been ahead. */
  #withUsage(sonicId: string, found: UsageRecord, isOwnNewer: boolean): UsageRecord {
    const own = this.#usage.get(sonicId);
    if (!own) return found;
    const isLater = isOwnNewer || own.readAt > found.readAt;
    return isLater ? mergedRecords(found, own) : mergedRecords(own, found);
  }

  /** Forgets a sonic that was removed long ago. */
  forgetUsage(sonicId: string): void {
    this.#usage.delete(sonicId);
    this.#usageRead.delete(sonicId);
    this.#remembered.delete(sonicId);
    this.#isDirty = true;
  }

  /** What is kept of all sonics, by their id. */
  usageRecords(): ReadonlyMap<string, UsageRecord> {
    return this.#usage;
  }

  // ---- water at rest ------------------------------------------------------------------------------------------

  /** When a sonic last measured that no water runs, in Unix seconds; null if that is not kept. */
  restedAt(sonicId: string): number | null {
    return this.#rested.get(sonicId) ?? null;
  }

  /** Keeps when a sonic measured that no water runs: on disk with whatever is written next, as water is that runs again. */
  recordRest(sonicId: string, at: number): void {
    this.#isDirty = true;
    if (!this.#rested.has(sonicId)) this.#saveIn(laterMs);
    this.#rested.set(sonicId, at);
  }

  /** Forgets a sonic that is gone. */
  forgetRest(sonicId: string): void {
    if (this.#rested.delete(sonicId)) this.#isDirty = true;
  }

  // ---- announced devices --------------------------------------------------------------------------------------

  /** Keeps that something of the device, named `kind/id`, is on the broker. */
  recordDevice(key: string): void {
    if (this.#devices.has(key)) return;
    this.#devices.add(key);
    this.#isDirty = true;
    this.#saveIn(laterMs);
  }

  /** Forgets a device of which nothing is on the broker, or that is another bridge's. */
  forgetDevice(key: string): void {
    if (!this.#devices.delete(key)) return;
    this.#isDirty = true;
    this.#saveIn(laterMs);
  }

  /** The devices of which something may be on the broker, as `kind/id`. */
  get devices(): ReadonlySet<string> {
    return this.#devices;
  }

  // ---- base topics --------------------------------------------------------------------------------------------

  /** The base topics below which this run or earlier ones have published. */
  get baseTopics(): ReadonlySet<string> {
    return this.#baseTopics;
  }

  /** Keeps that something is published below the base topic. */
  recordBaseTopic(baseTopic: string): void {
    if (this.#baseTopics.has(baseTopic)) return;
    this.#baseTopics.add(baseTopic);
    this.#saveSoon();
  }

  /** Forgets a base topic below which nothing is left. */
  forgetBaseTopic(baseTopic: string): void {
    if (this.#baseTopics.delete(baseTopic)) this.#saveSoon();
  }

  /** Keeps whether the cloud shows the settings of a kind and property, as `kind/id`. */
  recordSettings(key: string, areShown: boolean): void {
    if (this.#shownSettings.has(key) === areShown) return;
    if (areShown) this.#shownSettings.add(key);
    else this.#shownSettings.delete(key);
    this.#isDirty = true;
    this.#saveIn(laterMs);
  }

  /** Whether the cloud has shown these settings, in this run or an earlier one. */
  hasShownSettings(key: string): boolean {
    return this.#shownSettings.has(key);
  }

  /** Keeps which sonics the cloud lists among those without a hub. */
  recordWifiSonics(ids: readonly string[]): void {
    if (isDeepStrictEqual(ids, this.#wifiSonics)) return;
    this.#wifiSonics = ids;
    this.#isDirty = true;
    this.#saveIn(laterMs);
  }

  /** The sonics without a hub that were listed last: a cloud that refuses their list may still have them. */
  get wifiSonics(): readonly string[] {
    return this.#wifiSonics;
  }

  // ---- writing ------------------------------------------------------------------------------------------------

  #saveNow(): Promise<void> {
    this.#isDirty = true;
    return this.#save();
  }

  #saveSoon(): void {
    void this.#saveNow();
  }

  #saveIn(delayMs: number): void {
    this.#cancelTimer ??= this.#clock.after(delayMs, () => this.#saveSoon());
  }

  /** A disk may hang forever. Then nothing waits for it, and no new write begins until it answers. */
  async #saveInTime(): Promise<void> {
    if (this.#isHanging) {
      this.#saveIn(retryDelayMs);
      return;
    }
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isHanging = true;
    const saving = this.#readAndWrite()
      .then(
        () => this.#noteProblem(this.#isSharedFile ? sharedFile : null),
        (error) => this.#noteProblem(unwritable(describeDiskError(error))),
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
    const state = this.#state();
    const pauses = [...this.pauses.values()];
    const text = textOf(state);
    this.#ownTexts = [...this.#ownTexts.slice(0, 1), ...this.#ownTexts.slice(1).slice(-1), digestOf(text)];
    await this.#disk.write(this.#file, text);
    this.#ownTexts = [digestOf(text)];
    this.#isRead = true;
    for (const pause of pauses) this.#writtenPauses.add(pause);
    if (!this.#hasWritten && this.#lockProblem !== null) this.#log.warn(this.#lockProblem);
    if (!this.#hasWritten && this.#isNew) {
      this.#log.info(
        `${this.#file} is new. Water totals start with the data that the broker and the cloud have`,
      );
    }
    this.#hasWritten = true;
    for (const id of Object.keys(state.usage)) this.#remembered.add(id);
    await this.#writeBackup(state);
  }

  /** The file may be another than the one that this process wrote. */
  async #adoptForeign(): Promise<void> {
    const text = await this.#textIn(this.#file);
    if (text === null || this.#ownTexts.includes(digestOf(text))) return;
    const { writtenAt } = readState(text).state;
    await this.#read();
    const now = this.#clock.monotonic();
    const startedAt = this.#clock.now() - (now - this.#createdAt);
    if (Date.parse(writtenAt ?? '') > startedAt) this.#otherWriterAt = now;
    else this.#log.warn(`${this.#file} is not the file that this bridge wrote. Its data was added`);
  }

  get #isSharedFile(): boolean {
    return this.#clock.monotonic() < this.#otherWriterAt + otherWriterMs;
  }

  /** Two processes would write over what the other has to remember. */
  async #lock(): Promise<void> {
    if (this.#unlock !== null) return;
    try {
      this.#unlock = await this.#disk.lock(this.#directory);
    } catch (error) {
      // It guards against a mistake, and is not needed to remember.
      this.#lockProblem = `data_dir ${this.#directory} cannot be locked (${describeDiskError(error)}). Make sure that no other sonic2mqtt uses it`;
      return;
    }
    this.#lockProblem = null;
    if (this.#unlock === null) throw new Error(sharedFile);
  }

  /**
   * Once a day at most. It is no use to a thief of sessions, and is always a bit behind: what waits to be announced now
   * has been announced when the backup is read, and an event is lost rather than repeated. A pause has ended by then.
   */
  async #writeBackup(state: State): Promise<void> {
    if (Object.keys(state.usage).length === 0 || this.#clock.monotonic() < this.#backupDueAt) return;
    try {
      const announced = [...state.announced, ...state.waiting];
      const backup = { ...state, session: null, announced, waiting: [], pauses: {}, isBehind: true };
      await this.#disk.write(`${this.#file}.bak`, textOf(backup));
      this.#backupDueAt = this.#clock.monotonic() + backupEveryMs;
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
      this.#saveIn(retryDelayMs);
      if (!wasProblem) this.#log.warn(`data_dir ${this.#directory}: ${this.#problem}`);
    } else if (wasProblem) this.#log.info(`data_dir ${this.#directory} works again`);
  }

  #state(): State {
    return {
      session: this.#session && { ...this.#account, ...this.#session },
      announced: [...this.#announced],
      waiting: [...this.#pending],
      accepted: Object.fromEntries(this.#accepted),
      pauses: Object.fromEntries([...this.pauses].map(([id, pause]) => [id, this.#keptPause(pause)])),
      pauseMinutes: Object.fromEntries(this.#pauseMinutes),
      usage: Object.fromEntries(this.#usage),
      rested: Object.fromEntries(this.#rested),
      valves: Object.fromEntries(this.#valves),
      devices: [...this.#devices],
      baseTopics: [...this.#baseTopics],
      wifiSonics: [...this.#wifiSonics],
      shownSettings: [...this.#shownSettings],
      isBehind: !this.#isAtRest,
      writtenAt: new Date(this.#clock.now()).toISOString(),
    };
  }

  #keptPause({ until, endsAt, isOver }: Pause): State['pauses'][string] {
    return { until, leftMs: Math.max(0, endsAt - this.#clock.monotonic()), isOver };
  }

  // ---- reading ------------------------------------------------------------------------------------------------

  /**
   * Reads what an earlier run has kept, each section from the first file that has it whole. Resolves to whether there was
   * anything: a disk may be mounted late. Rejects where there may be a file that cannot be read now, and must not be
   * replaced.
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
      this.#take(state, missing, state.isBehind || damaged.length > 0);
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

  /** Null where there is no file, and empty where there is something that is no text. */
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

  /** Adds sections of a file. Data of this run is newer and stays. */
  #take(state: State, wanted: readonly (keyof State)[], isBehind: boolean): void {
    const { session, announced, waiting, accepted, usage } = state;
    const { baseUrl, email } = this.#account;
    if (wanted.includes('session') && session?.baseUrl === baseUrl && session.email === email) {
      this.#session ??= { token: session.token, since: session.since };
    }
    if (wanted.includes('waiting')) for (const id of waiting) this.#pending.add(id);
    if (wanted.includes('announced')) for (const id of announced) this.#announced.add(id);
    for (const id of this.#announced) this.#pending.delete(id);
    if (wanted.includes('accepted')) {
      for (const [id, kept] of Object.entries(accepted)) {
        this.#accepted.set(id, { ...withoutSecrets(kept), ...this.#accepted.get(id) });
      }
    }
    if (wanted.includes('pauses')) this.#takePauses(state);
    if (wanted.includes('pauseMinutes')) {
      for (const [id, minutes] of Object.entries(state.pauseMinutes)) {
        this.#pauseMinutes.set(id, this.#pauseMinutes.get(id) ?? minutes);
      }
    }
    if (wanted.includes('rested')) {
      for (const [id, at] of Object.entries(state.rested))
        this.#rested.set(id, Math.max(at, this.#rested.get(id) ?? at));
    }
    if (wanted.includes('valves')) {
      for (const [id, kept] of Object.entries(state.valves)) {
        if (!this.#valves.has(id)) this.#valves.set(id, kept);
      }
    }
    if (wanted.includes('baseTopics')) for (const topic of state.baseTopics) this.#baseTopics.add(topic);
    if (wanted.includes('devices')) for (const key of state.devices) this.#devices.add(key);
    if (wanted.includes('shownSettings')) for (const id of state.shownSettings) this.#shownSettings.add(id);
    if (wanted.includes('wifiSonics'))
      this.#wifiSonics = [...new Set([...this.#wifiSonics, ...state.wifiSonics])];
    if (!wanted.includes('usage')) return;
    for (const [id, kept] of Object.entries(usage)) {
      // A sum that is behind must not be shown before the latest month was read again: it would go down.
      const record = isBehind ? { ...kept, isWhole: false } : kept;
      this.#usage.set(id, this.#withUsage(id, record, this.#usageRead.has(id)));
      this.#remembered.add(id);
    }
  }

  /** With a clock that is behind the file, nobody knows how long a pause has lasted: it ends. */
  #takePauses({ pauses, writtenAt }: State): void {
    const isClockBehind = this.#clock.now() < Date.parse(writtenAt ?? '') - maxClockErrorMs;
    for (const [id, { until, leftMs, isOver }] of Object.entries(pauses)) {
      if (this.#pauses.has(id)) continue;
      const endsAt = this.#clock.monotonic() + (isClockBehind ? 0 : leftMs);
      this.#pauses.set(id, { until, endsAt, isOver });
    }
  }
}

/**
 * The settings that are kept. Our own webhook's address comes here with its secret hidden, and would pass for the right
 * one after a change of that secret. It is sent to the cloud once in each run instead.
 */
function withoutSecrets({
  leak_protection_enabled,
  push_enabled,
  webhook_url,
}: State['accepted'][string]): AcceptedSettings {
  return {
    ...(leak_protection_enabled !== undefined && { leak_protection_enabled }),
    ...(push_enabled !== undefined && { push_enabled }),
    ...(webhook_url !== undefined && !webhook_url.includes('[hidden]') && { webhook_url }),
  };
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
