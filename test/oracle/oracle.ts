import type { Simulator } from '../../src/simulator/simulator.ts';
import type { BrokerTap } from '../simulation/virtualBroker.ts';
import type { CloudTap, SeenRequest, TwistedAnswer } from '../simulation/virtualCloud.ts';
import type { VirtualTime } from '../simulation/virtualTime.ts';
import { type Bounds, type Source, slackMs, widest } from './bounds.ts';
import { Crawls } from './crawls.ts';
import { Eyes } from './eyes.ts';
import { HealthJudge } from './healthJudge.ts';
import { LeakJudge } from './leakJudge.ts';
import { MoveJudge, moveOf } from './moveJudge.ts';
import { PauseJudge } from './pauseJudge.ts';
import { RecordJudge } from './recordJudge.ts';
import type { Shown } from './recordTruths.ts';
import { type Circumstances, ShownJudge } from './shownJudge.ts';
import { TotalJudge } from './totalJudge.ts';
import { WaterSamples } from './waterSamples.ts';
import { WorldHistory } from './worldHistory.ts';

export interface OracleOptions {
  readonly time: VirtualTime;
  /** Ms since 1970 when the time began. */
  readonly epochMs: number;
  readonly simulator: Simulator;
  /** What the broker has. */
  readonly retained: ReadonlyMap<string, string>;
  readonly bounds: Bounds;
  readonly trace?: (line: string) => void;
  /** Below which the bridge that is judged has its topics. */
  readonly base?: string;
}

const hourMs = 3_600_000;

/** What the broker refuses is sent again at least so often. */
const sentAgainMs = 11 * 60_000;

/** An incident for which the cloud does not answer by itself closes with the third list that is without it. */
const maxListsInDoubt = 2;

/** By the status of that answer; if the cloud refuses it, with the second list. */
const listsInDoubt: Readonly<Record<number, number>> = { 200: 0, 404: 0, 403: 1 };

/** Which sources an operation reads. */
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
 * Judges a bridge by its promises, from outside: by the messages that the broker took, by the requests that reached the
 * cloud, and by the world as it was all the time. It never looks inside.
 */
export class Oracle {
  readonly violations: string[] = [];
  /** How often each kind of check was made, so that none is vacuous. */
  readonly checks = new Map<string, number>();
  readonly #options: OracleOptions;
  #bounds: Bounds;
  /** What Home Assistant makes of it. */
  readonly eyes: Eyes;
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
  /** When the cloud may last have received a request to move a valve, by sonic and action, in ms since 1970. */
  readonly #requestedAt = new Map<string, number>();
  /** Answers as the cloud gave them, by the number of their request. */
  readonly #given = new Map<number, string>();
  /** When the cloud last told something else than the truth, by what it is read with. */
  readonly #misledAt = new Map<Source, number>();
  /** When the cloud last accepted a movement, by sonic and word. */
  readonly #acceptedAt = new Map<string, number>();
  /** When the bridge first asked for an incident by itself, by id, how many lists came since, and for how many it may count. */
  readonly #askedForAlone = new Map<
    string,
    { readonly at: number; readonly lists: number; readonly most: number }
  >();
  readonly #refused = new Map<string, number>();
  /** What the broker had refused when the connection began, until it has that. */
  #sentAgain = new Set<string>();
  /** Topics of the bridge at which somebody else has written last. */
  readonly #forged = new Set<string>();
  /** When the broker last refused what the bridge says of its health. */
  #healthRefusedAt = 0;
  readonly #base: string;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #runningSince: number | null = null;
  #isLinked = false;
  #linkedSince = 0;
  #isMuteUntil = 0;
  #bridges = 1;
  #othersUntil = Number.NEGATIVE_INFINITY;
  /** Whether no other bridge has the same topics, and shows what it has read itself. */
  isAlone = true;
  /** Whether what the bridge writes on its disk is there after a restart. */
  canRemember: () => boolean = () => true;
  /** Whether the broker marks what it has stored. */
  showsStored: () => boolean = () => true;
  /** How far the bridge's wall clock may be off, in ms. */
  wallErrorMs = 0;
  /** Whether another account has the device, which a bridge of its own shows at the same topics. */
  isOfOtherAccount: (id: string) => boolean = () => false;

  constructor(options: OracleOptions) {
    this.#options = options;
    this.#bounds = options.bounds;
    const { time, epochMs, simulator, retained } = options;
    const now = () => epochMs + time.now;
    const common: Circumstances = {
      now,
      after: (delayMs, run) => void time.after(delayMs, run),
      bounds: () => this.#bounds,
      isOurs: (topic) => topic.startsWith(`${this.#base}/`),
      isOfOtherAccount: (id) => this.isOfOtherAccount(id),
      isRefused: (topic) =>
        this.#refused.has(topic) || (this.#sentAgain.has(topic) && time.now - this.#linkedSince < 10_000),
      isForged: (topic) => this.#forged.has(topic),
      isMisled: (source) => this.isMisled(source),
      areIncidentsUnread: () =>
        time.now - (this.#crawls.last('list_incidents')?.askedAt ?? 0) > this.#bounds.windowMs.incidents,
      askedForAlone: () =>
        [...this.#askedForAlone].flatMap(([id, { at, lists, most }]) =>
          time.now - at < slackMs || lists < most ? [id] : [],
        ),
      isBeingTidied: (id) => !history.latest.has(id) && time.now - this.#linkedSince < 10_000,
      isTravelling: (id, shown) => this.#isTravelling(id, shown),
      counted: (check) => this.#count(check),
      violated: (words) => this.#violated(words),
    };
    // Once, since asking the simulator for it lets happen what is due, and in the middle of a change that is too early.
    const { world } = simulator;
    const history: WorldHistory = new WorldHistory(world, 12 * hourMs, () => {
      this.#shown?.worldChanged();
      this.pauses?.worldChanged(world);
    });
    this.#history = history;
    this.eyes = new Eyes(retained, (entity) => this.#shown.judge(entity));
    this.#base = options.base ?? 'sonic2mqtt';
    this.#water = new WaterSamples(now);
    this.#shown = new ShownJudge(history, this.eyes, this.#water, common);
    const isHeard = () => this.#isHeard();
    const health = `${this.#base}/bridge/health`;
    const isHealthRefused = () => this.#refused.has(health) && time.now - this.#healthRefusedAt < sentAgainMs;
    const atEpoch = (timeMs: number) => epochMs + timeMs;
    const leak = {
      ...{ ...common, isHeard, isHealthRefused, atEpoch, base: this.#base },
      areSeveral: () => this.bridges > 1,
    };
    this.#leak = new LeakJudge(history, this.eyes, retained, leak);
    this.#totals = new TotalJudge(common);
    this.pauses = new PauseJudge(retained, this.#base, {
      ...common,
      now: () => time.now,
      isHeard: () => isHeard() && this.isAlone && this.bridges === 1 && this.#hasRunFor(90_000),
      canRemember: () => this.canRemember(),
    });
    this.#records = new RecordJudge({
      ...common,
      wallErrorMs: () => this.wallErrorMs,
      requestedAt: (id, action) => this.#requestedAt.get(`${id.toLowerCase()} ${action}`) ?? null,
      longestMs: () => this.#bounds.confirmTimeoutMs + 6 * this.#bounds.requestTimeoutMs + slackMs,
      hasIncident: (id, types, incidentId) => {
        const incident = simulator.world.incidents.get(incidentId);
        return incident?.sonic_id === id && types.includes(incident.type ?? '');
      },
      isHeardFor: (ms) =>
        this.isAlone &&
        !this.#areOthers &&
        isHeard() &&
        this.#refused.size === 0 &&
        time.now - Math.max(this.#linkedSince, this.#runningSince ?? time.now) > ms,
    });
    this.#move = new MoveJudge({
      ...common,
      now: () => time.now,
      requestTimeoutMs: () => this.#bounds.requestTimeoutMs,
      bridges: () => this.bridges,
    });
    this.#health = new HealthJudge(retained, this.#crawls, this.eyes, {
      ...common,
      now: () => time.now,
      isHeard,
      isHealthRefused,
      showsStored: () => this.showsStored(),
      isReachable: (id) => history.latest.isReachable(id),
      runningSince: () => this.#runningSince,
      refused: () => this.#refused,
    });
    this.#look();
  }

  /** Another bridge works too, or the same by another configuration: the most patient of them counts. */
  widen(bounds: Bounds): void {
    this.#bounds = widest(this.#bounds, bounds);
  }

  /** How many bridges hear the commands. */
  get bridges(): number {
    return this.#bridges;
  }

  set bridges(count: number) {
    // Until both have read the cloud and heard of each other, the broker has what either of them says.
    if (count > this.#bridges) this.mute(10_000);
    // The broker may take what a bridge has sent just after it has ended.
    if (count < this.#bridges) this.#othersUntil = this.#options.time.now + 60_000;
    this.#bridges = count;
  }

  /** Whether another bridge uses the same topics, or has until a moment ago. */
  get #areOthers(): boolean {
    return this.#bridges > 1 || this.#options.time.now < this.#othersUntil;
  }

  /** A run of the bridge begins, knowing nothing. */
  runBegan(): void {
    this.#runningSince = this.#options.time.now;
    // Without its disk a run knows only what the broker tells it.
    this.#totals.runBegan(this.canRemember() || this.showsStored() ? this.#options.retained : new Map());
    this.#move.forget();
    this.pauses.runBegan();
    this.#crawls.forget();
    this.#health.forget();
  }

  /** The bridge is not there any more. */
  runEnded(): void {
    this.#runningSince = null;
  }

  /** The cloud tells something else than the truth now. */
  misled(...sources: readonly Source[]): void {
    for (const source of sources) this.#misledAt.set(source, this.#options.time.now);
  }

  /** For so long neither the bridge nor its messages can be expected: a machine sleeps, a link is silently dead. */
  mute(forMs: number): void {
    const until = this.#options.time.now + forMs;
    this.#isMuteUntil = Math.max(this.#isMuteUntil, until);
    this.#health.excuse(until);
  }

  /** Somebody else has written there: until the bridge does so again, nothing that depends on it is its word. */
  forged(topic: string): void {
    this.#forged.add(topic);
  }

  /** The bridge wants to send a request, whatever becomes of it. */
  asked(request: SeenRequest): void {
    this.#glance();
    this.#health.asked(request);
    if (request.operation === 'read_incident') this.#noteInDoubt(request.params['incident_id'] ?? '');
  }

  readonly cloud: CloudTap = {
    sent: (request) => this.#sent(request),
    judged: (request, { status, text }) => {
      this.#crawls.judged(request, this.#options.time.now);
      this.#given.set(request.number, text);
      this.#sampleWater(request);
      this.#noteAccepted(request, status);
      this.pauses.judged(request, status);
    },
    answered: (request, answer) => this.#answered(request, answer),
    torn: (request, status) => this.#health.answered(request, status, null),
    ended: (request) => {
      this.#move.ended(request);
      this.#given.delete(request.number);
    },
  };

  /** What another bridge of the same account says to the cloud. */
  readonly cloudOfOther: CloudTap = {
    sent: (request) => this.#sent(request),
    judged: (request, { status }) => {
      this.#sampleWater(request);
      this.#noteAccepted(request, status);
    },
    answered: (request, { status, text }) => {
      this.#noteMeasured(request, String(text));
      if (status === 401 || status === 429) this.#move.givenBack(request);
      this.#noteAccepted(request, status);
    },
    torn: () => {},
  };

  readonly broker: BrokerTap = {
    handedOver: () => {},
    taken: (topic, payload, retain) => {
      this.#refused.delete(topic);
      this.#sentAgain.delete(topic);
      this.#forged.delete(topic);
      this.#glance();
      if (!retain) return;
      if (payload === '') this.#forgiveGone(topic);
      if (topic.startsWith(`${this.#base}/`)) {
        this.#shown.take(topic, payload);
        this.#takeTotal(topic, payload);
        if (this.isAlone && this.bridges === 1) this.pauses.taken(topic, payload);
        if (this.isAlone) this.#records.take(topic, payload);
      }
      this.eyes.take(topic, payload);
    },
    refused: (topic, retain, payload) => {
      // To delete what is not there is not owed.
      if (payload === '' && !this.#options.retained.has(topic)) return;
      // What is said once is lost with that; what is kept is owed until the broker has it.
      if (retain && !this.#refused.has(topic)) this.#refused.set(topic, this.#options.time.now);
      if (topic === `${this.#base}/bridge/health`) this.#healthRefusedAt = this.#options.time.now;
    },
    delivered: (topic, payload, isFlagged, publishedAt) => {
      const message = { topic, payload, isFlagged, publishedAt, at: this.#options.time.now };
      this.#move.delivered(message);
      this.pauses.delivered(message);
    },
    deliveredToOther: (...message) => {
      // A bridge that is alone on a topic by then does as it is told.
      if (!this.#isLinked) this.broker.delivered(...message);
    },
    linked: (isLinked) => {
      if (isLinked && !this.#isLinked) this.#linkedSince = this.#options.time.now;
      this.#isLinked = isLinked;
      // What was refused is sent again with the next connection.
      if (isLinked) this.#sentAgain = new Set(this.#refused.keys());
      if (isLinked) this.#refused.clear();
    },
  };

  /** Whether a device was in another property lately: the lists that tell of it may have been read then. */
  hasMoved(id: string): boolean {
    const { time, epochMs } = this.#options;
    const moments = [...this.#history.since(epochMs + time.now - this.#bounds.windowMs.properties)];
    return new Set(moments.map(({ moment }) => moment.propertyOf(id))).size > 1;
  }

  /** Judges all that is shown now. */
  judgeAll(): void {
    this.#shown.judgeAll();
  }

  #answered(request: SeenRequest, answer: TwistedAnswer): void {
    const { number, operation } = request;
    const text = String(answer.text);
    const { time } = this.#options;
    const isTrue = this.#given.get(number) === text;
    this.#noteAccepted(request, answer.status);
    if (!this.#given.has(number)) this.pauses.judged(request, answer.status, false);
    const pauseMs = retryAfterMs(answer, this.#options.epochMs + time.now);
    this.#health.answered(request, answer.status, pauseMs, text);
    if (answer.status === 401 || answer.status === 429) this.#move.givenBack(request);
    this.#noteMeasured(request, text);
    if (operation === 'read_daily_usage') this.#totals.heard(request.params['thing_id'] ?? '', text);
    const crawl = this.#crawls.answered(
      request,
      { ...answer, text },
      isTrue || answer.isWhole === true,
      time.now,
    );
    if (crawl && operation === 'list_incidents') {
      this.#leak.listRead(crawl);
      for (const [id, asked] of this.#askedForAlone)
        this.#askedForAlone.set(id, { ...asked, lists: asked.lists + 1 });
      // The bridge asks for these as soon as its other requests leave it room.
      for (const id of this.#closedIncidents()) this.#noteInDoubt(id);
    }
    const { incident_id: incidentId = '' } = request.params;
    const asked = this.#askedForAlone.get(incidentId);
    const most = listsInDoubt[answer.status];
    if (asked && most !== undefined) this.#askedForAlone.set(incidentId, { ...asked, most });
    if (isTrue || answer.status !== 200 || answer.isHonest === true || operation === null) return;
    for (const [pattern, sources] of sourcesOf) if (pattern.test(operation)) this.misled(...sources);
  }

  /** Of a device that is gone nothing is owed that the broker has never had. */
  #forgiveGone(topic: string): void {
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
    // A property's time zone is read with the properties, which are read more rarely.
    const moments = this.#history.since(epochMs + time.now - this.#bounds.windowMs.properties);
    const zones = [...moments].map(({ moment }) => moment.timezoneOf(moment.propertyOf(id)));
    this.#water.take(simulator.world, id, new Set(zones));
  }

  /** Two topics show it: that of usage, and that of the entities, which is long. */
  #takeTotal(topic: string, payload: string): void {
    const [, id] = /\/sonic\/([^/]+)\/(?:usage|homeassistant)$/.exec(topic) ?? [];
    if (id === undefined) return;
    const [, total] = /"(?:water_)?total":([\d.]+)/.exec(payload) ?? [];
    const isJudged = payload !== '' && this.isAlone && !this.#areOthers;
    if (!isJudged) this.#totals.forget(topic);
    else if (total !== undefined) this.#totals.show(topic, id, Number(total));
  }

  /** Success is the status, whatever the body. */
  #noteAccepted(request: SeenRequest, status: number): void {
    const move = moveOf(request);
    if (!move || status >= 300 || move.isTest) return;
    const word = move.action === 'open' ? 'opening' : 'closing';
    this.#acceptedAt.set(`${move.thingId} ${word}`, this.#options.time.now);
  }

  /** Those that the bridge has published as open, and that are not. */
  #closedIncidents(): string[] {
    const above = `${this.#base}/incident/`;
    const published = [...this.#options.retained.keys()].filter((topic) => topic.startsWith(above));
    const { incidents } = this.#history.latest;
    return published.map((topic) => topic.slice(above.length)).filter((id) => !incidents.get(id)?.open);
  }

  /** Asking again does not prolong it. */
  #noteInDoubt(incidentId: string): void {
    const { now } = this.#options.time;
    const { at } = this.#askedForAlone.get(incidentId) ?? { at: Number.NEGATIVE_INFINITY };
    if (now - at > this.#bounds.windowMs.incidents)
      this.#askedForAlone.set(incidentId, { at: now, lists: 0, most: maxListsInDoubt });
  }

  /** Whether the cloud has told something else than the truth of this lately. */
  isMisled(source: Source): boolean {
    const at = this.#misledAt.get(source);
    return at !== undefined && this.#options.time.now - at <= this.#bounds.windowMs[source];
  }

  #isTravelling(id: string, shown: Shown): boolean {
    const at = this.#acceptedAt.get(`${id} ${shown}`);
    return at !== undefined && this.#options.time.now - at <= this.#bounds.confirmTimeoutMs + slackMs / 2;
  }

  #hasRunFor(ms: number): boolean {
    return this.#runningSince !== null && this.#options.time.now - this.#runningSince > ms;
  }

  #isHeard(): boolean {
    const { now } = this.#options.time;
    return this.#isLinked && now - this.#linkedSince > 30_000 && now >= this.#isMuteUntil;
  }

  /** Looks at health where something has happened, ten seconds apart at least. */
  #glance(): void {
    const { now } = this.#options.time;
    if (now - this.#lookedAt < 10_000) return;
    this.#lookedAt = now;
    this.#health.look();
    this.pauses.look();
  }

  /** Looks where nothing happens, too. */
  #look(): void {
    this.#glance();
    const everyMs = Math.max(30_000, Math.min(...Object.values(this.#bounds.floorMs)) / 2);
    this.#options.time.after(everyMs, () => this.#look());
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

/** In seconds, or until a date; null where it says nothing sensible. `now` is in ms since 1970. */
function retryAfterMs({ headers }: Pick<TwistedAnswer, 'headers'>, now: number): number | null {
  const text = headers['retry-after'] ?? '';
  const ms = /^[\d.]+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return ms > 0 ? ms : null;
}
