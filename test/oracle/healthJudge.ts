import type { SeenRequest } from '../simulation/virtualCloud.ts';
import { type Bounds, slackMs } from './bounds.ts';
import type { Crawls } from './crawls.ts';
import { type Eyes, parsed } from './eyes.ts';
import { isHealthOk } from './leakJudge.ts';

/** What the judge is told by those who look at other things. */
export interface HealthCircumstances {
  /** Ms of the simulation. */
  now(): number;
  bounds(): Bounds;
  /** When this run of the bridge began; null while there is none. */
  runningSince(): number | null;
  /** Topics at which the broker has refused the last message, each with since when. */
  refused(): ReadonlyMap<string, number>;
  isHeard(): boolean;
  /** Whether the cloud has the valve, and can reach it. */
  isReachable(id: string): boolean;
  /** Whether the broker does not take what the bridge says of its health. */
  isHealthRefused(): boolean;
  /** Whether the broker shows a bridge all that it has stored, and marks it. Else it cannot see what another has announced. */
  showsStored(): boolean;
  /** Whether the bridge that is judged has that topic. */
  isOurs(topic: string): boolean;
  counted(check: string): void;
  violated(words: string): void;
}

const minuteMs = 60_000;

/** So long health may say what was so before; it is judged at every change and at least every ten seconds. */
const judgedMs = 30_000;

/** Every two minutes the bridge looks at what the broker has of its devices. */
const takenMs = 2 * minuteMs + judgedMs;

/** The cloud's wish to wait holds for the operation that it was said to, and not for longer than this. */
const longestPauseMs = 10 * minuteMs;

const vitalLists = { list_incidents: 'incidents', list_sonics: 'sonics' } as const;

/**
 * Health is true: it says `ok` only while the vital lists are read, measurements come, and the broker takes everything.
 * And what keeps it so is done: each vital list is asked for, whatever else happens.
 */
export class HealthJudge {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #crawls: Crawls;
  readonly #eyes: Eyes;
  readonly #circumstances: HealthCircumstances;
  /** When a page of a vital list was last asked for. */
  readonly #askedAt = new Map<string, number>();
  /** Until when a vital list's own answer has told to wait. */
  readonly #pausedUntil = new Map<string, number>();
  /** Answers of measurements in a row that were not good, since when, and the last valve that was asked for. */
  #unmeasured: { readonly since: number; readonly count: number; readonly id: string } | null = null;
  /** Since when the cloud lets it in; null while it does not. */
  #letInSince: number | null = null;
  #okSince: number | null = null;
  #excusedUntil = 0;
  /** Since when another bridge has announced a device that this one shows. */
  #takenSince: number | null = null;

  constructor(
    retained: ReadonlyMap<string, string>,
    crawls: Crawls,
    eyes: Eyes,
    circumstances: HealthCircumstances,
  ) {
    this.#eyes = eyes;
    this.#retained = retained;
    this.#crawls = crawls;
    this.#circumstances = circumstances;
  }

  /** A bridge starts anew. */
  forget(): void {
    this.#askedAt.clear();
    this.#pausedUntil.clear();
    this.#unmeasured = null;
    this.#letInSince = null;
    this.#okSince = null;
  }

  /** Nothing can be asked for until then: the machine sleeps. */
  excuse(until: number): void {
    this.#excusedUntil = Math.max(this.#excusedUntil, until);
  }

  /** The bridge wants to send a request, whatever becomes of it. */
  asked({ operation }: SeenRequest): void {
    if (operation !== null) this.#askedAt.set(operation, this.#circumstances.now());
  }

  /** An answer has reached the bridge. */
  answered({ operation, params }: SeenRequest, status: number, retryAfterMs: number | null, text = ''): void {
    if (operation === null) return;
    const now = this.#circumstances.now();
    const isWithoutToken = isOfSession(operation) && (status !== 200 || !('token_details' in parsed(text)));
    const isDenied = status === 401 || isWithoutToken;
    this.#letInSince = isDenied ? null : (this.#letInSince ?? now);
    if (status === 429 || status === 503)
      this.#pausedUntil.set(operation, now + Math.min(longestPauseMs, retryAfterMs ?? 2_000));
    if (!/^read_(wifi_)?telemetry$/.test(operation)) return;
    if (status === 200) this.#unmeasured = null;
    else {
      const { since, count } = this.#unmeasured ?? { since: now, count: 0 };
      this.#unmeasured = { since, count: count + 1, id: params['sonic_id'] ?? '' };
    }
  }

  /** To be called every ten seconds. */
  look(): void {
    const { now, runningSince, isHealthRefused, counted, violated } = this.#circumstances;
    const since = runningSince();
    if (since === null || now() < this.#excusedUntil) {
      this.#okSince = null;
      return;
    }
    this.#lookAtFloor(since);
    // Of a valve that has gone, or has no link, nobody measures anything.
    if (this.#unmeasured && !this.#circumstances.isReachable(this.#unmeasured.id)) this.#unmeasured = null;
    if (isHealthRefused() || !isHealthOk(this.#retained)) {
      this.#okSince = null;
      this.#takenSince = null;
      return;
    }
    this.#okSince ??= now();
    if (now() - this.#okSince < judgedMs || !this.#circumstances.isHeard()) return;
    counted('health is ok only where all is well');
    const problem = this.#problem(since);
    if (problem === null) return;
    violated(`health is ok although ${problem}`);
    this.#okSince = now() + 10 * minuteMs;
  }

  #problem(since: number): string | null {
    const { now, bounds, refused, showsStored } = this.#circumstances;
    const { windowMs } = bounds();
    for (const [list, source] of Object.entries(vitalLists)) {
      const age = now() - Math.max(since, this.#crawls.last(list)?.askedAt ?? 0);
      if (age > windowMs[source]) return `${list} was not read whole for ${Math.round(age / 1_000)} s`;
    }
    for (const [topic, at] of refused())
      if (now() - at > minuteMs + judgedMs) return `the broker refuses ${topic}`;
    const strangers = showsStored() ? this.#devicesOfOthers() : [];
    if (strangers.length > 0) {
      this.#takenSince ??= now();
      if (now() - this.#takenSince > takenMs) return `another bridge announces ${strangers[0]}`;
    } else this.#takenSince = null;
    const { count = 0, since: unmeasuredSince = 0 } = this.#unmeasured ?? {};
    const isDue = count > 2 && now() - unmeasuredSince > windowMs.telemetry;
    return isDue ? 'no measurement was read' : null;
  }

  /** Devices of this bridge that Home Assistant has from another one. */
  #devicesOfOthers(): string[] {
    const { isOurs } = this.#circumstances;
    return [...this.#eyes.deviceIds].filter((id) => {
      const [entity] = this.#eyes.entitiesOf(id);
      if (!entity || isOurs(entity.availabilityTopics[0] ?? '')) return false;
      const topics = ['property', 'signal', 'sonic'].map((kind) => `sonic2mqtt/${kind}/${id}`);
      return id === '' || topics.some((topic) => this.#retained.has(topic));
    });
  }

  #lookAtFloor(since: number): void {
    const { now, bounds, counted, violated } = this.#circumstances;
    const letInSince = this.#letInSince;
    if (letInSince === null) return;
    for (const [list, source] of Object.entries(vitalLists)) {
      const from = Math.max(
        since,
        letInSince,
        this.#excusedUntil,
        this.#askedAt.get(list) ?? 0,
        this.#pausedUntil.get(list) ?? 0,
      );
      const limitMs = bounds().floorMs[source] + slackMs / 2;
      counted('each vital list is asked for');
      if (now() - from <= limitMs) continue;
      violated(`${list} was not asked for ${Math.round((now() - from) / 1_000)} s`);
      this.#pausedUntil.set(list, now() + 10 * minuteMs);
    }
  }
}

function isOfSession(operation: string): boolean {
  return operation === 'sign_in' || operation === 'refresh_token';
}
