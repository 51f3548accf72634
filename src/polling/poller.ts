import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Schedule } from '../base/schedule.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError, isPermanent } from '../cloud/errors.ts';
import type { HowFar } from '../cloud/listAll.ts';
import type { Call, ListName, RecordOf } from '../cloud/operations.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Happening, Reading, Store } from '../store/store.ts';
import { FirstReading, type SliceProgress } from './firstReading.ts';
import { flawOf, flawOfList, together } from './flaw.ts';
import { agesUntil } from './freshness.ts';
import { MissingIncidents } from './missingIncidents.ts';
import { PropertyPolls } from './propertyPolls.ts';
import { Recurring } from './recurring.ts';
import {
  type Failure,
  incomplete,
  isSonicSlice,
  neverPolled,
  type Slice,
  type SliceRecord,
  slices,
  sonicSlices,
  vitalSlices,
} from './slices.ts';
import { SonicPolls } from './sonicPolls.ts';
import { readWifiSonics } from './wifiList.ts';

/** When and how patiently is asked. */
export interface PollerTimes {
  readonly schedules: Readonly<Record<Slice, Schedule>>;
  readonly timezone: string;
  /** How old a success may be and still count as fresh, in ms. */
  readonly staleAfterMs: number;
  readonly requestTimeoutMs: number;
}

export interface PollerOptions extends PollerTimes {
  readonly client: CloudClient;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly happened: (happenings: readonly Happening[]) => void;
  /** A slice was polled, and all of it was read or not. */
  readonly polled: (slice: Slice, isWhole: boolean) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How many polls of a slice ended how: all was read, not all of it, nothing. */
export interface PollCounts {
  readonly success: number;
  readonly incomplete: number;
  readonly failure: number;
}

const noPolls: PollCounts = { success: 0, incomplete: 0, failure: 0 };

/** How long the first round waits for what is asked for thing by thing. */
const patienceMs = 2_000;

/** How a poll went: null is well; what is incomplete was still taken in as far as it could be read. */
type Outcome = Failure | null;

/**
 * Asks the cloud, slice by slice, each by the schedule that the user wrote: nothing makes it slower or faster, and what
 * happens only adds single early polls. The only one that takes in lists; what is heard singly is weighed by age.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #recurring: Readonly<Record<Slice, Recurring>>;
  readonly #records: Record<Slice, SliceRecord> = {
    properties: neverPolled,
    signals: neverPolled,
    sonics: neverPolled,
    incidents: neverPolled,
    telemetry: neverPolled,
    usage: neverPolled,
    pressure_tests: neverPolled,
  };
  readonly #counts = new Map<Slice, PollCounts>();
  readonly #underWay = new Set<Slice>();
  readonly #firstReading = new FirstReading();
  /** Since when the pages of a list have not fitted together, in ms of the monotonic clock. */
  readonly #inDoubtSince = new Map<Slice, number>();
  readonly #propertyPolls: PropertyPolls;
  readonly #sonicPolls: SonicPolls;
  readonly #missingIncidents: MissingIncidents;
  readonly #longestPeriodsMs = new Map<Slice, number>();
  readonly #stopping = new AbortController();
  #isStarted = false;
  #onReached: () => void = () => {};
  /** Resolves when a list could be read for the first time, and when this is stopped. */
  readonly #reached = new Promise<void>((resolve) => {
    this.#onReached = resolve;
  });
  #onLocated: () => void = () => {};
  /** Resolves when it was asked for the first time in which property each signal is. */
  readonly #located = new Promise<void>((resolve) => {
    this.#onLocated = resolve;
  });
  readonly #polls: Readonly<Record<Slice, () => Promise<Outcome>>> = {
    properties: () => this.#pollProperties(),
    signals: () => this.#pollSignals(),
    sonics: () => this.#pollSonics(),
    incidents: () => this.#pollIncidents(),
    telemetry: () => this.#sonicPolls.poll('telemetry'),
    usage: () => this.#sonicPolls.poll('usage'),
    pressure_tests: () => this.#sonicPolls.poll('pressure_tests'),
  };

  constructor(options: PollerOptions) {
    this.#options = options;
    const { client, store, ledger, schedules, timezone, clock, random, log } = options;
    this.#client = client;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    const { signal } = this.#stopping;
    this.#propertyPolls = new PropertyPolls({
      client,
      store,
      signal,
      howFar: (read, total) => this.#firstReading.note('properties', read, total),
      clock,
    });
    this.#missingIncidents = new MissingIncidents(client, signal);
    this.#sonicPolls = new SonicPolls({
      client,
      store,
      ledger,
      timezone,
      signal,
      periodMs: (slice) => this.#periodMs(slice),
      allowedMs: (slice) => this.allowedMs(slice),
      agesUntil: (slice) => agesUntil(slice, this.#records),
      isCloudThere: () =>
        !vitalSlices.some((slice) => this.#underWay.has(slice)) &&
        agesUntil('telemetry', this.#records) > Number.NEGATIVE_INFINITY,
      newDay: () => this.#recurring.usage.request(),
      howFar: (slice, read, total) => this.#firstReading.note(slice, read, total),
      clock,
      log,
    });
    const recurring = (slice: Slice) =>
      new Recurring(() => this.#poll(slice), schedules[slice], timezone, clock, random);
    this.#recurring = {
      properties: recurring('properties'),
      signals: recurring('signals'),
      sonics: recurring('sonics'),
      incidents: recurring('incidents'),
      telemetry: recurring('telemetry'),
      usage: recurring('usage'),
      pressure_tests: recurring('pressure_tests'),
    };
  }

  /**
   * Polls everything, resolving after the first time that the cloud showed anything, and from then on by the
   * schedules.
   */
  async start(): Promise<void> {
    await this.#round((slice) => this.#recurring[slice].start());
    await this.#reached;
    // What failed while the cloud was away, or at its edge, is tried once more before anything is shown without it.
    const failed = slices.filter((slice) => {
      const { lastSuccessAt, failure } = this.#records[slice];
      return lastSuccessAt === null && failure !== null;
    });
    const isMissing = (slice: Slice) =>
      // What only takes its time is not asked for twice.
      failed.includes(isSonicSlice(slice) ? 'sonics' : slice) && !this.#stopping.signal.aborted;
    await this.#round(async (slice) => {
      if (isMissing(slice)) await this.#recurring[slice].run();
    });
    this.#isStarted = true;
    this.#sonicPolls.start();
  }

  async #round(poll: (slice: Slice) => Promise<void>): Promise<void> {
    const properties = poll('properties');
    const located = Promise.race([this.#located, properties]);
    // Which property a signal belongs to is told by the property: asked first, nothing is shown twice. Valves and leaks
    // do not wait for it as long as it takes; but where only some properties are shown, nobody knows whose they are.
    const isPart = this.#store.isFiltered || this.#store.neighbourhood.isShared;
    await (isPart ? located : this.#patiently(located));
    await Promise.all((['signals', 'sonics', 'incidents'] as const).map(poll));
    // When the days of usage begin is told by the settings.
    const figures = properties.then(() => Promise.all((['usage', 'pressure_tests'] as const).map(poll)));
    // It decides which entities there are; but asking for thousands takes its time.
    await this.#patiently(Promise.all([poll('telemetry'), figures]));
  }

  async #patiently(task: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(patienceMs, resolve);
      void task.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Polls everything as soon as it can. */
  refresh(): void {
    for (const slice of slices) this.#recurring[slice].request();
  }

  /** Polls one slice as soon as it can. */
  request(slice: Slice): void {
    this.#recurring[slice].request();
  }

  /** Polls one slice as soon as it can, resolving after that, well or not. */
  read(slice: Slice): Promise<void> {
    return this.#recurring[slice].run();
  }

  /** Reads the pressure tests of a sonic until one shows that was just started; never rejects. */
  readNewTest(sonicId: string): Promise<void> {
    return this.#sonicPolls.readNewTest(sonicId);
  }

  /** Polls no more; what is under way is given up. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the bridge stops'));
    this.#onReached();
    this.#sonicPolls.stop();
    await Promise.all(slices.map((slice) => this.#recurring[slice].stop()));
  }

  /** How the polls of each slice went. */
  get records(): Readonly<Record<Slice, SliceRecord>> {
    return this.#records;
  }

  /** How far the first reading is of each slice that was not read yet. */
  get progress(): readonly SliceProgress[] {
    return this.#firstReading.progress;
  }

  /** How many polls of a slice ended how. */
  counts(slice: Slice): PollCounts {
    return this.#counts.get(slice) ?? noPolls;
  }

  /** How long a slice may be missed by its polls: one that fails makes nothing old, however seldom they are. */
  allowedMs(slice: Slice): number {
    return Math.max(this.#options.staleAfterMs, 2 * this.#periodMs(slice));
  }

  /** Never rejects; says whether all was read. */
  async #poll(slice: Slice): Promise<boolean> {
    const startedAt = this.#clock.monotonic();
    const before = this.#records[slice];
    // Without sonics there is nobody to ask.
    if (isSonicSlice(slice) && this.#records.sonics.lastSuccessAt === null) return true;
    let failure: Outcome;
    this.#underWay.add(slice);
    try {
      failure = await this.#polls[slice]();
    } catch (error) {
      if (this.#stopping.signal.aborted) return true;
      failure = this.#failureOf(error);
      if (!(error instanceof CloudError)) this.#log.error({ err: error }, `Polling ${slice} went wrong`);
    }
    this.#underWay.delete(slice);
    const isRead = failure === null || failure.kind === 'incomplete';
    const isWhole = failure === null;
    const isMoving = this.#isOnlyMoving(slice, failure);
    if (isMoving) failure = null;
    else if (isRead) this.#firstReading.done(slice);
    this.#records[slice] = {
      lastSuccessAt: isRead ? this.#clock.now() : before.lastSuccessAt,
      freshUntil: isRead ? this.#freshUntil(slice, startedAt) : before.freshUntil,
      answeredAt: isRead ? startedAt : before.answeredAt,
      failure,
      consecutiveFailures: failure === null ? 0 : before.consecutiveFailures + 1,
    };
    const outcome = isWhole ? 'success' : isRead ? 'incomplete' : 'failure';
    const counts = this.counts(slice);
    this.#counts.set(slice, { ...counts, [outcome]: counts[outcome] + 1 });
    if (!isRead) this.#store.missed(slice, Math.min(startedAt, agesUntil(slice, this.#records)));
    if (isRead && !isSonicSlice(slice)) this.#onReached();
    if (this.#isStarted && failure === null) {
      if (before.failure?.kind === 'unavailable') this.#retryFailing(slice);
      if (slice === 'sonics' && before.lastSuccessAt === null) {
        for (const each of sonicSlices) this.#recurring[each].request();
      }
    }
    this.#sonicPolls.expireTelemetry();
    this.#options.polled(slice, isWhole);
    return isWhole;
  }

  /**
   * A list that changes while it is read is one of a busy account, and is read again soon: that it could not be read at
   * once is no failure, unless it goes on for long.
   */
  #isOnlyMoving(slice: Slice, failure: Outcome): boolean {
    if (failure?.isInDoubt !== true) {
      this.#inDoubtSince.delete(slice);
      return false;
    }
    const now = this.#clock.monotonic();
    const since = this.#inDoubtSince.get(slice) ?? now;
    this.#inDoubtSince.set(slice, since);
    this.#log.debug(`Reading ${slice} again soon: ${failure.words}`);
    return now - since < this.allowedMs(slice);
  }

  #failureOf(error: unknown): Failure {
    if (!(error instanceof CloudError)) return { kind: 'unreadable', ...flawOf(error) };
    // Its words count the time to the next attempt, which the session's state tells once for all.
    const isRejected = error.kind === 'auth' && this.#client.sessionState().status === 'rejected';
    const flaw = isRejected ? { words: 'not signed in', gist: 'not signed in' } : flawOf(error);
    return { kind: error.kind, ...flaw };
  }

  /** Data is fresh until it is too old, but never before the schedule had the chance to renew it. */
  #freshUntil(slice: Slice, startedAt: number): number {
    const renewedAt = this.#recurring[slice].dueAfter(startedAt) + this.#options.requestTimeoutMs;
    return Math.max(this.#clock.monotonic() + this.#options.staleAfterMs, renewedAt);
  }

  /** The cloud is back: what failed with it need not wait for its own next attempt. */
  #retryFailing(recovered: Slice): void {
    for (const slice of slices) {
      if (slice !== recovered && this.#records[slice].failure?.kind === 'unavailable') {
        this.#recurring[slice].request();
      }
    }
  }

  async #pollSignals(): Promise<Outcome> {
    try {
      return await this.#pollList('signals', { operation: 'list_signals' }, (reading) =>
        this.#store.replaceSignals(reading),
      );
    } catch (error) {
      if (isPermanent(error)) this.#store.dropSignals();
      throw error;
    }
  }

  /** The cloud has two lists of sonics; that of those without a hub must not hold up the other. */
  async #pollSonics(): Promise<Outcome> {
    let isWifiRead = false;
    const areSomeKnown = () => this.#store.ids('sonic').some((id) => this.#store.isWifi(id));
    const wifiRead = readWifiSonics(this.#client, areSomeKnown, this.#stopping.signal).finally(() => {
      isWifiRead = true;
    });
    const outcome = await this.#pollList('sonics', { operation: 'list_sonics' }, async (reading) => {
      if (!isWifiRead) this.#options.happened(this.#newSonics(this.#store.seeSonics(reading)));
      const wifi = await wifiRead;
      return this.#stopping.signal.aborted ? [] : this.#newSonics(this.#store.replaceSonics(reading, wifi));
    });
    const { problem } = await wifiRead;
    const wifiFlaw = problem && { ...problem, words: `Wi-Fi sonics: ${problem.words}` };
    return incomplete(together([outcome, wifiFlaw]));
  }

  /** What a sonic that is new has used and tested is read soon. */
  #newSonics(happenings: Happening[]): Happening[] {
    if (happenings.some(({ event }) => event === 'device_added')) {
      this.#recurring.usage.request();
      this.#recurring.pressure_tests.request();
    }
    return happenings;
  }

  /**
   * An incident that the list of open ones misses is asked for. So is one that an incomplete list misses, once it has
   * been so for too long: it must not stay open for ever.
   */
  async #pollIncidents(): Promise<Outcome> {
    return this.#pollList(
      'incidents',
      { operation: 'list_incidents', query: { open: true } },
      async (reading) => {
        const { isComplete } = reading;
        const isAsked = isComplete || !this.#store.areIncidentsKnown;
        const missing = isAsked ? this.#store.incidentsMissingFrom(reading.records) : [];
        const found = await this.#missingIncidents.ask(missing, isComplete);
        return this.#store.replaceIncidents({ ...reading, records: [...reading.records, ...found] });
      },
    );
  }

  async #pollList<Name extends ListName>(
    slice: Slice,
    call: Call<Name>,
    take: (reading: Reading<RecordOf<Name>>) => Happening[] | Promise<Happening[]>,
  ): Promise<Outcome> {
    const startedAt = this.#clock.monotonic();
    const onPage = (_pages: HowFar, { read, announced }: HowFar) => {
      // What else is asked of each property takes longer than the list.
      this.#firstReading.note(slice, slice === 'properties' ? 0 : read, announced);
    };
    const crawl = await this.#client.listAll(call, { signal: this.#stopping.signal, onPage });
    if (this.#stopping.signal.aborted) return null;
    const happenings = await take({ records: crawl.records, isComplete: crawl.complete, startedAt });
    if (this.#stopping.signal.aborted) return null;
    this.#options.happened(happenings);
    return incomplete(flawOfList(crawl));
  }

  async #pollProperties(): Promise<Outcome> {
    const outcome = await this.#pollList('properties', { operation: 'list_properties' }, (reading) =>
      this.#store.replaceProperties(reading),
    );
    const owned = await this.#propertyPolls.ownedSignals();
    if (owned.isAnyUnsettled) this.#recurring.properties.request();
    if (owned.isNews && this.#records.signals.lastSuccessAt !== null) {
      for (const slice of ['signals', 'sonics'] as const) this.#recurring[slice].request();
    }
    this.#onLocated();
    const details = await this.#propertyPolls.details();
    this.#sonicPolls.refreshDays();
    return incomplete(together([outcome, ...owned.flaws, ...details]));
  }

  /** From one poll to the next, as far as that has shown: a cron expression tells of no more than the next. */
  #periodMs(slice: Slice): number {
    const now = this.#clock.monotonic();
    const dueMs = this.#recurring[slice].dueAfter(now) - now;
    const periodMs = Math.max(dueMs, this.#longestPeriodsMs.get(slice) ?? 0);
    this.#longestPeriodsMs.set(slice, periodMs);
    return periodMs;
  }
}
