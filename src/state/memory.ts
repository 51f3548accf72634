import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { StoredSession } from '../cloud/session.ts';
import { defaultPauseMinutes, type Pause } from '../model/pause.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { mergedRecords, type UsageRecord } from '../model/usage.ts';
import type { ValveRecord } from '../model/valveCommand.ts';
import type { State } from './stateSchema.ts';

/** The account to which a session belongs. */
export interface SessionOwner {
  readonly baseUrl: string;
  readonly email: string;
}

interface MemoryEvents {
  /** Data that an earlier run, or another process, has kept was added. */
  readonly added: [];
}

/** The delay for data that could be read again, in ms. Fewer writes spare a memory card. */
const laterMs = 60_000;

/** A clock that is behind by less than this, in ms, is only being corrected. */
const maxClockErrorMs = 5_000;

/**
 * The data that survives a restart. All of it is in memory, section by section. Each change says how soon it must be on
 * disk: at once, a minute later, or with the next write.
 */
export abstract class Memory extends EventEmitter<MemoryEvents> {
  readonly #account: SessionOwner;
  protected readonly clock: Clock;
  readonly #announced = new Set<string>();
  readonly #pending = new Set<string>();
  readonly #accepted = new Map<string, AcceptedSettings>();
  /** By property. Null if the pause has ended in this run. Then the file of an earlier run must not bring it back. */
  readonly #pauses = new Map<string, Pause | null>();
  readonly #pauseMinutes = new Map<string, number>();
  /** The pauses that this process has written to the file. */
  readonly #writtenPauses = new WeakSet<Pause>();
  readonly #valves = new Map<string, ValveRecord>();
  readonly #devices = new Set<string>();
  #wifiSonics: readonly string[] = [];
  readonly #shownSettings = new Set<string>();
  readonly #usage = new Map<string, UsageRecord>();
  /** Sonics whose usage this run has read. */
  readonly #usageRead = new Set<string>();
  /** By sonic: when it last measured that no water runs, in Unix seconds. */
  readonly #rested = new Map<string, number>();
  readonly #baseTopics = new Set<string>();
  readonly #discoveryPrefixes = new Set<string>();
  /** Sonics whose usage was read from the file or written to it. */
  readonly #remembered = new Set<string>();
  #session: StoredSession | null = null;
  /** Whether no water usage was read since everything was written. */
  protected isAtRest = false;

  constructor(account: SessionOwner, clock: Clock) {
    super();
    this.#account = account;
    this.clock = clock;
  }

  /** Why the data cannot be written, for people; null if it can. */
  abstract get problem(): string | null;

  /** Writes all data; resolves once it is on disk, or cannot be written. */
  protected abstract saveNow(): Promise<void>;

  /** Writes all data after the delay, unless something else writes it before. */
  protected abstract saveIn(delayMs: number): void;

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

  /** Whether the incident was published at `bridge/event`, but not yet announced at its device. */
  isPending(incidentId: string): boolean {
    return this.#pending.has(incidentId);
  }

  /** Records that the incidents were announced; resolves once that is on disk, or cannot be written. */
  recordAnnounced(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#announced.add(id);
      this.#pending.delete(id);
    }
    return this.saveNow();
  }

  /**
   * Records that the incidents wait to be announced at their devices; resolves once that is on disk, or cannot be
   * written.
   */
  recordPending(incidentIds: readonly string[]): Promise<void> {
    for (const id of incidentIds) {
      this.#pending.add(id);
      this.#announced.delete(id);
    }
    return this.saveNow();
  }

  /** Forgets an incident that is no longer open. If it opens again, it is announced again. */
  forgetIncident(incidentId: string): void {
    const wasPending = this.#pending.delete(incidentId);
    if (this.#announced.delete(incidentId) || wasPending) this.#saveSoon();
  }

  /** Ids of incidents that are announced or pending. */
  incidentIds(): string[] {
    return [...this.#announced, ...this.#pending];
  }

  // ---- accepted settings --------------------------------------------------------------------------------------

  /** The kept settings of a property that the cloud has accepted but does not show. */
  acceptedBy(propertyId: string): AcceptedSettings {
    return this.#accepted.get(propertyId) ?? {};
  }

  /** Keeps settings of a property that the cloud has accepted. */
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

  /** The pauses that have not ended, or whose end is not confirmed, by property. */
  get pauses(): ReadonlyMap<string, Pause> {
    return new Map([...this.#pauses].flatMap(([id, pause]) => (pause ? [[id, pause]] : [])));
  }

  /** Keeps a pause; null forgets it. Resolves to whether the change is on disk, safe from a power cut. */
  async recordPause(propertyId: string, pause: Pause | null): Promise<boolean> {
    this.#pauses.set(propertyId, pause);
    await this.saveNow();
    return this.problem === null && (pause === null || this.#writtenPauses.has(pause));
  }

  /**
   * Keeps a pause that an earlier run has published, unless this run already has a pause of the property, or its end.
   */
  adoptPause(propertyId: string, { until, isOver }: Pick<Pause, 'until' | 'isOver'>): Pause | null {
    if (this.#pauses.has(propertyId)) return null;
    const endsAt = this.clock.monotonic() + Math.max(0, until - this.clock.now());
    const pause = { until, endsAt, isOver };
    void this.recordPause(propertyId, pause);
    return pause;
  }

  /** How long a pause of the property lasts if the command names no time, in minutes. */
  pauseMinutesOf(propertyId: string): number {
    return this.#pauseMinutes.get(propertyId) ?? defaultPauseMinutes;
  }

  recordPauseMinutes(propertyId: string, minutes: number): void {
    this.#pauseMinutes.set(propertyId, minutes);
    this.#saveSoon();
  }

  // ---- valves -------------------------------------------------------------------------------------------------

  /** The kept commands and movements of a valve; null if there are none. */
  valveRecord(sonicId: string): ValveRecord | null {
    return this.#valves.get(sonicId) ?? null;
  }

  /** Keeps the commands and movements of a valve. */
  recordValve(sonicId: string, record: ValveRecord): void {
    if (isDeepStrictEqual(this.#valves.get(sonicId), record)) return;
    this.#valves.set(sonicId, record);
    this.#saveSoon();
  }

  /** Forgets a valve that is gone. */
  forgetValve(sonicId: string): void {
    if (this.#valves.delete(sonicId)) this.#saveSoon();
  }

  /** Whether this run or an earlier one has published the incident. */
  isKnownIncident(incidentId: string): boolean {
    return this.#announced.has(incidentId) || this.#pending.has(incidentId);
  }

  // ---- usage --------------------------------------------------------------------------------------------------

  /** The water usage that was read of a sonic; null if it was never read. */
  usageOf(sonicId: string): UsageRecord | null {
    return this.#usage.get(sonicId) ?? null;
  }

  /** Whether a sonic's usage will still be known after a restart. */
  remembersUsage(sonicId: string): boolean {
    return this.problem === null || this.#remembered.has(sonicId);
  }

  /**
   * Keeps the water usage that was read of a sonic. If it is news, it is written within a minute, otherwise with the
   * next write.
   */
  recordUsage(sonicId: string, record: UsageRecord, isNews: boolean): void {
    this.#usageRead.add(sonicId);
    this.#putUsage(sonicId, record);
    if (isNews) this.#saveLater();
  }

  /**
   * Adds the water usage of a sonic that another bridge or an earlier run has counted. If this run already shows the
   * sonic's usage from its own reading (`isOwnShown`), its own data is newer.
   */
  adoptUsage(sonicId: string, found: UsageRecord, isOwnShown: boolean): void {
    this.#putUsage(sonicId, this.#withUsage(sonicId, found, isOwnShown));
  }

  #putUsage(sonicId: string, record: UsageRecord): void {
    this.#usage.set(sonicId, record);
    this.isAtRest = false;
  }

  /**
   * Merges kept and found usage of a sonic. `readAt` alone does not decide, because the clock of the other run may have
   * been ahead.
   */
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
  }

  /** The kept usage of all sonics, by their id. */
  usageRecords(): ReadonlyMap<string, UsageRecord> {
    return this.#usage;
  }

  // ---- water at rest ------------------------------------------------------------------------------------------

  /** When a sonic last measured that no water runs, in Unix seconds; null if no time is kept. */
  restedAt(sonicId: string): number | null {
    return this.#rested.get(sonicId) ?? null;
  }

  /**
   * Keeps when a sonic measured that no water runs. The first time of a sonic is written within a minute, later ones
   * with the next write.
   */
  recordRest(sonicId: string, at: number): void {
    if (!this.#rested.has(sonicId)) this.#saveLater();
    this.#rested.set(sonicId, at);
  }

  /** Forgets a sonic that is gone. */
  forgetRest(sonicId: string): void {
    this.#rested.delete(sonicId);
  }

  // ---- announced devices --------------------------------------------------------------------------------------

  /** Records that the broker has messages of the device, named `kind/id`. */
  recordDevice(key: string): void {
    if (this.#devices.has(key)) return;
    this.#devices.add(key);
    this.#saveLater();
  }

  /** Forgets a device that has no messages on the broker, or that belongs to another bridge. */
  forgetDevice(key: string): void {
    if (!this.#devices.delete(key)) return;
    this.#saveLater();
  }

  /** The devices, as `kind/id`, that may have messages on the broker. */
  get devices(): ReadonlySet<string> {
    return this.#devices;
  }

  // ---- base topics --------------------------------------------------------------------------------------------

  /** The base topics under which this run or earlier ones have published. */
  get baseTopics(): ReadonlySet<string> {
    return this.#baseTopics;
  }

  /** Records that something is published under the base topic. */
  recordBaseTopic(baseTopic: string): void {
    if (this.#baseTopics.has(baseTopic)) return;
    this.#baseTopics.add(baseTopic);
    this.#saveSoon();
  }

  /** Forgets a base topic under which nothing is left. */
  forgetBaseTopic(baseTopic: string): void {
    if (this.#baseTopics.delete(baseTopic)) this.#saveSoon();
  }

  /** The discovery prefixes under which this run or earlier ones have published. */
  get discoveryPrefixes(): ReadonlySet<string> {
    return this.#discoveryPrefixes;
  }

  /** Records that something is published under the discovery prefix. */
  recordDiscoveryPrefix(prefix: string): void {
    if (this.#discoveryPrefixes.has(prefix)) return;
    this.#discoveryPrefixes.add(prefix);
    this.#saveSoon();
  }

  /** Forgets a discovery prefix under which nothing is left. */
  forgetDiscoveryPrefix(prefix: string): void {
    if (this.#discoveryPrefixes.delete(prefix)) this.#saveSoon();
  }

  /** Records whether the cloud shows the settings with this key: `settings/id` or `notifications/id` of a property. */
  recordSettings(key: string, areShown: boolean): void {
    if (this.#shownSettings.has(key) === areShown) return;
    if (areShown) this.#shownSettings.add(key);
    else this.#shownSettings.delete(key);
    this.#saveLater();
  }

  /** Whether the cloud has shown these settings, in this run or an earlier one. */
  hasShownSettings(key: string): boolean {
    return this.#shownSettings.has(key);
  }

  /** Keeps the ids of the sonics that the cloud lists as having no hub. */
  recordWifiSonics(ids: readonly string[]): void {
    if (isDeepStrictEqual(ids, this.#wifiSonics)) return;
    this.#wifiSonics = ids;
    this.#saveLater();
  }

  /** Adds sonics without a hub that an earlier run has kept or published. */
  adoptWifiSonics(ids: readonly string[]): void {
    this.recordWifiSonics([...new Set([...this.#wifiSonics, ...ids])]);
  }

  /** The sonics without a hub in the last list. If the cloud later refuses this list, it may still have the sonics. */
  get wifiSonics(): readonly string[] {
    return this.#wifiSonics;
  }

  // ---- as one ---------------------------------------------------------------------------------------------------

  /** All data in the format of the file. */
  protected state(): State {
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
      discoveryPrefixes: [...this.#discoveryPrefixes],
      wifiSonics: [...this.#wifiSonics],
      shownSettings: [...this.#shownSettings],
      isBehind: !this.isAtRest,
      writtenAt: new Date(this.clock.now()).toISOString(),
    };
  }

  #keptPause({ until, endsAt, isOver }: Pause): State['pauses'][string] {
    return { until, leftMs: Math.max(0, endsAt - this.clock.monotonic()), isOver };
  }

  /** Adds the wanted sections of a file. Data of this run is newer and stays. */
  protected take(state: State, wanted: readonly (keyof State)[], isBehind: boolean): void {
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
    if (wanted.includes('discoveryPrefixes'))
      for (const prefix of state.discoveryPrefixes) this.#discoveryPrefixes.add(prefix);
    if (wanted.includes('devices')) for (const key of state.devices) this.#devices.add(key);
    if (wanted.includes('shownSettings')) for (const id of state.shownSettings) this.#shownSettings.add(id);
    if (wanted.includes('wifiSonics'))
      this.#wifiSonics = [...new Set([...this.#wifiSonics, ...state.wifiSonics])];
    for (const [id, kept] of Object.entries(wanted.includes('usage') ? usage : {})) {
      // If the file is behind, its sum may be lower than the last published one. It must not be shown before the latest
      // month was read again.
      const record = isBehind ? { ...kept, isWhole: false } : kept;
      this.#usage.set(id, this.#withUsage(id, record, this.#usageRead.has(id)));
      this.#remembered.add(id);
    }
    this.emit('added');
  }

  /**
   * An earlier run may have counted water that it could not write. So no sum is shown before the months are read again.
   */
  protected markBehind(): void {
    for (const [id, record] of this.#usage)
      if (record.isWhole && !this.#usageRead.has(id)) this.#usage.set(id, { ...record, isWhole: false });
    this.emit('added');
  }

  /**
   * Adds the pauses of a file. If the clock is behind the file, nobody knows how long a pause has lasted, so it ends.
   */
  #takePauses({ pauses, writtenAt }: State): void {
    const isClockBehind = this.clock.now() < Date.parse(writtenAt ?? '') - maxClockErrorMs;
    for (const [id, { until, leftMs, isOver }] of Object.entries(pauses)) {
      if (this.#pauses.has(id)) continue;
      const endsAt = this.clock.monotonic() + (isClockBehind ? 0 : leftMs);
      this.#pauses.set(id, { until, endsAt, isOver });
    }
  }

  /** Records that this state is on disk now. */
  protected noteWritten({ usage }: State, pauses: Iterable<Pause>): void {
    for (const id of Object.keys(usage)) this.#remembered.add(id);
    for (const pause of pauses) this.#writtenPauses.add(pause);
  }

  #saveSoon(): void {
    void this.saveNow();
  }

  #saveLater(): void {
    this.saveIn(laterMs);
  }
}

/**
 * The settings that may be kept. The address of our own webhook comes here with its secret hidden. If the secret
 * changed, the kept address would still look like the right one. So it is not kept, but sent to the cloud once in each
 * run.
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
