import type { Simulator } from '../../src/simulator/simulator.ts';
import type { BrokerTap } from '../simulation/virtualBroker.ts';
import type { ChangedAnswer, CloudTap, SeenRequest } from '../simulation/virtualCloud.ts';
import type { VirtualTime } from '../simulation/virtualTime.ts';
import { type Bounds, loosest, type Source, slackMs } from './bounds.ts';
import { Crawls } from './crawls.ts';
import { DiscoveredEntities } from './discoveredEntities.ts';
import { HealthJudge } from './healthJudge.ts';
import { isHealthOk, LeakJudge } from './leakJudge.ts';
import { MoveJudge, moveOf } from './moveJudge.ts';
import { type Memory, PauseJudge } from './pauseJudge.ts';
import { RecordJudge } from './recordJudge.ts';
import type { Shown } from './recordTruths.ts';
import { type ShownContext, ShownJudge } from './shownJudge.ts';
import { TotalJudge } from './totalJudge.ts';
import { WaterSamples } from './waterSamples.ts';
import { WorldHistory } from './worldHistory.ts';

export interface OracleOptions {
  readonly time: VirtualTime;
  /** The start of the simulation, in ms since 1970. */
  readonly epochMs: number;
  readonly simulator: Simulator;
  /** The retained messages on the broker, by topic. */
  readonly retained: ReadonlyMap<string, string>;
  readonly bounds: Bounds;
  readonly trace?: (line: string) => void;
  /** The base topic of the judged bridge. */
  readonly base?: string;
}

const hourMs = 3_600_000;

/** The bridge sends a refused message again at least this often. */
const sentAgainMs = 11 * 60_000;

/**
 * If the cloud does not answer a single read of an incident, the bridge closes it with the third list without
 * it, so after two more lists.
 */
const maxListsInDoubt = 2;

/** The schedules whose data depend on the answer to an operation. */
const sourcesOf: readonly (readonly [pattern: RegExp, sources: readonly Source[]])[] = [
  [/incident/, ['incidents']],
  [/usage/, ['usage']],
  [/telemetry/, ['telemetry']],
  [/pressure_tests/, ['pressure_tests']],
  [/signal|hub/, ['signals', 'sonics', 'incidents']],
  [/sonic/, ['sonics', 'incidents', 'usage']],
  [/propert|settings/, ['properties', 'incidents', 'usage']],
];

/**
 * The oracle judges whether a bridge keeps its promises (docs/internals/promises.md). It works only from
 * outside: it sees the messages that the broker accepted, the requests that reached the cloud, and the true
 * state of the simulated cloud at every moment. It never reads the state of the bridge.
 *
 * Each promise has one judge in this folder, for example `LeakJudge` for "a leak is heard". A judge receives
 * what happens, compares it with the truth, and reports each broken promise as a violation. It must also
 * allow for everything that excuses a bridge: data takes time to arrive, a broker refuses messages, a cloud
 * gives wrong answers. `WorldHistory` keeps the truth of the last hours, `DiscoveredEntities` what Home
 * Assistant would show, and `recordTruths.ts` what each entity must show. The oracle passes all events to its
 * judges, and tells them what they need to know of each other.
 *
 * Simulated days (test/simulation) and most stories (test/stories) run with an oracle, and fail if it reports
 * a violation. Its own tests, test/simulation/oracle.test.ts, make it judge false messages.
 */
export class Oracle {
  readonly violations: string[] = [];
  /** How often each kind of check was made. A check that is never made proves nothing. */
  readonly checks = new Map<string, number>();
  readonly #options: OracleOptions;
  #bounds: Bounds;
  /** The entities that Home Assistant would have, and their states. */
  readonly entities: DiscoveredEntities;
  readonly #history: WorldHistory;
  readonly #water: WaterSamples;
  readonly #crawls = new Crawls();
  readonly #shown: ShownJudge;
  readonly #leak: LeakJudge;
  readonly #move: MoveJudge;
  readonly pauses: PauseJudge;
  readonly #health: HealthJudge;
  readonly #totals: TotalJudge;
  readonly #records: RecordJudge;
  /** When a request to move a valve was last sent, by sonic and action, in ms since 1970. */
  readonly #requestedAt = new Map<string, number>();
  /** The unaltered answers of the cloud, by the number of their request. */
  readonly #cloudAnswers = new Map<number, string>();
  /** When the bridge last received wrong data, by schedule. */
  readonly #misledAt = new Map<Source, number>();
  /**
   * When the cloud last accepted a movement, by sonic and the position on the way, `opening` or `closing`.
   */
  readonly #acceptedAt = new Map<string, number>();
  /**
   * Incidents that the bridge has read one by one: when it began with the last list that counts, how many lists came
   * since the first, and for how many of them the incident may stay open.
   */
  readonly #incidentsInDoubt = new Map<
    string,
    { readonly at: number; readonly lists: number; readonly most: number }
  >();
  readonly #refused = new Map<string, number>();
  #healthRefusedAt = 0;
  readonly #base: string;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #runningSince: number | null = null;
  #isLinked = false;
  #linkedSince = 0;
  #excusedUntil = 0;
  #bridges = 1;
  #othersUntil = Number.NEGATIVE_INFINITY;
  /** False while another bridge publishes, on the same topics, data that it has read itself. */
  isAlone = true;
  /** What a run that begins now finds of what earlier ones have saved. */
  memory: () => Memory = () => 'kept';
  /** Whether the broker delivers all retained messages, with their retain flag. */
  showsRetained: () => boolean = () => true;
  /** The largest error of the bridge's wall clock, in ms. */
  wallErrorMs = 0;
  /** Whether the device belongs to another account, whose bridge shows it on the same topics. */
  isOfOtherAccount: (id: string) => boolean = () => false;

  constructor(options: OracleOptions) {
    this.#options = options;
    this.#bounds = options.bounds;
    const { time, epochMs, simulator, retained } = options;
    const now = () => epochMs + time.now;
    const common: ShownContext = {
      now,
      after: (delayMs, run) => void time.after(delayMs, run),
      bounds: () => this.#bounds,
      isOurs: (topic) => topic.startsWith(`${this.#base}/`),
      isOfOtherAccount: (id) => this.isOfOtherAccount(id),
      isRefused: (topic) => this.#refused.has(topic),
      isMisled: (source) => this.isMisled(source),
      areIncidentsUnread: () =>
        time.now - this.#crawls.lastAskedAt('list_incidents') > this.#bounds.maxAgeMs.incidents,
      incidentsInDoubt: () =>
        [...this.#incidentsInDoubt].flatMap(([id, { at, lists, most }]) =>
          time.now - at < slackMs || lists < most ? [id] : [],
        ),
      isTravelling: (id, shown) => this.#isTravelling(id, shown),
      countCheck: (check) => this.#count(check),
      reportViolation: (words) => this.#violated(words),
    };
    // The world is read once here. Asking the simulator for it triggers events that are due, which would be
    // too early in the middle of a change.
    const { world } = simulator;
    const history: WorldHistory = new WorldHistory(world, 12 * hourMs, () => {
      this.#shown?.worldChanged();
      this.pauses?.worldChanged(world);
    });
    this.#history = history;
    this.entities = new DiscoveredEntities(retained, (entity) => this.#shown.judge(entity));
    this.#base = options.base ?? 'sonic2mqtt';
    this.#water = new WaterSamples(now);
    this.#shown = new ShownJudge(history, this.entities, this.#water, common);
    const canPublish = () => this.#canPublish();
    const health = `${this.#base}/bridge/health`;
    const isHealthRefused = () => this.#refused.has(health) && time.now - this.#healthRefusedAt < sentAgainMs;
    const atEpoch = (timeMs: number) => epochMs + timeMs;
    const leak = {
      ...{ ...common, canPublish, isHealthRefused, atEpoch, base: this.#base },
      areSeveral: () => this.bridges > 1,
    };
    this.#leak = new LeakJudge(history, this.entities, retained, leak);
    this.#totals = new TotalJudge(common);
    this.pauses = new PauseJudge(retained, this.#base, {
      ...common,
      now: () => time.now,
      canPublish: () => canPublish() && this.isAlone && this.bridges === 1 && this.#hasRunFor(90_000),
      memory: () => this.memory(),
      showsRetained: () => this.showsRetained(),
      isHealthOk: () => !isHealthRefused() && isHealthOk(retained, `${this.#base}/bridge`),
    });
    this.#records = new RecordJudge({
      ...common,
      wallErrorMs: () => this.wallErrorMs,
      requestedAt: (id, action) => this.requestedAt(id, action),
      wasMovedBy: (id, action) => {
        const from = epochMs + time.now - this.#bounds.maxAgeMs.sonics;
        const moments = [...history.since(from)].map(({ moment }) => moment.valve(id)?.settled);
        return moments.includes(action === 'open' ? 'open' : 'closed');
      },
      longestMs: () => this.#bounds.confirmTimeoutMs + 6 * this.#bounds.requestTimeoutMs + slackMs,
      hasIncident: (id, types, incidentId) => {
        const incident = simulator.world.incidents.get(incidentId);
        return incident?.sonic_id === id && types.includes(incident.type ?? '');
      },
      hasBeenConnectedFor: (ms) =>
        this.isAlone &&
        !this.#areOthers &&
        canPublish() &&
        this.#refused.size === 0 &&
        time.now - Math.max(this.#linkedSince, this.#runningSince ?? time.now) > ms,
    });
    this.#move = new MoveJudge({
      ...common,
      now: () => time.now,
      requestTimeoutMs: () => this.#bounds.requestTimeoutMs,
      bridges: () => this.bridges,
    });
    this.#health = new HealthJudge(retained, this.#crawls, this.entities, {
      ...common,
      now: () => time.now,
      canPublish,
      isHealthRefused,
      showsRetained: () => this.showsRetained(),
      isReachable: (id) => history.latest.isReachable(id),
      runningSince: () => this.#runningSince,
      refused: () => this.#refused,
    });
    this.#checkRegularly();
  }

  /** Another bridge runs as well, or the same one with another configuration. The longest limits count. */
  widen(bounds: Bounds): void {
    this.#bounds = loosest(this.#bounds, bounds);
  }

  /** How many bridges receive the commands. */
  get bridges(): number {
    return this.#bridges;
  }

  set bridges(count: number) {
    // The broker has messages of either bridge until both have read the cloud and know of each other.
    if (count > this.#bridges) this.excuse(10_000);
    // The broker may still accept messages of a bridge shortly after its end.
    if (count < this.#bridges) this.#othersUntil = this.#options.time.now + 60_000;
    this.#bridges = count;
  }

  /** Whether another bridge uses the same topics, or has until a moment ago. */
  get #areOthers(): boolean {
    return this.#bridges > 1 || this.#options.time.now < this.#othersUntil;
  }

  /** A new run of the bridge begins. It knows nothing yet. */
  runBegan(): void {
    this.#runningSince = this.#options.time.now;
    // A run without its disk knows only what the broker delivers.
    this.#totals.runBegan(
      this.memory() === 'kept' || this.showsRetained() ? this.#options.retained : new Map(),
    );
    this.#move.forget();
    this.pauses.runBegan();
    this.#crawls.forget();
    this.#health.forget();
  }

  /** The bridge has stopped. */
  runEnded(): void {
    this.#runningSince = null;
  }

  /** From now on the cloud gives wrong answers about these. */
  misled(...sources: readonly Source[]): void {
    for (const source of sources) this.#misledAt.set(source, this.#options.time.now);
  }

  /**
   * Expects neither requests nor messages for this time, because a machine sleeps or a link is silently dead.
   */
  excuse(forMs: number): void {
    const until = this.#options.time.now + forMs;
    this.#excusedUntil = Math.max(this.#excusedUntil, until);
    this.#health.excuse(until);
  }

  /** The bridge is about to send a request. It may still fail. */
  asked(request: SeenRequest): void {
    this.#checkHealth();
    this.#health.asked(request);
    if (request.operation === 'read_incident') this.#noteInDoubt(request.params['incident_id'] ?? '');
  }

  readonly cloud: CloudTap = {
    sent: (request) => this.#sent(request),
    processed: (request, { status, text }) => {
      this.#crawls.processed(request, this.#options.time.now);
      this.#cloudAnswers.set(request.number, text);
      this.#sampleWater(request);
      this.#noteAccepted(request, status);
      this.pauses.processed(request, status);
    },
    answered: (request, answer) => this.#answered(request, answer),
    truncated: (request, status) => this.#health.answered(request, status, null),
    ended: (request) => {
      this.#move.ended(request);
      this.#cloudAnswers.delete(request.number);
    },
  };

  /** The requests of another bridge with the same account. */
  readonly cloudOfOther: CloudTap = {
    sent: (request) => this.#sent(request),
    processed: (request, { status }) => {
      this.#sampleWater(request);
      this.#noteAccepted(request, status);
    },
    answered: (request, { status, text }) => {
      this.#noteMeasured(request, String(text));
      if (status === 401 || status === 429) this.#move.rejected(request);
      this.#noteAccepted(request, status);
    },
    truncated: () => {},
  };

  readonly broker: BrokerTap = {
    handedOver: () => {},
    taken: (topic, payload, retain) => {
      this.#refused.delete(topic);
      this.#checkHealth();
      if (!retain) return;
      if (payload === '') this.#dropDeletedDevice(topic);
      if (topic.startsWith(`${this.#base}/`)) {
        this.#shown.take(topic, payload);
        this.#takeTotal(topic, payload);
        if (this.isAlone && this.bridges === 1) this.pauses.taken(topic, payload);
        if (this.isAlone) this.#records.take(topic, payload);
      }
      this.entities.take(topic, payload);
    },
    refused: (topic, retain, payload) => {
      // The bridge need not delete a message that does not exist.
      if (payload === '' && !this.#options.retained.has(topic)) return;
      // A refused message is lost unless it is retained. A retained message must be sent again until the
      // broker accepts it.
      if (retain && !this.#refused.has(topic)) this.#refused.set(topic, this.#options.time.now);
      if (topic === `${this.#base}/bridge/health`) this.#healthRefusedAt = this.#options.time.now;
    },
    delivered: (topic, payload, isFlagged, publishedAt) => {
      const message = { topic, payload, isFlagged, publishedAt, at: this.#options.time.now };
      this.#move.delivered(message);
      this.pauses.delivered(message);
    },
    deliveredToOther: (...message) => {
      // If the judged bridge is not connected, the other one carries out the command.
      if (!this.#isLinked) this.broker.delivered(...message);
    },
    linked: (isLinked) => {
      if (isLinked && !this.#isLinked) this.#linkedSince = this.#options.time.now;
      this.#isLinked = isLinked;
      // The bridge sends refused messages again on the next connection.
      if (isLinked) this.#refused.clear();
    },
  };

  /** Whether a device was recently in another property. The bridge may have read its lists at that time. */
  hasMoved(id: string): boolean {
    const { time, epochMs } = this.#options;
    const moments = [...this.#history.since(epochMs + time.now - this.#bounds.maxAgeMs.properties)];
    return new Set(moments.map(({ moment }) => moment.propertyOf(id))).size > 1;
  }

  /** When a request to move a valve was last sent, in ms since 1970. Null if none was. */
  requestedAt(id: string, action: string): number | null {
    return this.#requestedAt.get(`${id.toLowerCase()} ${action}`) ?? null;
  }

  judgeAll(): void {
    this.#shown.judgeAll();
  }

  #answered(request: SeenRequest, answer: ChangedAnswer): void {
    const { number, operation } = request;
    const text = String(answer.text);
    const { time } = this.#options;
    const isTrue = this.#cloudAnswers.get(number) === text;
    this.#noteAccepted(request, answer.status);
    const pauseMs = retryAfterMs(answer, this.#options.epochMs + time.now);
    this.#health.answered(request, answer.status, pauseMs, text);
    if (answer.status === 401 || answer.status === 429) this.#move.rejected(request);
    this.#noteMeasured(request, text);
    if (operation === 'read_daily_usage') this.#totals.usageRead(request.params['thing_id'] ?? '', text);
    const isFalse = !isTrue && answer.status === 200 && answer.isHonest !== true;
    for (const [pattern, sources] of sourcesOf)
      if (isFalse && pattern.test(operation ?? '')) this.misled(...sources);
    const listAskedAt = this.#crawls.answered(
      request,
      { ...answer, text },
      isTrue || answer.isWhole === true,
    );
    if (listAskedAt !== null && operation === 'list_incidents') {
      // A list with an old page from a cache tells nothing of newer incidents.
      if ((this.#misledAt.get('incidents') ?? -1) < listAskedAt) this.#leak.listRead(listAskedAt);
      // After each of these lists, the bridge shows the incident until it has read it by itself once more.
      for (const [id, { at, lists, most }] of this.#incidentsInDoubt)
        this.#incidentsInDoubt.set(id, { at: lists < most ? time.now : at, lists: lists + 1, most });
      // The bridge reads these as soon as its other requests leave room for them.
      for (const id of this.#closedIncidents()) this.#noteInDoubt(id);
    }
    const { incident_id: incidentId = '' } = request.params;
    const asked = this.#incidentsInDoubt.get(incidentId);
    const isAnswered = answer.status === 200 || answer.status === 404;
    if (asked && isAnswered) this.#incidentsInDoubt.set(incidentId, { ...asked, most: 0 });
  }

  /** The device was deleted. Refused messages of it that the broker never had are no longer needed. */
  #dropDeletedDevice(topic: string): void {
    const id = /^[^/]+\/(?:property|signal|sonic)\/([^/]+)$/.exec(topic)?.[1];
    if (id === undefined) return;
    for (const refused of this.#refused.keys())
      if (refused.includes(id) && !this.#options.retained.has(refused)) this.#refused.delete(refused);
  }

  #sent(request: SeenRequest): void {
    this.#move.sent(request);
    const move = moveOf(request);
    if (!move || move.isTest) return;
    const { epochMs, time } = this.#options;
    this.#requestedAt.set(`${move.thingId.toLowerCase()} ${move.action}`, epochMs + time.now);
  }

  #noteMeasured({ operation, params }: SeenRequest, text: string): void {
    const isMeasured = operation === 'read_telemetry' || operation === 'read_wifi_telemetry';
    if (isMeasured) this.#shown.measured(params['sonic_id'] ?? '', text);
  }

  #sampleWater({ operation, params }: SeenRequest): void {
    if (operation !== 'read_daily_usage') return;
    const { simulator, time, epochMs } = this.#options;
    const id = params['thing_id'] ?? '';
    // The bridge reads the time zone of a property less often than the usage.
    const moments = this.#history.since(epochMs + time.now - this.#bounds.maxAgeMs.properties);
    const zones = [...moments].map(({ moment }) => moment.timezoneOf(moment.propertyOf(id)));
    this.#water.take(simulator.world, id, new Set(zones));
  }

  /** Two topics show the total: the usage topic, and the long document for Home Assistant. */
  #takeTotal(topic: string, payload: string): void {
    const [, id] = /\/sonic\/([^/]+)\/(?:usage|homeassistant)$/.exec(topic) ?? [];
    if (id === undefined) return;
    const [, total] = /"(?:water_)?total":([\d.]+)/.exec(payload) ?? [];
    const isJudged = payload !== '' && this.isAlone && !this.#areOthers;
    if (!isJudged) this.#totals.forget(topic);
    else if (total !== undefined) this.#totals.show(topic, id, Number(total));
  }

  /** Only the status of an answer decides whether the cloud accepted the command. */
  #noteAccepted(request: SeenRequest, status: number): void {
    const move = moveOf(request);
    if (!move || status >= 300 || move.isTest) return;
    const word = move.action === 'open' ? 'opening' : 'closing';
    this.#acceptedAt.set(`${move.thingId} ${word}`, this.#options.time.now);
  }

  /** Incidents that the bridge has published as open, and that are closed in the cloud. */
  #closedIncidents(): string[] {
    const above = `${this.#base}/incident/`;
    const published = [...this.#options.retained.keys()].filter((topic) => topic.startsWith(above));
    const { incidents } = this.#history.latest;
    return published.map((topic) => topic.slice(above.length)).filter((id) => !incidents.get(id)?.open);
  }

  /** A second read does not prolong the time that the incident may stay open. */
  #noteInDoubt(incidentId: string): void {
    const { now } = this.#options.time;
    const { at } = this.#incidentsInDoubt.get(incidentId) ?? { at: Number.NEGATIVE_INFINITY };
    if (now - at > this.#bounds.maxAgeMs.incidents)
      this.#incidentsInDoubt.set(incidentId, { at: now, lists: 0, most: maxListsInDoubt });
  }

  /** Whether the bridge has recently received wrong data from this schedule. */
  isMisled(source: Source): boolean {
    const at = this.#misledAt.get(source);
    return at !== undefined && this.#options.time.now - at <= this.#bounds.maxAgeMs[source];
  }

  #isTravelling(id: string, shown: Shown): boolean {
    const at = this.#acceptedAt.get(`${id} ${shown}`);
    return at !== undefined && this.#options.time.now - at <= this.#bounds.confirmTimeoutMs + slackMs / 2;
  }

  #hasRunFor(ms: number): boolean {
    return this.#runningSince !== null && this.#options.time.now - this.#runningSince > ms;
  }

  #canPublish(): boolean {
    const { now } = this.#options.time;
    return this.#isLinked && now - this.#linkedSince > 30_000 && now >= this.#excusedUntil;
  }

  /** Checks health when something has happened, but at most every ten seconds. */
  #checkHealth(): void {
    const { now } = this.#options.time;
    if (now - this.#checkedAt < 10_000) return;
    this.#checkedAt = now;
    this.#health.check();
    this.pauses.check();
  }

  /** Checks health regularly, even if nothing happens. */
  #checkRegularly(): void {
    this.#checkHealth();
    const everyMs = Math.max(30_000, Math.min(...Object.values(this.#bounds.maxGapMs)) / 2);
    this.#options.time.after(everyMs, () => this.#checkRegularly());
  }

  #count(check: string): void {
    this.checks.set(check, (this.checks.get(check) ?? 0) + 1);
  }

  #violated(words: string): void {
    if (this.violations.length > 50) return;
    this.#options.trace?.(`!! ${words}`);
    this.violations.push(words);
  }
}

/**
 * The time to wait that `retry-after` gives, in seconds or as a date. Null if it makes no sense. `now` is in
 * ms since 1970.
 */
function retryAfterMs({ headers }: Pick<ChangedAnswer, 'headers'>, now: number): number | null {
  const text = headers['retry-after'] ?? '';
  const ms = /^[\d.]+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return ms > 0 ? ms : null;
}
