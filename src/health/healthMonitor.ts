import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type HealthStatus, isSonicReachable } from '../model/devices.ts';
import type { PollName } from '../model/polls.ts';
import type { Poller } from '../polling/poller.ts';
import { isAnswered } from '../polling/pollProblem.ts';
import { cloudFreshUntil, decidingPoll } from '../polling/pollStatus.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import { accountProblems, pauseProblems, refusedValves } from './accountProblems.ts';
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
import { type HealthProblem, healthProblem, type ProblemSource } from './problem.ts';
import { overload } from './requestNeeds.ts';

/** Problems from these sources are logged by other parts. */
const loggedElsewhere = new Set<ProblemSource>([
  'start',
  'broker',
  'data_dir',
  'http',
  'data',
  'pause',
  'telemetry',
]);

/** Health is published after this time, in ms, even if the lists of the cloud were not read yet. */
const firstAnswerMs = 2_000;

/** How often health is evaluated at least, in ms. A part that has stopped reports nothing by itself. */
const evaluateEveryMs = 10_000;

/**
 * The cloud's limit counts as a new one only if it differs by more than this, in ms, because two clocks always differ a
 * little.
 */
const maxLimitErrorMs = 1_000;

/**
 * The start time changes only by more than this, in ms. Two clocks always differ a little, and each change is
 * published.
 */
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
  readonly retained: Retained;
  readonly state: StateFile;
  readonly store: Store;
  readonly poller: Poller;
  readonly otherBridges: OtherBridges;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Evaluates health, and whether the data of the cloud is fresh. It does so after each poll, and when devices or
 * incidents change. It does so when the broker connection starts or ends, when the broker begins or stops to reject
 * messages, when data becomes too old, and every ten seconds. It emits and logs changes. Readiness, `bridge/health` and
 * the status page show the same report.
 */
export class HealthMonitor extends EventEmitter<HealthEvents> {
  readonly #parts: HealthParts;
  readonly #createdAt: number;
  #startedAt: number;
  #brokerLostAt: number | null = null;
  #httpProblem: string | null = null;
  readonly #cloudOutage: OutageLog;
  /** The keys of all problems that were logged since everything last worked. */
  readonly #loggedProblems = new Set<string>();
  readonly #loggedInformation = new Set<string>();
  #report: HealthReport | null = null;
  #payload: object | null = null;
  #fingerprint = '';
  #isCloudFresh = false;
  #isStopped = false;
  /** Whether devices or incidents have changed since the last `change` of the store. */
  #isNews = false;
  #limitedUntil: number | null = null;
  #cancelTimer: () => void = () => {};

  constructor(parts: HealthParts) {
    super();
    const { connection, retained, store, poller, otherBridges, clock, log } = parts;
    this.#parts = parts;
    this.#createdAt = clock.monotonic();
    this.#startedAt = clock.now();
    this.#cloudOutage = new OutageLog(clock, log, 'Cloud');
    poller
      .on('ended', (poll) => {
        // The first lists end within moments. An earlier report would be replaced at once by that after the last list.
        const isNews = this.#report !== null || poller.statuses.records[poll].failure !== null;
        if (isNews || !poller.isFirstReading) this.#evaluate(true);
      })
      .on('listsRead', () => this.#evaluate());
    // A new device or incident can make alerts unknown. Health follows at once, because the poll that has read it may
    // go on for long.
    const onNews = () => {
      this.#isNews = true;
    };
    store
      .on('device', onNews)
      .on('incident', onNews)
      .on('change', () => {
        if (this.#isNews) this.#evaluateAgain();
        this.#isNews = false;
      });
    retained.on('refusals', () => this.#evaluateAgain());
    connection
      .on('connected', () => {
        this.#brokerLostAt = null;
        this.#evaluateAgain();
      })
      .on('lost', () => {
        this.#brokerLostAt = clock.now();
        this.#evaluateAgain();
      });
    otherBridges.on('changed', () => this.#evaluateAgain());
  }

  /** When the bridge was started, in ms since 1970. It changes if the computer's clock is set. */
  get startedAt(): number {
    const startedAt = this.#parts.clock.now() - (this.#parts.clock.monotonic() - this.#createdAt);
    if (Math.abs(startedAt - this.#startedAt) > maxStartErrorMs) this.#startedAt = startedAt;
    return this.#startedAt;
  }

  /**
   * When the last connection to the broker ended, in ms since 1970; null during a connection, and before the first one.
   */
  get brokerLostAt(): number | null {
    return this.#brokerLostAt;
  }

  /**
   * Null before the first evaluation. That comes when the lists were read, when one failed, or `firstAnswerMs` after
   * the start.
   */
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

  /** For each side of the bridge: why it is not ready although it is connected; null if it is ready. */
  get unready(): HealthReport['unready'] {
    return this.#report?.unready ?? { cloud: null, broker: null };
  }

  /** The payload of `bridge/health`, the same object until a result changes; null before the first evaluation. */
  get payload(): object | null {
    return this.#payload;
  }

  /** Evaluates health after `firstAnswerMs` at the latest, and regularly from then on. */
  start(): void {
    this.#cancelTimer = this.#parts.clock.after(firstAnswerMs, () => this.#evaluate());
  }

  /** Records why HTTP does not work; null if it works. */
  setHttpProblem(problem: string | null): void {
    this.#httpProblem = problem;
    this.#evaluateAgain();
  }

  /** Cancels the timer. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  /** `isAttempt` says whether a poll of the cloud has just ended. */
  #evaluate(isAttempt = false): void {
    if (this.#isStopped) return;
    const inputs = this.#inputs();
    const before = this.#report;
    const report = evaluateHealth(inputs);
    this.#report = report;
    this.#logProblems(report, isAttempt);
    const fingerprint = healthFingerprint(inputs, report);
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      this.#payload = healthPayload(inputs, report);
      this.emit('changed');
    }
    const { status, reason } = report;
    if (status === 'auth_failed' && before?.status !== status) this.emit('event', 'auth_failed', { reason });
    this.#checkFreshness();
  }

  /** Evaluates again, but not before the first evaluation. */
  #evaluateAgain(): void {
    if (this.#report !== null) this.#evaluate();
  }

  #checkFreshness(): void {
    const { records } = this.#parts.poller.statuses;
    const leftMs = cloudFreshUntil(records) - this.#parts.clock.monotonic();
    const isFresh = leftMs > 0;
    this.#cancelTimer();
    const nextMs = isFresh ? Math.min(leftMs + 1, evaluateEveryMs) : evaluateEveryMs;
    this.#cancelTimer = this.#parts.clock.after(nextMs, () => this.#evaluate());
    if (isFresh === this.#isCloudFresh) return;
    this.#isCloudFresh = isFresh;
    if (isFresh) this.emit('event', 'cloud_online', { reason: null });
    else {
      // Null if nothing has failed, for example because requests still wait.
      const { failure } = records[decidingPoll(records) ?? 'sonics'];
      const told = isAnswered(failure) ? '' : `: ${failure?.message}`;
      this.#parts.log.warn(`No fresh data from the cloud${told}. Entities are now unavailable`);
      // If the whole cloud is unreachable, that explains more than the failure of one list.
      const { problems = [], cloudReason } = this.#report ?? {};
      const reason = (problems.some(isOutage) && cloudReason) || `${staleReason}${told}`;
      this.emit('event', 'cloud_offline', { reason });
    }
    this.emit('changed');
  }

  /**
   * Logs each problem when it begins, and logs once when everything works again. An outage of the cloud has its own
   * lines.
   */
  #logProblems({ status, problems }: HealthReport, isAttempt: boolean): void {
    const outage = problems.find(isOutage);
    if (outage?.outage !== undefined) {
      this.#loggedProblems.add(outage.key);
      if (isAttempt) this.#cloudOutage.failed(outage.outage, outage.key);
      return;
    }
    this.#cloudOutage.recovered();
    for (const { source, status: effect, key, message, isBrief } of problems) {
      const logged = effect === 'ok' ? this.#loggedInformation : this.#loggedProblems;
      if (isBrief || loggedElsewhere.has(source) || logged.has(key)) continue;
      logged.add(key);
      if (effect === 'ok') this.#parts.log.info(message);
      else this.#parts.log.warn(message);
    }
    const isWhole = status === 'ok' && this.#parts.poller.statuses.progress.length === 0;
    if (!isWhole || this.#loggedProblems.size === 0) return;
    this.#loggedProblems.clear();
    this.#parts.log.info('Everything works');
  }

  #inputs(): HealthInputs {
    const { client, poller } = this.#parts;
    const { rejection } = client.sessionState();
    return {
      polls: poller.statuses.records,
      isFirstReading: poller.isFirstReading,
      overload: this.#overload(),
      overdue: poller.statuses.overdue,
      ...this.#silence(),
      rejection: rejection && { ...rejection, nextAttemptAt: roundedUp(rejection.nextAttemptAt) },
      limitedUntil: this.#steadyLimit(client.traffic().limitedUntil),
      problems: this.#otherProblems(),
    };
  }

  #overload(): string | null {
    const { client, store, poller } = this.#parts;
    const { statuses } = poller;
    const intervalMs = (poll: PollName) => statuses.intervalMs(poll);
    return overload({ ...store.counts(), intervalMs }, client, statuses.isLate);
  }

  /** Until when the cloud limits requests. It stays the same if it differs only by the inaccuracy of the clocks. */
  #steadyLimit(until: number | null): number | null {
    const before = this.#limitedUntil ?? Number.NEGATIVE_INFINITY;
    if (until === null || Math.abs(until - before) > maxLimitErrorMs) this.#limitedUntil = until;
    return this.#limitedUntil;
  }

  /** Valves without new measurements. An unreachable valve is left out, because it is shown as offline anyway. */
  #silence(): Pick<HealthInputs, 'silentValves' | 'areAllSilent'> {
    const { store } = this.#parts;
    const silent = new Set(Object.values(store.telemetry).flatMap(({ silentIds }) => [...silentIds]));
    if (silent.size === 0) return { silentValves: [], areAllSilent: false };
    const measuring = store.ids('sonic').filter((id) => {
      const view = store.sonicView(id);
      return view?.telemetry && isSonicReachable(view);
    });
    const ids = measuring.filter((id) => silent.has(id));
    const silentValves = ids.map((id) => store.label('sonic', id));
    return { silentValves, areAllSilent: ids.length === measuring.length };
  }

  /** All problems that do not come from reading the cloud. */
  #otherProblems(): HealthProblem[] {
    const { client, connection, retained, state, store, poller, otherBridges } = this.#parts;
    const messages: [ProblemSource, string | null, HealthProblem['stops']?, string?][] = [
      ['broker', connection.isConnected ? null : brokerProblem(connection)],
      [
        'broker',
        connection.isConnected ? rejectedMessages(retained.refusal ?? connection.refusedEvent) : null,
        'broker',
        'rejected',
      ],
      ['broker', connection.isConnected ? takenOver(connection.takeover) : null, 'broker', 'taken over'],
      ['commands', missedMessages(connection.refusedSubscriptions), 'broker'],
      ['commands', unreadMessages(connection.unreadTopic), 'broker', 'unread'],
      ['commands', connection.areStoredUnmarked ? unmarkedMessages : null, 'broker'],
      ['bridges', otherBridges.problem, 'broker'],
      ['data_dir', state.problem],
      ['http', this.#httpProblem],
    ];
    return [
      ...messages.flatMap(([source, message, stops, key]) =>
        message === null ? [] : [healthProblem(source, 'degraded', message, key, stops)],
      ),
      ...(state.lockProblem === null ? [] : [healthProblem('data_dir', 'ok', state.lockProblem)]),
      ...announcedElsewhere(otherBridges, store),
      ...pauseProblems(store),
      ...refusedValves(poller.refused, store),
      ...accountProblems(store, poller.statuses.records.properties.lastSuccessAt !== null),
      ...unexpectedData(client, 'warn'),
      ...unexpectedData(client, 'info'),
    ];
  }
}

/** Devices that another bridge announces. Two accounts may share some homes, but a bridge without a device is a mistake. */
function announcedElsewhere(
  { announcer, unannouncedCount }: Pick<OtherBridges, 'announcer' | 'unannouncedCount'>,
  store: Store,
): HealthProblem[] {
  if (announcer === null) return [];
  const { properties, signals, sonics } = store.counts();
  if (unannouncedCount < properties + signals + sonics) {
    const message = `Another bridge (${announcer}) announces some devices of this bridge to Home Assistant. Devices in both accounts stay with the bridge that announced them first`;
    return [healthProblem('bridges', 'ok', message)];
  }
  const message = `Another bridge (${announcer}) announces devices of this bridge to Home Assistant. This bridge does not replace them. Stop the other bridge and run its cleanup`;
  return [healthProblem('bridges', 'degraded', message, message, 'broker')];
}

/** Odd data of the cloud. `warn`: a record is missing because of it. `info`: an unknown value was used. */
function unexpectedData(client: CloudClient, wanted: 'info' | 'warn'): HealthProblem[] {
  const messages = client.problems().flatMap(({ level, message }) => (level === wanted ? [message] : []));
  if (messages.length === 0) return [];
  const message = `Unexpected data from the cloud: ${joinSentences(messages.slice(0, maxShown))}`;
  return [healthProblem('data', wanted === 'warn' ? 'degraded' : 'ok', message)];
}

function brokerProblem({ trouble }: Connection): string {
  return `No connection to the MQTT broker: ${trouble ?? 'not connected yet'}. Retrying`;
}

const unmarkedMessages =
  'The MQTT broker sends stored messages without the retain flag, so an old command looks like a new one. Commands are rejected. Use another broker, for example Mosquitto';

function rejectedMessages(refusal: Connection['refusedEvent']): string | null {
  if (refusal === null) return null;
  return `The MQTT broker rejects messages, for example ${refusal.topic}: ${refusal.reason}. Home Assistant shows old values or none. Check the access list and the limits of the broker`;
}

function takenOver(takeover: string | null): string | null {
  return takeover && `The MQTT broker ends the connection again and again: ${takeover}`;
}

function missedMessages(refused: string | null): string | null {
  if (refused === null) return null;
  return `The MQTT broker rejects a subscription: ${refused}. Messages there have no effect. Check the access list of the broker`;
}

function unreadMessages(topic: string | null): string | null {
  if (topic === null) return null;
  return `The MQTT broker does not send ${topic} back. Commands may have no effect. Check the access list of the broker`;
}

function isOutage({ outage }: HealthProblem): boolean {
  return outage !== undefined;
}

/** Rounds a time up to minutes, because the time of the next attempt differs by a millisecond at each evaluation. */
function roundedUp(atMs: number): number {
  return Math.ceil(atMs / 60_000) * 60_000;
}
