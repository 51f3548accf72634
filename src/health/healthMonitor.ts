import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HealthStatus } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
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
  staleReason,
} from './health.ts';
import type { OtherBridges } from './otherBridges.ts';

/** A cloud that takes longer to give its first answer is worth a word. */
const firstAnswerMs = 2_000;

/** The start time is shown until it is wrong by more than this: two clocks never agree quite, and each change is published. */
const maxStartErrorMs = 60_000;

interface HealthEvents {
  /** The status, its reason or the freshness of the cloud's data has changed. */
  readonly changed: [];
  /** An event to publish at `bridge/event`. */
  readonly event: [event: 'auth_failed' | 'cloud_online' | 'cloud_offline', fields: object];
}

/** What health is judged by. */
export interface HealthParts {
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly state: StateFile;
  readonly store: Store;
  readonly poller: Poller;
  readonly otherBridges: OtherBridges;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Judges how the bridge is doing and whether the data of the cloud is fresh: after each poll, when the connection to the
 * broker comes or goes, and when data grows too old. It emits what changes, and says it in the log.
 */
export class HealthMonitor extends EventEmitter<HealthEvents> {
  readonly #parts: HealthParts;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #createdAt: number;
  #startedAt: number;
  #brokerLostAt: number | null = null;
  #httpProblem: string | null = null;
  readonly #cloudOutage: OutageLog;
  /** Problems and notes that the log has of late. */
  readonly #said = new Set<string>();
  /** Whether the log has a problem, and not yet that all is well again. */
  #isWrong = false;
  #report: HealthReport | null = null;
  #payload: object | null = null;
  #fingerprint = '';
  #isCloudFresh = false;
  #isStopped = false;
  #cancelStaleTimer: () => void = () => {};
  #cancelFirstLook: () => void = () => {};

  constructor(parts: HealthParts) {
    super();
    const { connection, poller, otherBridges, clock, log } = parts;
    this.#parts = parts;
    this.#clock = clock;
    this.#log = log;
    this.#createdAt = clock.monotonic();
    this.#startedAt = clock.now();
    this.#cloudOutage = new OutageLog(clock, log, 'Cloud');
    poller.on('ended', () => this.#judge());
    connection
      .on('connected', () => {
        this.#brokerLostAt = null;
        this.#judgeAgain();
      })
      .on('lost', () => {
        this.#brokerLostAt = clock.now();
        this.#judgeAgain();
      });
    otherBridges.on('met', () => this.#judgeAgain()).on('stopped', () => this.#judgeAgain());
  }

  /** When the bridge was started, in ms since 1970: another time once the clock has been set. */
  get startedAt(): number {
    const startedAt = this.#clock.now() - (this.#clock.monotonic() - this.#createdAt);
    if (Math.abs(startedAt - this.#startedAt) > maxStartErrorMs) this.#startedAt = startedAt;
    return this.#startedAt;
  }

  /** When the last connection to the broker ended, in ms since 1970; null while there is one, and before the first. */
  get brokerLostAt(): number | null {
    return this.#brokerLostAt;
  }

  /** Null until the cloud has answered, or has had the time to. */
  get status(): HealthStatus | null {
    return this.#report?.status ?? null;
  }

  /** Whether what is shown can be trusted to be the cloud's present word. */
  get isCloudFresh(): boolean {
    return this.#isCloudFresh;
  }

  /** Why the status is not `ok`, or a note; null if there is nothing to report. */
  get reason(): string | null {
    return this.#report?.reason ?? null;
  }

  /** The part of the reason that concerns the cloud; null if there is none. */
  get cloudReason(): string | null {
    return this.#report?.cloudReason ?? null;
  }

  /** The payload of `bridge/health`; the same until an outcome changes, null while there is nothing to say. */
  get payload(): object | null {
    return this.#payload;
  }

  /** Judges without an answer of the cloud, should none come soon. */
  start(): void {
    this.#cancelFirstLook = this.#clock.after(firstAnswerMs, () => this.#judge());
  }

  /** Why HTTP is not served, in words; null once it is. */
  setHttpProblem(problem: string | null): void {
    this.#httpProblem = problem;
    this.#judgeAgain();
  }

  /** Stops judging. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelFirstLook();
    this.#cancelStaleTimer();
  }

  #judge(): void {
    if (this.#isStopped) return;
    this.#cancelFirstLook();
    const inputs = this.#inputs();
    const before = this.#report;
    this.#report = evaluateHealth(inputs);
    this.#sayInLog(this.#report, inputs);
    const fingerprint = healthFingerprint(inputs);
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      this.#payload = healthPayload(inputs);
      this.emit('changed');
    }
    const { status, reason } = this.#report;
    if (status === 'auth_failed' && before?.status !== status) this.emit('event', 'auth_failed', { reason });
    this.#checkFreshness();
  }

  /** Before the first judgement there is nothing to correct. */
  #judgeAgain(): void {
    if (this.#report !== null) this.#judge();
  }

  #checkFreshness(): void {
    const leftMs = freshUntil(this.#parts.poller.statuses.records) - this.#clock.monotonic();
    this.#cancelStaleTimer();
    if (leftMs > 0) this.#cancelStaleTimer = this.#clock.after(leftMs + 1, () => this.#checkFreshness());
    const isFresh = leftMs > 0;
    if (isFresh === this.#isCloudFresh) return;
    this.#isCloudFresh = isFresh;
    if (!isFresh) {
      this.#log.warn('No fresh data from the cloud. Entities are now unavailable');
    }
    if (isFresh) this.emit('event', 'cloud_online', { reason: null });
    else this.emit('event', 'cloud_offline', { reason: this.#staleReason() });
    this.emit('changed');
  }

  /** Why the cloud's data is not fresh; a record that is amiss, or a note, is no reason for that. */
  #staleReason(): string {
    const { status, cloudReason: reason } = this.#report ?? {};
    const isOutage = status === 'cloud_unreachable' || status === 'auth_failed';
    return (isOutage && reason) || staleReason;
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
    if (!isWrong && (status !== 'ok' || this.#parts.poller.statuses.progress.length > 0)) return;
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

  #inputs(): HealthInputs {
    const { client, connection, state, store, poller, otherBridges } = this.#parts;
    const { records } = poller.statuses;
    const isAsked = records.properties.lastSuccessAt !== null;
    const { status, nextAttemptAt } = client.sessionState();
    const problems = client.problems();
    const wordsOf = (level: 'info' | 'warn') =>
      problems.filter((problem) => problem.level === level).map(({ words }) => words);
    const emptiness = emptyAccountWarning(store, isAsked);
    return {
      slices: records,
      rejectedUntil: status === 'rejected' ? roundedUp(nextAttemptAt ?? this.#clock.now()) : null,
      limitedUntil: client.traffic().limitedUntil,
      dataProblems: [
        ...[otherBridges.problem, this.#httpProblem].filter((problem) => problem !== null),
        ...unassignedWarnings(store),
        ...outdatedFilterWarnings(store),
        ...wordsOf('warn'),
      ],
      stateProblem: state.problem,
      emptiness,
      brokerProblem: connection.isConnected
        ? null
        : `no connection to the MQTT broker: ${connection.trouble ?? 'none was made yet'}`,
      notes: [...accountWarnings(store, isAsked).filter((words) => words !== emptiness), ...wordsOf('info')],
    };
  }
}

/** The next attempt moves by a millisecond each time it is asked for; nobody wants to be told. */
function roundedUp(atMs: number): number {
  return Math.ceil(atMs / 10_000) * 10_000;
}
