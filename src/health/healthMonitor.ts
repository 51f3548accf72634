import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { minuteMs } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import { type OutageLog, outageLog } from '../base/outageLog.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HealthStatus, Side } from '../model/devices.ts';
import { pollNames, vitalPolls } from '../model/polls.ts';
import type { Poller } from '../polling/poller.ts';
import { isAnswered } from '../polling/pollProblem.ts';
import { cloudFreshUntil, decidingPoll, wasPolled } from '../polling/pollStatus.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { HealthFacts } from './checks.ts';
import { type HealthReport, healthFingerprint, healthPayload, judge, reasonOf } from './health.ts';
import { brokerSide, cloudSide, type PublishingProgress, staleReason } from './sides.ts';

/** Health is published after this time, in ms, even if the lists of the cloud were not read yet. */
const firstAnswerMs = 2_000;

/** How often health is judged at least, in ms. A part that has stopped reports nothing by itself. */
const judgeEveryMs = 10_000;

interface HealthEvents {
  /** The status, its reason or the freshness of the cloud's data has changed. */
  readonly changed: [];
  /** An event to publish at `bridge/event`. */
  readonly event: [event: 'auth_failed' | 'cloud_online' | 'cloud_offline', fields: object];
}

/** The parts whose health is judged. */
export interface HealthParts {
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly state: StateFile;
  readonly store: Store;
  readonly poller: Poller;
  readonly discovery: Pick<HealthFacts, 'replacedTopics'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Judges health (`checks.ts`) and whether the data of the cloud is fresh: once after all changes of a turn, when data
 * becomes too old, and at least every ten seconds. Emits and logs what has changed. Readiness, `bridge/health` and the
 * status page show this report, and `bridge/health` only what has changed in kind.
 */
export class HealthMonitor extends EventEmitter<HealthEvents> {
  readonly #parts: HealthParts;
  readonly #createdAt: number;
  #startedAt: number;
  /** When the last connection to the broker ended, in ms since 1970; null during a connection, and before the first one. */
  #brokerLostAt: number | null = null;
  #httpProblem: string | null = null;
  readonly #cloudOutage: OutageLog;
  /** The keys of all problems that were logged since everything last worked, and of information. */
  readonly #loggedProblems = new Set<string>();
  readonly #loggedInformation = new Set<string>();
  /** Null before the first judgement: when the lists were read, when one failed, or `firstAnswerMs` after the start. */
  #report: HealthReport | null = null;
  #payload: object | null = null;
  #fingerprint = '';
  #isCloudFresh = false;
  /** What the last events said. While the broker is away they wait, and then they tell what still holds. */
  #told: { status: HealthStatus | null; isFresh: boolean } = { status: null, isFresh: false };
  #isStopped = false;
  #isJudgementDue = false;
  /** Whether a poll has ended since the last judgement. */
  #hasPolled = false;
  #cancelTimer: () => void = () => {};

  constructor(parts: HealthParts) {
    super();
    const { connection, mirror, store, poller, clock, log } = parts;
    this.#parts = parts;
    this.#createdAt = clock.monotonic();
    this.#startedAt = clock.now();
    this.#cloudOutage = outageLog(clock, log, 'Cloud');
    const onChange = () => this.#judgeSoon();
    poller
      .on('ended', () => {
        this.#hasPolled = true;
        onChange();
      })
      .on('listsAsked', onChange);
    // A new device or incident can make alerts unknown. The poll that has read it may go on for long.
    store.on('device', onChange).on('incident', onChange);
    mirror.on('refusal', onChange);
    connection
      .on('connected', () => {
        this.#brokerLostAt = null;
        onChange();
      })
      .on('lost', () => {
        this.#brokerLostAt = clock.now();
        onChange();
      });
  }

  /** When the bridge was started, in ms since 1970. It changes if the computer's clock is set. */
  get startedAt(): number {
    const startedAt = this.#parts.clock.now() - (this.#parts.clock.monotonic() - this.#createdAt);
    // Two clocks always differ a little, and each change is published.
    if (Math.abs(startedAt - this.#startedAt) > minuteMs) this.#startedAt = startedAt;
    return this.#startedAt;
  }

  /** Null before the first judgement. */
  get status(): HealthStatus | null {
    return this.#report?.status ?? null;
  }

  /** All problems and information as text; null if there is nothing to report. */
  get reason(): string | null {
    return reasonOf(this.#report?.problems ?? []);
  }

  get isCloudFresh(): boolean {
    return this.#isCloudFresh;
  }

  get cloud(): Side {
    return cloudSide(this.#report, this.#isCloudFresh, this.#parts.poller.statuses.records);
  }

  broker(progress: PublishingProgress): Side {
    return brokerSide(this.#report, this.#parts.connection, this.#brokerLostAt, progress);
  }

  /** The payload of `bridge/health`, the same object until a result changes; null before the first judgement. */
  get payload(): object | null {
    return this.#payload;
  }

  /** Judges health after `firstAnswerMs` at the latest, and regularly from then on. */
  start(): void {
    this.#cancelTimer = this.#parts.clock.after(firstAnswerMs, () => this.#judge());
  }

  /** Records why HTTP does not work; null if it works. */
  setHttpProblem(problem: string | null): void {
    this.#httpProblem = problem;
    this.#judgeSoon();
  }

  /** Cancels the timer. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  /** Judges once after all changes of this turn. */
  #judgeSoon(): void {
    if (this.#isJudgementDue) return;
    this.#isJudgementDue = true;
    queueMicrotask(() => {
      this.#isJudgementDue = false;
      const { poller } = this.#parts;
      // The first lists end within moments. An earlier report would be replaced at once by that after the last list.
      const isNews = pollNames.some((poll) => poller.statuses.records[poll].failure !== null);
      if (this.#report !== null || isNews || !poller.isFirstReading) this.#judge();
    });
  }

  #judge(): void {
    if (this.#isStopped) return;
    const facts = this.#facts();
    const report = judge(facts);
    this.#report = report;
    this.#logProblems(report);
    const fingerprint = healthFingerprint(facts, report);
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      this.#payload = healthPayload(facts, report);
      this.emit('changed');
    }
    this.#checkFreshness();
    if (this.#parts.connection.isConnected) this.#tell(report);
  }

  #tell({ status, problems }: HealthReport): void {
    const before = this.#told;
    const isFresh = this.#isCloudFresh;
    this.#told = { status, isFresh };
    if (status === 'auth_failed' && before.status !== status)
      this.emit('event', 'auth_failed', { reason: this.reason });
    if (isFresh === before.isFresh) return;
    // If the whole cloud is unreachable, that explains more than the failure of one list.
    const outage = problems.find((problem) => problem.outage !== undefined);
    const reason = outage?.message ?? `${staleReason}${this.#staleCause}`;
    this.emit('event', isFresh ? 'cloud_online' : 'cloud_offline', { reason: isFresh ? null : reason });
  }

  /** Why the list that decides about freshness is old. Perhaps nothing has failed, and the requests still wait. */
  get #staleCause(): string {
    const { records } = this.#parts.poller.statuses;
    const { failure } = records[decidingPoll(records) ?? 'sonics'];
    return isAnswered(failure) ? '' : `: ${failure?.message}`;
  }

  #checkFreshness(): void {
    const { records } = this.#parts.poller.statuses;
    const leftMs = cloudFreshUntil(records) - this.#parts.clock.monotonic();
    const isFresh = leftMs > 0;
    this.#cancelTimer();
    const nextMs = isFresh ? Math.min(leftMs + 1, judgeEveryMs) : judgeEveryMs;
    this.#cancelTimer = this.#parts.clock.after(nextMs, () => this.#judge());
    if (isFresh === this.#isCloudFresh) return;
    this.#isCloudFresh = isFresh;
    if (!isFresh)
      this.#parts.log.warn(`No fresh data from the cloud${this.#staleCause}. Entities are now unavailable`);
    this.emit('changed');
  }

  /**
   * Logs each problem when it begins, and logs once when everything works again. An outage of the cloud has its own
   * lines.
   */
  #logProblems({ status, problems }: HealthReport): void {
    const hasPolled = this.#hasPolled;
    this.#hasPolled = false;
    const outage = problems.find((problem) => problem.outage !== undefined);
    if (outage?.outage !== undefined) {
      this.#loggedProblems.add(outage.key);
      if (hasPolled) this.#cloudOutage.failed(outage.outage, outage.key);
      return;
    }
    // A cloud that only asks to wait, or answers with garbage, does not work again yet.
    const vital = vitalPolls.map((poll) => this.#parts.poller.statuses.records[poll]);
    if (vital.some((poll) => wasPolled(poll) && isAnswered(poll.failure))) this.#cloudOutage.recovered();
    for (const { status: effect, key, message, isBrief, isLogged } of problems) {
      const logged = effect === 'ok' ? this.#loggedInformation : this.#loggedProblems;
      if (isBrief || isLogged === false || logged.has(key)) continue;
      logged.add(key);
      if (effect === 'ok') this.#parts.log.info(message);
      else this.#parts.log.warn(message);
    }
    const isAllGood = status === 'ok' && this.#parts.poller.statuses.progress.length === 0;
    if (!isAllGood || this.#loggedProblems.size === 0) return;
    this.#loggedProblems.clear();
    this.#parts.log.info('Everything works');
  }

  #facts(): HealthFacts {
    const { client, connection, mirror, state, store, poller, discovery } = this.#parts;
    const { statuses } = poller;
    const { rejection } = client.session.state;
    const { limitedUntil } = client.traffic();
    return {
      polls: statuses.records,
      isFirstReading: poller.isFirstReading,
      overdue: statuses.overdue,
      // These times come from another clock, so they differ by a millisecond each time.
      rejection: rejection && { ...rejection, nextAttemptAt: roundedUp(rejection.nextAttemptAt) },
      limitedUntil: limitedUntil && Math.round(limitedUntil / 1_000) * 1_000,
      refused: poller.refused,
      oddities: client.problems(),
      store,
      connection,
      refusal: mirror.refusal ?? connection.refusedEvent,
      replacedTopics: discovery.replacedTopics,
      state,
      httpProblem: this.#httpProblem,
    };
  }
}

/** Rounds a time up to minutes. */
function roundedUp(atMs: number): number {
  return Math.ceil(atMs / minuteMs) * minuteMs;
}
