import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HealthStatus } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
import { cloudFreshUntil } from '../polling/pollStatus.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import { accountProblems } from './accountProblems.ts';
import {
  evaluateHealth,
  type HealthInputs,
  type HealthReport,
  healthFingerprint,
  healthPayload,
  maxShown,
  staleReason,
} from './health.ts';
import type { OtherBridges } from './otherBridges.ts';
import { type Problem, type ProblemSource, problem } from './problem.ts';

/** Other parts log these problems. */
const loggedElsewhere = new Set<ProblemSource>(['start', 'broker', 'data_dir', 'http', 'data']);

/** Health is published without an answer of the cloud after this time. */
const firstAnswerMs = 2_000;

/** The start time changes only by more than this: two clocks always differ a little, and each change is published. */
const maxStartErrorMs = 60_000;

interface HealthEvents {
  /** The status, its reason or the freshness of the cloud's data has changed. */
  readonly changed: [];
  /** An event to publish at `bridge/event`. */
  readonly event: [event: 'auth_failed' | 'cloud_online' | 'cloud_offline', fields: object];
}

/** The parts whose health is evaluated. */
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
 * Evaluates health, and whether the data of the cloud is fresh: after each poll, when the connection to the broker starts
 * or ends, and when data becomes too old. It emits changes, and logs them.
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
  /** The keys of all problems in the log since everything worked last. */
  readonly #loggedProblems = new Set<string>();
  readonly #loggedInformation = new Set<string>();
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
    poller.on('ended', () => this.#evaluate());
    connection
      .on('connected', () => {
        this.#brokerLostAt = null;
        this.#evaluateAgain();
      })
      .on('lost', () => {
        this.#brokerLostAt = clock.now();
        this.#evaluateAgain();
      });
    otherBridges.on('met', () => this.#evaluateAgain()).on('stopped', () => this.#evaluateAgain());
  }

  /** When the bridge was started, in ms since 1970. It changes if the clock of the computer is set. */
  get startedAt(): number {
    const startedAt = this.#clock.now() - (this.#clock.monotonic() - this.#createdAt);
    if (Math.abs(startedAt - this.#startedAt) > maxStartErrorMs) this.#startedAt = startedAt;
    return this.#startedAt;
  }

  /** When the last connection to the broker ended, in ms since 1970; null while there is one, and before the first. */
  get brokerLostAt(): number | null {
    return this.#brokerLostAt;
  }

  /** Null until the cloud has answered, or `firstAnswerMs` after the start. */
  get status(): HealthStatus | null {
    return this.#report?.status ?? null;
  }

  /** Whether the data of the cloud is fresh. */
  get isCloudFresh(): boolean {
    return this.#isCloudFresh;
  }

  /** All problems and information as text; null if there is nothing to report. */
  get reason(): string | null {
    return this.#report?.reason ?? null;
  }

  /** The part of the reason that concerns the cloud; null if there is none. */
  get cloudReason(): string | null {
    return this.#report?.cloudReason ?? null;
  }

  /** The payload of `bridge/health`. It stays the same object until a result changes; null before the first evaluation. */
  get payload(): object | null {
    return this.#payload;
  }

  /** Evaluates health after `firstAnswerMs`, if no poll has ended before. */
  start(): void {
    this.#cancelFirstLook = this.#clock.after(firstAnswerMs, () => this.#evaluate());
  }

  /** Why HTTP does not work; null once it does. */
  setHttpProblem(problem: string | null): void {
    this.#httpProblem = problem;
    this.#evaluateAgain();
  }

  /** Cancels the timers. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelFirstLook();
    this.#cancelStaleTimer();
  }

  #evaluate(): void {
    if (this.#isStopped) return;
    this.#cancelFirstLook();
    const inputs = this.#inputs();
    const before = this.#report;
    this.#report = evaluateHealth(inputs);
    this.#logProblems(this.#report);
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

  /** Evaluates again, if there was a first evaluation. */
  #evaluateAgain(): void {
    if (this.#report !== null) this.#evaluate();
  }

  #checkFreshness(): void {
    const leftMs = cloudFreshUntil(this.#parts.poller.statuses.records) - this.#clock.monotonic();
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

  /** Why the cloud's data is not fresh. Only an outage explains that, and no other problem. */
  #staleReason(): string {
    const { problems = [], cloudReason } = this.#report ?? {};
    return (problems.some(isOutage) && cloudReason) || staleReason;
  }

  /** Logs each problem when it begins, and once that everything works again. An outage of the cloud has its own lines. */
  #logProblems({ status, problems }: HealthReport): void {
    const outage = problems.find(isOutage);
    if (outage?.outage !== undefined) {
      this.#loggedProblems.add(outage.key);
      this.#cloudOutage.failed(outage.outage, outage.key);
      return;
    }
    this.#cloudOutage.recovered();
    for (const { source, status: effect, key, text, isBrief } of problems) {
      const logged = effect === 'ok' ? this.#loggedInformation : this.#loggedProblems;
      if (isBrief || loggedElsewhere.has(source) || logged.has(key)) continue;
      logged.add(key);
      if (effect === 'ok') this.#log.info(text);
      else this.#log.warn(text);
    }
    const isWhole = status === 'ok' && this.#parts.poller.statuses.progress.length === 0;
    if (!isWhole || this.#loggedProblems.size === 0) return;
    this.#loggedProblems.clear();
    this.#log.info('Everything works');
  }

  #inputs(): HealthInputs {
    const { client, poller } = this.#parts;
    const { status, nextAttemptAt } = client.sessionState();
    return {
      polls: poller.statuses.records,
      rejectedUntil: status === 'rejected' ? roundedUp(nextAttemptAt ?? this.#clock.now()) : null,
      limitedUntil: client.traffic().limitedUntil,
      problems: this.#otherProblems(),
    };
  }

  /** All problems except those of reading the cloud. */
  #otherProblems(): Problem[] {
    const { client, connection, state, store, poller, otherBridges } = this.#parts;
    const texts: [ProblemSource, string | null][] = [
      ['broker', connection.isConnected ? null : brokerProblem(connection)],
      ['bridges', otherBridges.problem],
      ['data_dir', state.problem],
      ['http', this.#httpProblem],
    ];
    return [
      ...texts.flatMap(([source, text]) => (text === null ? [] : [problem(source, 'degraded', text)])),
      ...accountProblems(store, poller.statuses.records.properties.lastSuccessAt !== null),
      ...unexpectedData(client, 'warn'),
      ...unexpectedData(client, 'info'),
    ];
  }
}

/** A warning means that a record is missing; information, that an unknown value was used. */
function unexpectedData(client: CloudClient, wanted: 'info' | 'warn'): Problem[] {
  const words = client.problems().flatMap(({ level, words: each }) => (level === wanted ? [each] : []));
  if (words.length === 0) return [];
  const text = `Unexpected data from the cloud: ${joinSentences(words.slice(0, maxShown))}`;
  return [problem('data', wanted === 'warn' ? 'degraded' : 'ok', text)];
}

function brokerProblem({ trouble }: Connection): string {
  return `No connection to the MQTT broker: ${trouble ?? 'not connected yet'}. Retrying`;
}

function isOutage({ outage }: Problem): boolean {
  return outage !== undefined;
}

/** The time of the next attempt differs by a millisecond each time. It is shown in minutes. */
function roundedUp(atMs: number): number {
  return Math.ceil(atMs / 60_000) * 60_000;
}
