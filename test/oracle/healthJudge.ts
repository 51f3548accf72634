import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { type Bounds, slackMs } from './bounds.ts';
import type { Crawls } from './crawls.ts';
import { type DiscoveredEntities, parsed } from './discoveredEntities.ts';
import { isHealthOk } from './leakJudge.ts';

/** What the oracle tells this judge. */
export interface HealthContext {
  /** Ms of the simulation. */
  now(): number;
  bounds(): Bounds;
  /** When this run of the bridge began. Null while the bridge is stopped. */
  runningSince(): number | null;
  /** Topics on which the broker refused the last message, each with the time since when. */
  refused(): ReadonlyMap<string, number>;
  canPublish(): boolean;
  /** Whether the cloud has the valve and can reach it. */
  isReachable(id: string): boolean;
  /** Whether the broker currently refuses the bridge's messages about its health. */
  isHealthRefused(): boolean;
  /**
   * Whether the broker delivers all retained messages, with their retain flag. If not, the bridge cannot see
   * what another bridge has announced.
   */
  showsRetained(): boolean;
  /** Whether the topic belongs to the judged bridge. */
  isOurs(topic: string): boolean;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

const minuteMs = 60_000;

/**
 * Health is updated at every change and at least every ten seconds, so it may be out of date for this long.
 */
const updateMs = 30_000;

/** The bridge checks every two minutes whether its devices on the broker are its own. */
const takenOverMs = 2 * minuteMs + updateMs;

/** A `retry-after` of the cloud holds for one operation, and never longer than this. */
const longestPauseMs = 10 * minuteMs;

const vitalLists = { list_incidents: 'incidents', list_sonics: 'sonics' } as const;

/**
 * The promise "health is true": health is `ok` only while the vital lists are read, measurements arrive, and
 * the broker accepts all messages. This judge also checks that the bridge keeps asking for both vital lists,
 * whatever else happens.
 */
export class HealthJudge {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #crawls: Crawls;
  readonly #entities: DiscoveredEntities;
  readonly #context: HealthContext;
  /** When the bridge last asked for a page of each operation. */
  readonly #askedAt = new Map<string, number>();
  /** Until when the cloud has told the bridge to wait, by operation. */
  readonly #pausedUntil = new Map<string, number>();
  /** Failed reads of measurements in a row: since when, how many, and the valve of the last one. */
  #unmeasured: { readonly since: number; readonly count: number; readonly id: string } | null = null;
  /** Since when the cloud accepts the session. Null while it does not. */
  #sessionSince: number | null = null;
  #okSince: number | null = null;
  #excusedUntil = 0;
  /** Since when another bridge has announced a device that the judged bridge shows. */
  #takenOverSince: number | null = null;

  constructor(
    retained: ReadonlyMap<string, string>,
    crawls: Crawls,
    entities: DiscoveredEntities,
    context: HealthContext,
  ) {
    this.#entities = entities;
    this.#retained = retained;
    this.#crawls = crawls;
    this.#context = context;
  }

  /** A new run of the bridge begins. */
  forget(): void {
    this.#askedAt.clear();
    this.#pausedUntil.clear();
    this.#unmeasured = null;
    this.#sessionSince = null;
    this.#okSince = null;
  }

  /** Expects no request until then, because the machine sleeps. */
  excuse(until: number): void {
    this.#excusedUntil = Math.max(this.#excusedUntil, until);
  }

  /** The bridge is about to send a request. It may still fail. */
  asked({ operation }: SeenRequest): void {
    if (operation !== null) this.#askedAt.set(operation, this.#context.now());
  }

  answered({ operation, params }: SeenRequest, status: number, retryAfterMs: number | null, text = ''): void {
    if (operation === null) return;
    const now = this.#context.now();
    const isWithoutToken = isOfSession(operation) && (status !== 200 || !('token_details' in parsed(text)));
    const isDenied = status === 401 || isWithoutToken;
    this.#sessionSince = isDenied ? null : (this.#sessionSince ?? now);
    if (status === 429 || status === 503)
      this.#pausedUntil.set(operation, now + Math.min(longestPauseMs, retryAfterMs ?? 2_000));
    if (!/^read_(wifi_)?telemetry$/.test(operation)) return;
    if (status === 200) this.#unmeasured = null;
    else {
      const { since, count } = this.#unmeasured ?? { since: now, count: 0 };
      this.#unmeasured = { since, count: count + 1, id: params['sonic_id'] ?? '' };
    }
  }

  /** Must be called every ten seconds. */
  check(): void {
    const { now, runningSince, isHealthRefused, countCheck, reportViolation } = this.#context;
    const since = runningSince();
    if (since === null || now() < this.#excusedUntil) {
      this.#okSince = null;
      return;
    }
    this.#checkGaps(since);
    // A valve that was removed or has no link cannot be measured.
    if (this.#unmeasured && !this.#context.isReachable(this.#unmeasured.id)) this.#unmeasured = null;
    if (isHealthRefused() || !isHealthOk(this.#retained)) {
      this.#okSince = null;
      this.#takenOverSince = null;
      return;
    }
    this.#okSince ??= now();
    if (now() - this.#okSince < updateMs || !this.#context.canPublish()) return;
    countCheck('health is ok only if all is well');
    const problem = this.#problem(since);
    if (problem === null) return;
    reportViolation(`health is ok although ${problem}`);
    this.#okSince = now() + 10 * minuteMs;
  }

  #problem(since: number): string | null {
    const { now, bounds, refused, showsRetained } = this.#context;
    const { maxAgeMs } = bounds();
    for (const [list, source] of Object.entries(vitalLists)) {
      const age = now() - Math.max(since, this.#crawls.lastAskedAt(list));
      if (age > maxAgeMs[source]) return `${list} was not read whole for ${Math.round(age / 1_000)} s`;
    }
    for (const [topic, at] of refused())
      if (now() - at > minuteMs + updateMs) return `the broker refuses ${topic}`;
    const devices = showsRetained() ? this.#devicesOfOthers() : [];
    if (devices.length > 0) {
      this.#takenOverSince ??= now();
      if (now() - this.#takenOverSince > takenOverMs) return `another bridge announces ${devices[0]}`;
    } else this.#takenOverSince = null;
    const { count = 0, since: unmeasuredSince = 0 } = this.#unmeasured ?? {};
    const isDue = count > 2 && now() - unmeasuredSince > maxAgeMs.telemetry;
    return isDue ? 'no measurement was read' : null;
  }

  /**
   * Devices of this bridge, if the entities of all of them in Home Assistant come from another bridge. Two accounts may
   * share some.
   */
  #devicesOfOthers(): string[] {
    const { isOurs } = this.#context;
    const devices = [...this.#entities.deviceIds].filter((id) =>
      ['property', 'signal', 'sonic'].some((kind) => this.#retained.has(`sonic2mqtt/${kind}/${id}`)),
    );
    const isElsewhere = (id: string) => {
      const [entity] = this.#entities.entitiesOf(id);
      return entity !== undefined && !isOurs(entity.availabilityTopics[0] ?? '');
    };
    return devices.every(isElsewhere) ? devices : [];
  }

  #checkGaps(since: number): void {
    const { now, bounds, countCheck, reportViolation } = this.#context;
    const sessionSince = this.#sessionSince;
    if (sessionSince === null) return;
    for (const [list, source] of Object.entries(vitalLists)) {
      const from = Math.max(
        since,
        sessionSince,
        this.#excusedUntil,
        this.#askedAt.get(list) ?? 0,
        this.#pausedUntil.get(list) ?? 0,
      );
      const limitMs = bounds().maxGapMs[source] + slackMs / 2;
      countCheck('each vital list is asked for');
      if (now() - from <= limitMs) continue;
      reportViolation(`${list} was not asked for ${Math.round((now() - from) / 1_000)} s`);
      this.#pausedUntil.set(list, now() + 10 * minuteMs);
    }
  }
}

function isOfSession(operation: string): boolean {
  return operation === 'sign_in' || operation === 'refresh_token';
}
