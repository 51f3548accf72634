import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HealthStatus } from '../model/devices.ts';
import type { PollName, PollStatus } from '../polling/pollStatus.ts';
import { freshUntil } from '../polling/pollStatus.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import {
  accountWarnings,
  emptyAccountWarning,
  outdatedFilterWarnings,
  unassignedWarnings,
} from './accountWarnings.ts';
import {
  evaluateHealth,
  type HealthInputs,
  type HealthReport,
  healthFingerprint,
  healthPayload,
} from './health.ts';

/** A cloud that takes longer to give its first answer is worth a word. */
const firstAnswerMs = 2_000;

/** What the monitor tells its owner. */
export interface MonitorEvents {
  /** Something that it shows has changed. */
  readonly changed: () => void;
  readonly tell: (event: 'auth_failed' | 'cloud_online' | 'cloud_offline', fields: object) => void;
}

/** What the monitor looks at. */
export interface HealthSources {
  readonly client: CloudClient;
  readonly state: StateFile;
  readonly store: Store;
  readonly records: () => Readonly<Record<PollName, PollStatus>>;
  /** Whether everything was read once, and completely. */
  readonly isAllRead: () => boolean;
  /** Why there is no connection to the broker, in words; null while there is one. */
  readonly brokerProblem: () => string | null;
  /** What else is wrong, in words. */
  readonly troubles: () => readonly string[];
}

/** Knows how the bridge fares and whether the cloud's data is fresh, and says so when that changes. */
export class HealthMonitor {
  readonly #watched: HealthSources;
  readonly #events: MonitorEvents;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #cloudOutage: OutageLog;
  /** Problems and notes that the log has of late. */
  readonly #said = new Set<string>();
  /** Whether the log has a problem, and not yet that all is well again. */
  #isWrong = false;
  #judgement: HealthReport | null = null;
  #payload: object | null = null;
  #fingerprint = '';
  #isCloudFresh = false;
  #isStopped = false;
  #cancelStaleTimer: () => void = () => {};
  #cancelFirstLook: () => void = () => {};

  constructor(watched: HealthSources, events: MonitorEvents, clock: Clock, log: Log) {
    this.#watched = watched;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
    this.#cloudOutage = new OutageLog(clock, log, 'Cloud');
  }

  /** Null until the cloud has answered, or has had the time to. */
  get status(): HealthStatus | null {
    return this.#judgement?.status ?? null;
  }

  /** Whether what is shown can be trusted to be the cloud's present word. */
  get isCloudFresh(): boolean {
    return this.#isCloudFresh;
  }

  /** How the bridge fares, in words; null where there is nothing to say. */
  get reason(): string | null {
    return this.#judgement?.reason ?? null;
  }

  /** What is said of the cloud alone; null where there is nothing to say. */
  get cloudReason(): string | null {
    return this.#judgement?.cloudReason ?? null;
  }

  /** The payload of `bridge/health`; the same until an outcome changes, null while there is nothing to say. */
  get payload(): object | null {
    return this.#payload;
  }

  /** Judges without an answer of the cloud, should none come soon. */
  start(): void {
    this.#cancelFirstLook = this.#clock.after(firstAnswerMs, () => this.look());
  }

  /** Judges anew; to be called after each poll. */
  look(): void {
    if (this.#isStopped) return;
    this.#cancelFirstLook();
    const symptoms = this.#symptoms();
    const before = this.#judgement;
    this.#judgement = evaluateHealth(symptoms);
    this.#sayInLog(this.#judgement, symptoms);
    const fingerprint = healthFingerprint(symptoms);
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      this.#payload = healthPayload(symptoms);
      this.#events.changed();
    }
    const { status, reason } = this.#judgement;
    if (status === 'auth_failed' && before?.status !== status) this.#events.tell('auth_failed', { reason });
    this.#lookAtFreshness();
  }

  /** Says nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelFirstLook();
    this.#cancelStaleTimer();
  }

  #lookAtFreshness(): void {
    const leftMs = freshUntil(this.#watched.records()) - this.#clock.monotonic();
    this.#cancelStaleTimer();
    if (leftMs > 0) this.#cancelStaleTimer = this.#clock.after(leftMs + 1, () => this.#lookAtFreshness());
    const isFresh = leftMs > 0;
    if (isFresh === this.#isCloudFresh) return;
    this.#isCloudFresh = isFresh;
    if (!isFresh) {
      this.#log.warn('The cloud has said nothing new for too long: values are shown as unavailable');
    }
    if (isFresh) this.#events.tell('cloud_online', { reason: null });
    else this.#events.tell('cloud_offline', { reason: this.#wordsOfSilence() });
    this.#events.changed();
  }

  /** Why the cloud's data is not fresh; a record that is amiss, or a note, is no reason for that. */
  #wordsOfSilence(): string {
    const { status, cloudReason: reason } = this.#judgement ?? {};
    const isOutage = status === 'cloud_unreachable' || status === 'auth_failed';
    return (isOutage && reason) || 'the cloud has said nothing new for too long';
  }

  /**
   * What is wrong or worth knowing is said when it comes, and once more when all is well, which takes the broker, and
   * that everything was read; an outage as a whole. Of the broker the connection tells by itself, of data_dir the state file.
   */
  #sayInLog(
    { status, cloudReason, problems, notes }: HealthReport,
    { stateProblem, rejectedUntil }: HealthInputs,
  ): void {
    const isAway = status === 'cloud_unreachable' || status === 'auth_failed';
    const isWrong = isAway || problems.length > 0;
    if (!isAway) this.#cloudOutage.recovered();
    if (!isWrong && (status !== 'ok' || !this.#watched.isAllRead())) return;
    const isOver = !isWrong && this.#isWrong;
    if (isOver) this.#said.clear();
    if (stateProblem !== null) this.#said.add(stateProblem);
    const news = [...problems, ...notes].filter((words) => !this.#said.has(words));
    for (const words of [...problems, ...notes]) this.#said.add(words);
    this.#isWrong = isWrong;
    // A rejection stays the same one, whether the cloud has said it again or nobody may ask yet.
    const gist = rejectedUntil === null ? `${status} ${problems[0]}` : status;
    if (isAway) this.#cloudOutage.failed(cloudReason ?? status, gist);
    else if (isWrong && news.length > 0) this.#log.warn(`Not all is well: ${cloudReason}`);
    else if (isOver || (!isWrong && news.length > 0)) {
      this.#log.info(cloudReason === null ? 'Everything works' : `Everything works; ${cloudReason}`);
    }
  }

  #symptoms(): HealthInputs {
    const { client, state, store, records, brokerProblem, troubles } = this.#watched;
    const isAsked = records().properties.lastSuccessAt !== null;
    const { status, nextAttemptAt } = client.sessionState();
    const problems = client.problems();
    const wordsOf = (level: 'info' | 'warn') =>
      problems.filter((problem) => problem.level === level).map(({ words }) => words);
    const emptiness = emptyAccountWarning(store, isAsked);
    return {
      slices: records(),
      rejectedUntil: status === 'rejected' ? roundedUp(nextAttemptAt ?? this.#clock.now()) : null,
      limitedUntil: client.traffic().limitedUntil,
      dataProblems: [
        ...troubles(),
        ...unassignedWarnings(store),
        ...outdatedFilterWarnings(store),
        ...wordsOf('warn'),
      ],
      stateProblem: state.problem,
      emptiness,
      brokerProblem: brokerProblem(),
      notes: [...accountWarnings(store, isAsked).filter((words) => words !== emptiness), ...wordsOf('info')],
    };
  }
}

/** The next attempt moves by a millisecond each time it is asked for; nobody wants to be told. */
function roundedUp(atMs: number): number {
  return Math.ceil(atMs / 10_000) * 10_000;
}
