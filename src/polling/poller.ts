import { EventEmitter } from 'node:events';
import type { Random } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import { deferred } from '../base/deferred.ts';
import type { Schedule } from '../base/schedule.ts';
import { CloudError, isPermanent } from '../cloud/errors.ts';
import { byPoll, listPolls, type PollName, pollNames, pollTable, sonicPolls } from '../model/polls.ts';
import { isAvailable } from '../model/reach.ts';
import type { Incident } from '../model/records.ts';
import { Details } from './details.ts';
import { Lists, secondReadingMs } from './lists.ts';
import { localDays } from './localDays.ts';
import { dropUnavailable } from './perDevice.ts';
import { newRun, noneRefused, type PollParts, type PollRun } from './pollParts.ts';
import { incomplete, isAnswered, mergeProblems, type PollFailure, toProblem } from './pollProblem.ts';
import { type PollSchedule, pollSchedule } from './pollSchedule.ts';
import { type PollProgress, PollStatuses } from './pollStatus.ts';
import { PressureTestPoll } from './pressureTests.ts';
import { pollTelemetry, readAfterMovement } from './telemetry.ts';
import { UsagePoll } from './usage.ts';

interface PollerTimes {
  readonly schedules: Readonly<Record<PollName, Schedule>>;
  readonly timezone: string;
  /** How old data may be and still count as fresh, in ms. */
  readonly staleAfterMs: number;
  readonly requestTimeoutMs: number;
}

interface PollerOptions extends PollerTimes, Pick<PollParts, 'client' | 'store' | 'state' | 'clock' | 'log'> {
  readonly random: Random;
}

interface PollerEvents {
  /** A run of a poll has ended. `isComplete` says whether it read everything. */
  readonly ended: [poll: PollName, isComplete: boolean];
  /** The cloud has answered for valves and incidents once, also with an error: those whose property is known can be shown. */
  readonly firstRead: [];
  /** The cloud has answered for all lists once, also with an error. */
  readonly listsAsked: [];
}

/** How often the age of records is checked, in ms: they may become too old between two runs. */
const ageEveryMs = 30_000;

/** The longest wait for the first details, in ms. In a large account, reading them takes minutes. */
const maxDetailsMs = 5_000;

/** How often the progress of the first reading is logged, in ms. */
const progressEveryMs = 10_000;

/** Whether the incident may be about the link of a hub. If a hub is offline, its valves are too. */
function mayConcernHub({ type, signal_id: signalId, sonic_id: sonicId }: Incident): boolean {
  return type === 'cloud_disconnection' || (signalId !== null && sonicId === null);
}

/**
 * Reads the cloud into the store by the configured schedules. Events add single early runs, and a poll that has failed is
 * tried again sooner (`PollSchedule`). Nothing else makes a schedule faster or slower.
 *
 * Each of the seven polls has a schedule (`PollSchedule`) and a status (`PollStatuses`). Four polls read lists
 * (`Lists`), and that of the properties also reads their details (`Details`). The other three ask
 * sonic by sonic (`pollTelemetry`, `UsagePoll`, `PressureTestPoll`). A poll that can read only a part stores that part and
 * reports what is missing. When the cloud is back, all polls that failed because of the outage run again at once.
 */
export class Poller extends EventEmitter<PollerEvents> {
  readonly #parts: PollParts;
  readonly #schedules: Readonly<Record<PollName, PollSchedule>>;
  readonly #lists: Lists;
  readonly #details: Details;
  readonly #usage: UsagePoll;
  readonly #pressureTests: PressureTestPoll;
  readonly #stopping = new AbortController();
  #pause: ReturnType<typeof deferred> | null = null;
  #isFoundLogged = false;
  #cancelAging: () => void = () => {};
  #cancelProgress: () => void = () => {};
  #cancelSecondReading: () => void = () => {};
  #propertiesRead: Promise<void> = Promise.resolve();
  /** Resolves when the first list could be read, or when the poller is stopped. */
  readonly #reached = deferred();
  /** Resolves when the signals of all properties were read once. */
  readonly #located = deferred();
  readonly #polls: Readonly<
    Record<PollName, (run: PollRun, isRetry: boolean) => Promise<PollFailure | null>>
  > = {
    properties: (run) => this.#pollProperties(run),
    signals: async () => incomplete(await this.#lists.signals()),
    sonics: async () => incomplete(await this.#lists.sonics()),
    incidents: async (_run, isRetry) => incomplete(await this.#lists.incidents(isRetry)),
    telemetry: (run) => pollTelemetry(this.#parts, run),
    usage: (run) => this.#usage.poll(run),
    pressure_tests: (run) => this.#pressureTests.poll(run),
  };
  readonly #runs = byPoll(newRun);
  readonly refused = noneRefused();
  readonly statuses: PollStatuses;

  constructor(options: PollerOptions) {
    super();
    const { client, store, state, schedules, timezone, clock, random, log } = options;
    this.#schedules = byPoll((poll) => pollSchedule(schedules[poll], timezone, clock, random));
    const statuses = new PollStatuses(this.#schedules, options, clock);
    this.statuses = statuses;
    const days = localDays(store, state, timezone, clock);
    const { refused } = this;
    const stopping = this.#stopping.signal;
    const parts = { client, store, state, statuses, refused, days, stopping, clock, log };
    this.#parts = parts;
    this.#lists = new Lists(parts);
    store.on('device', ({ event, kind }) => {
      if (event !== 'device_added' || kind !== 'sonic') return;
      for (const poll of ['usage', 'pressure_tests'] as const) void this.runNow(poll);
    });
    store.on('incident', ({ event, record }) => {
      // A leak may have closed its valve, so the valves are read.
      const isNews = event === 'incident_opened' || event === 'incident_closed';
      if (!isNews || !store.places.areListsAsked) return;
      void this.runNow('sonics');
      // Home Assistant sends no commands to the valves of a hub that is back, but shown as offline until it is read.
      const isOffline = (id: string) => {
        const view = store.signalView(id);
        return view !== null && !isAvailable(view.reach);
      };
      if (mayConcernHub(record) || store.ids('signal').some(isOffline)) void this.runNow('signals');
    });
    store.on('moved', (id) => void readAfterMovement(parts, id));
    // If the disk is mounted late, usage of an earlier run is added now.
    state.on('added', () => this.#usage.refreshShown());
    this.#details = new Details(parts);
    this.#usage = new UsagePoll(parts);
    this.#pressureTests = new PressureTestPoll(parts);
    dropUnavailable(client, store);
  }

  /**
   * Starts all polls. Sonics and incidents come before everything that is read device by device, because they show
   * valves and leaks. Resolves once the lists are read and the cloud has answered. `startDetails` starts the rest.
   */
  async start(): Promise<void> {
    const { store, stopping, days } = this.#parts;
    const start = (poll: PollName) => this.#start(poll);
    this.#markStaleLater();
    this.#logProgress(null);
    this.#propertiesRead = start('properties');
    await Promise.all((['signals', 'sonics', 'incidents'] as const).map(start));
    await this.#reached.promise;
    // A list that failed while the cloud was unreachable is read once more before anything is shown without it.
    const isMissing = (poll: PollName) => {
      const { lastSuccessAt, failure } = this.statuses.records[poll];
      return lastSuccessAt === null && failure !== null && !stopping.aborted;
    };
    await Promise.all(listPolls.filter(isMissing).map((poll) => this.runNow(poll)));
    if (stopping.aborted) return;
    this.emit('firstRead');
    await Promise.race([this.#located.promise, this.#propertiesRead]);
    if (isMissing('properties')) await this.runNow('properties');
    if (stopping.aborted) return;
    store.setListsAsked();
    this.#logFound();
    this.emit('listsAsked');
    days.start(() => {
      this.refreshDays();
      void this.runNow('usage');
    });
  }

  /** Starts the polls that read device by device. Resolves after their first runs, or after some seconds. */
  async startDetails(): Promise<void> {
    // The settings of a property name its time zone, so they decide when the days of usage begin.
    const afterProperties = this.#propertiesRead.then(() => {
      const { newHubs, categories } = this.#details;
      return Promise.all([this.#start('usage'), this.#start('pressure_tests'), newHubs(), categories()]);
    });
    const { clock, stopping } = this.#parts;
    const isLong = sleep(clock, maxDetailsMs, stopping).catch(() => undefined);
    await Promise.race([isLong, Promise.all([this.#start('telemetry'), afterProperties])]);
    this.#cancelProgress();
  }

  #start(poll: PollName): Promise<void> {
    return this.#schedules[poll].start((isRetry) => this.#run(poll, isRetry));
  }

  /** Polls everything as soon as possible. If the cloud has rejected the sign-in, tries it again. */
  refresh(): void {
    this.#parts.client.session.signInNow();
    for (const poll of pollNames) void this.runNow(poll);
  }

  /** Runs one poll as soon as possible; resolves after that and never rejects. */
  runNow(poll: PollName): Promise<void> {
    return this.#schedules[poll].runNow();
  }

  /** Not all lists were read once, or the pages of one did not fit together, which is no failure yet. */
  get isFirstReading(): boolean {
    const { store, statuses } = this.#parts;
    const { progress, records } = statuses;
    const isInconsistent = ({ poll }: PollProgress) =>
      listPolls.includes(poll) && records[poll].lastSuccessAt !== null && !records[poll].failure;
    return !store.places.areListsAsked || progress.some(isInconsistent);
  }

  /** While paused, nothing is read: runs that are due wait. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#pause ??= deferred();
    else {
      this.#pause?.resolve();
      this.#pause = null;
    }
  }

  /** Reads the pressure tests of a sonic until a test that was just started shows; never rejects. */
  readNewTest(sonicId: string): Promise<void> {
    return this.#pressureTests.readNewTest(sonicId);
  }

  /** Updates the kept data of each sonic to the current day, even of sonics that this run has not read. */
  refreshDays(): void {
    this.#usage.refresh();
    this.#pressureTests.refresh();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('sonic2mqtt is stopping'));
    this.#reached.resolve();
    this.setPaused(false);
    this.#parts.days.stop();
    this.#cancelAging();
    this.#cancelProgress();
    this.#cancelSecondReading();
    this.#parts.store.setAging(false);
    await Promise.all(pollNames.map((poll) => this.#schedules[poll].stop()));
  }

  /** Runs one poll; resolves to false if it should be retried before its time, and never rejects. */
  async #run(poll: PollName, isRetry: boolean): Promise<boolean> {
    const { store, statuses, stopping, clock, log } = this.#parts;
    await this.#pause?.promise;
    if (stopping.aborted) return true;
    const startedAt = clock.monotonic();
    const before = statuses.records[poll];
    // Without a list of sonics there is nothing to read.
    if (pollTable[poll].isBySonic && statuses.records.sonics.lastSuccessAt === null) return true;
    statuses.begin(poll);
    const isRest = isRetry && before.failure?.kind === 'incomplete';
    const run = isRest ? { ...this.#runs[poll], isRetry } : newRun();
    this.#runs[poll] = run;
    store.setAging(statuses.isCloudAnswering);
    let failure: PollFailure | null;
    try {
      failure = await this.#polls[poll](run, isRetry);
    } catch (error) {
      if (stopping.aborted) return true;
      failure = this.#toFailure(error);
      if (!(error instanceof CloudError))
        log.error({ err: error }, `Internal error: cannot read ${pollTable[poll].label}`);
    }
    statuses.end(poll, failure);
    if (failure?.isInconsistent) log.debug(`Reading ${poll} again soon: ${failure.message}`);
    // After a sleep of the machine, old records become stale before the cloud's data counts as fresh again.
    this.#markStale(startedAt);
    if (isAnswered(failure) && !pollTable[poll].isBySonic) this.#reached.resolve();
    if (store.places.areListsAsked && statuses.records[poll].failure === null) {
      // The cloud is back. What failed because it was unreachable does not wait for its next attempt.
      const isAway = (each: PollName) => statuses.records[each].failure?.kind === 'unavailable';
      const due = before.failure?.kind === 'unavailable' ? pollNames.filter(isAway) : [];
      const isFirstList = poll === 'sonics' && before.lastSuccessAt === null;
      for (const each of isFirstList ? new Set([...due, ...sonicPolls]) : due) void this.runNow(each);
    }
    store.setAging(statuses.isCloudAnswering);
    this.#logFound();
    this.emit('ended', poll, failure === null);
    // The list of properties shows which hubs are in a selected one.
    if (poll === 'signals' || poll === 'properties') {
      this.#cancelSecondReading();
      this.#cancelSecondReading = clock.after(secondReadingMs, () => void this.#lists.lostSignals());
    }
    if (poll === 'sonics') void this.#lists.lostSignals();
    if (poll === 'properties' && !isRest) void this.#details.hubsAndCategories();
    else if (['properties', 'signals'].includes(poll) && store.places.areListsAsked)
      void this.#details.newHubs();
    // What the cloud refuses to show of valves is not requested again before its time.
    return failure === null || (pollTable[poll].isBySonic === true && isPermanent(failure));
  }

  /** Logs every few seconds how much the first reading has read, if that has changed. */
  #logProgress(before: string | null): void {
    const { clock, log } = this.#parts;
    const parts = this.statuses.progress
      .filter(({ read }) => read > 0)
      .map(({ poll, read, total }) => {
        return `${pollTable[poll].label} ${total === null ? read : `${read} of ${Math.max(read, total)}`}`;
      });
    const words = parts.join(', ') || null;
    if (words !== null && words !== before) log.info(`Reading the account: ${words}`);
    this.#cancelProgress = clock.after(progressEveryMs, () => this.#logProgress(words));
  }

  #logFound(): void {
    const { store, log } = this.#parts;
    if (this.#isFoundLogged || !store.places.areListsAsked || !store.isComplete) return;
    this.#isFoundLogged = true;
    const { properties, signals: hubs, sonics: valves, open_incidents: incidents } = store.counts();
    log.info(`Found properties: ${properties}, hubs: ${hubs}, valves: ${valves}, open alerts: ${incidents}`);
  }

  #markStale(at: number): void {
    const times = pollNames.map((poll) => [poll, this.statuses.staleBefore(poll, at)]);
    this.#parts.store.markStale(Object.fromEntries(times));
  }

  #markStaleLater(): void {
    this.#cancelAging = this.#parts.clock.after(ageEveryMs, () => {
      this.#markStale(this.#parts.clock.monotonic());
      this.#markStaleLater();
    });
  }

  #toFailure(error: unknown): PollFailure {
    if (!(error instanceof CloudError)) return { kind: 'unreadable', ...toProblem(error) };
    // The message of a rejected sign-in counts down to the next attempt. The session reports it, once for all polls.
    const isRejected = error.kind === 'auth' && this.#parts.client.session.state.status === 'rejected';
    if (isRejected) return { kind: 'auth', message: 'not signed in', key: 'not signed in' };
    return { kind: error.kind, ...toProblem(error) };
  }

  async #pollProperties(run: PollRun): Promise<PollFailure | null> {
    const problem = await this.#lists.properties();
    // The work for each property has two halves: its signals and its settings.
    const onHalf = (half: 0 | 1) => (read: number, total: number) =>
      this.statuses.recordProgress('properties', Math.floor((half * total + read) / 2), total);
    const owned = await this.#lists.ownedSignals(run, onHalf(0));
    this.#located.resolve();
    const settings = await this.#details.propertySettings(run, onHalf(1));
    // The time zones may have changed.
    this.refreshDays();
    return incomplete(mergeProblems([problem, owned, settings]));
  }
}
