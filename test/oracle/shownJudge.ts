import { type Bounds, type Source, slackMs } from './bounds.ts';
import type { Eyes, SeenEntity } from './eyes.ts';
import { parsed } from './eyes.ts';
import { rawTruths } from './rawTruths.ts';
import { isAt, type Place, recordTruths, type Shown } from './recordTruths.ts';
import { isWaterUse, type WaterSamples } from './waterSamples.ts';
import type { Moment, WorldHistory, WorldView } from './worldHistory.ts';

type Kind = keyof typeof recordTruths;

/** What is asked of an entity or field, which is the same for as long as it is announced. */
interface Question {
  readonly kind: Kind;
  readonly source: Source;
  /** What it has to show; null where nothing is known of that. */
  readonly truth: ((place: Place) => Shown) | null;
  /** Whether it is a field of a document, which is no entity. */
  readonly isField: boolean;
  readonly isWaterUse: boolean;
  readonly isMeasurement: boolean;
  /** What it shows while nothing is wrong that only a device itself can notice; null where it shows no such thing. */
  readonly allIsWell: ((state: Shown) => boolean) | null;
}

/** A document with one word has one field. */
const availability = 'availability#availability';

/** Details are asked for one by one, again and again where they fail. */
const readAgainMs = 6 * 60_000;

/** What the judge is told by those who look at other things. */
export interface Circumstances {
  /** Ms since 1970. */
  now(): number;
  after(delayMs: number, run: () => void): void;
  bounds(): Bounds;
  /** Whether the bridge that is judged has that topic. */
  isOurs(topic: string): boolean;
  /** Whether another account has the device. */
  isOfOtherAccount(id: string): boolean;
  /** Whether the broker has refused the bridge's last message there. */
  isRefused(topic: string): boolean;
  /** Whether the device is gone, and what the broker has of it is deleted with the connection that has just begun. */
  isBeingTidied(id: string): boolean;
  /** Whether somebody else has written there since. */
  isForged(topic: string): boolean;
  /** Whether the cloud has told something else than the truth of this lately. */
  isMisled(source: Source): boolean;
  /** Whether the list of incidents could not be read for longer than what it tells may be shown. */
  areIncidentsUnread(): boolean;
  /** The incidents for each of which the bridge has just asked by itself. */
  askedForAlone(): readonly string[];
  /** Whether the cloud has accepted that this valve moves to there, so that it may be shown on its way. */
  isTravelling(id: string, shown: Shown): boolean;
  counted(check: string): void;
  violated(words: string): void;
}

/**
 * Shown is true: whatever an entity or a topic shows, available and known, was so in the cloud not too long ago. It judges
 * what a message changes at once, and what has become untrue when it may not be shown any longer.
 */
export class ShownJudge {
  readonly #history: WorldHistory;
  readonly #eyes: Eyes;
  readonly #water: WaterSamples;
  readonly #circumstances: Circumstances;
  /** Fields of documents, by topic, each as an entity that shows it. */
  readonly #fields = new Map<string, SeenEntity[]>();
  /** Null where nothing is asked of it. */
  readonly #questions = new WeakMap<SeenEntity, Question | null>();
  readonly #toCome = new Set<string>();
  /** By valve, when it measured no flow by an answer of the cloud, in Unix seconds. */
  readonly #rests = new Map<string, Set<unknown>>();
  /** The last words of whether the cloud's data is fresh, and of whether the bridge is there. */
  readonly #there: Record<string, string> = { cloud: 'offline', state: 'offline' };
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(history: WorldHistory, eyes: Eyes, water: WaterSamples, circumstances: Circumstances) {
    this.#history = history;
    this.#eyes = eyes;
    this.#water = water;
    this.#circumstances = circumstances;
  }

  /** A message that the broker took, before the eyes have seen it. */
  take(topic: string, payload: string): void {
    const [, , word] = /\/bridge(_\d+)?\/(cloud|state)$/.exec(topic) ?? [];
    if (word !== undefined) {
      if (payload === 'online' && this.#there[word] !== payload) this.#backAt = this.#circumstances.now();
      this.#there[word] = payload;
    }
    const [, base, kind, id, path = ''] =
      /^(.+)\/(property|signal|sonic)\/([^/]+)(?:\/(.+))?$/.exec(topic) ?? [];
    if (base === undefined || id === undefined) return;
    const truths = rawTruths[kind as Kind][path];
    if (!truths) return;
    if (payload === '') {
      this.#fields.delete(topic);
      return;
    }
    const document = path === 'availability' ? { availability: payload } : parsed(payload);
    const fields =
      this.#fields.get(topic) ??
      Object.keys(truths).map((key): SeenEntity => {
        const needs = [`${base}/bridge/state`, `${base}/bridge/cloud`];
        const isOfDevice = kind !== 'property' && path !== 'incidents' && path !== 'availability';
        const availabilityTopics = isOfDevice ? [...needs, `${base}/${kind}/${id}/availability`] : needs;
        return { id, componentId: `${path}#${key}`, stateTopic: topic, key, availabilityTopics, state: null };
      });
    this.#fields.set(topic, fields);
    for (const field of fields) {
      const value = document[field.key];
      const state =
        typeof value === 'boolean' ? String(value) : typeof value === 'object' ? null : (value as Shown);
      if (state === field.state) continue;
      // A record is shown as it came, and one id is another's in any spelling.
      field.state = (field.key === 'signal_id' ? state && String(state).toLowerCase() : state) ?? null;
      this.judge(field);
    }
  }

  /** The world has changed: whoever still shows what it was is judged when that may not be shown any longer. */
  worldChanged(): void {
    const { windowMs } = this.#circumstances.bounds();
    for (const waitMs of new Set(Object.values(windowMs))) this.#judgeLater(waitMs + 1_000, waitMs);
  }

  /** Judges all that is shown; only what may be shown for so long where that is given. */
  judgeAll(windowMs?: number): void {
    const bounds = this.#circumstances.bounds();
    const judge = (entity: SeenEntity) => {
      const question = this.#questionOf(entity);
      if (question && (windowMs === undefined || bounds.windowMs[question.source] === windowMs))
        this.judge(entity);
    };
    for (const id of this.#eyes.deviceIds) for (const entity of this.#eyes.entitiesOf(id)) judge(entity);
    for (const fields of this.#fields.values()) fields.forEach(judge);
  }

  /** Judges what an entity shows now. */
  judge(entity: SeenEntity): void {
    const { id, componentId, state, stateTopic } = entity;
    if (state === null || state === '' || !this.#eyes.isAvailable(entity)) return;
    const question = this.#questionOf(entity);
    if (question === null || !this.#circumstances.isOurs(stateTopic)) return;
    if (this.#circumstances.isOfOtherAccount(id) || this.#circumstances.isBeingTidied(id)) return;
    const { counted, violated, bounds, isMisled } = this.#circumstances;
    const { source } = question;
    const windowMs = bounds().windowMs[source];
    const isTrue = question.isWaterUse
      ? this.#water.isTrue(id, componentId, state, windowMs, () => this.#hasOtherDays(id))
      : this.#wasSo(question, entity, windowMs);
    if (isTrue === null) return;
    counted('what is shown was so');
    if (isTrue || this.#wasSoElsewhere(question, entity) || isMisled(source) || this.#isRefused(entity))
      return;
    if (this.#isBeingReadAgain(source) || this.#isInDoubt(question, entity)) return;
    // No leak is hidden because nothing can be read: an alarm stays until a list is without its incident.
    const isAlarm = state === 'ON' || (componentId === 'sensor_summary' && tellsOfLeak(String(state)));
    if (source === 'incidents' && isAlarm && this.#circumstances.areIncidentsUnread()) return;
    if (componentId.endsWith('valve') && this.#circumstances.isTravelling(id, state)) return;
    violated(
      `${stateTopic} ${componentId} shows ${state}, which has not been so for ${Math.round(windowMs / 60_000)} min`,
    );
  }

  /**
   * A lost cloud or broker changes no value, only availability. So when it is back, details are what they were until they are
   * read again, which takes its time; positions of valves and incidents are read before anything is available.
   */
  #isBeingReadAgain(source: Source): boolean {
    if (source === 'sonics' || source === 'incidents') return false;
    const sinceMs = this.#circumstances.now() - this.#backAt;
    if (sinceMs > readAgainMs) return false;
    const { windowMs } = this.#circumstances.bounds();
    this.#judgeLater(readAgainMs - sinceMs + 1, windowMs[source]);
    return true;
  }

  /**
   * An incident that a list is without for the first time counts as open until the cloud was asked for it by itself,
   * however long ago it closed: the list may have come after an outage, and with others that have opened since.
   */
  #isInDoubt(question: Question, { id, componentId, state }: SeenEntity): boolean {
    const { truth, source } = question;
    if (source !== 'incidents') return false;
    const inDoubt = this.#circumstances
      .askedForAlone()
      .flatMap((incidentId) => this.#history.lastOpen(incidentId) ?? []);
    if (inDoubt.length === 0) return false;
    const world = this.#history.latest.withOpen(inDoubt);
    const isSo =
      componentId === 'sensor_summary'
        ? tellsOfLeak(String(state)) && hasOpen(world, leak, id)
        : truth?.({ world, id }) === state;
    if (isSo) this.#judgeLater(slackMs, this.#circumstances.bounds().windowMs[source]);
    return isSo;
  }

  #judgeLater(delayMs: number, windowMs: number): void {
    const at = this.#circumstances.now() + delayMs;
    const word = `${at} ${windowMs}`;
    if (this.#toCome.has(word)) return;
    this.#toCome.add(word);
    this.#circumstances.after(delayMs, () => {
      this.#toCome.delete(word);
      this.judgeAll(windowMs);
    });
  }

  #isRefused({ stateTopic, availabilityTopics }: SeenEntity): boolean {
    const { isRefused, isForged } = this.#circumstances;
    return [stateTopic, ...availabilityTopics].some((topic) => isRefused(topic) || isForged(topic));
  }

  /** Null where nothing is known of what it should show. */
  #wasSo(question: Question, { id, componentId, state }: SeenEntity, windowMs: number): boolean | null {
    const { kind, truth, isField, isMeasurement } = question;
    const now = this.#circumstances.now();
    const from = now - windowMs;
    if (componentId === 'sensor_summary') return this.#isSummaryTrue(id, String(state), from);
    if (componentId === 'sensor_water_at_rest')
      return this.#rests.get(id)?.has(Date.parse(String(state)) / 1_000) === true;
    if (!truth) return null;
    if (componentId === availability) return state === 'offline' || this.#wasReachable(kind, id, from);
    if (question.allIsWell?.(state) && !this.#canTell(kind, id, from)) return false;
    for (const { moment } of this.#history.since(from)) {
      const wanted = truth({ world: moment, id });
      const asShown = !isField && typeof wanted === 'string' ? stateOf(wanted) : wanted;
      if (asShown === state && (!isMeasurement || isFreshEnough(moment, id, from))) return true;
    }
    const isCount = componentId.includes('open_') || componentId.endsWith('severity');
    const counts = [...(isCount ? this.#history.since(from) : [])].flatMap(({ moment }) => {
      const wanted = truth({ world: moment, id });
      return typeof wanted === 'number' ? [wanted, Math.max(wanted, mostAt(kind, id, moment))] : [];
    });
    // An incident that was closed by a command is known to be so before a list tells of those that have opened since.
    const ofIncidents = /^binary_sensor_(?:problem|alert|incident_(\w+))$/.exec(componentId);
    if (ofIncidents && state === 'OFF') return this.#steadyCount(kind, id, from, ofIncidents[1]) === 0;
    // A list is read in parts, each at another time, and an incident counts until it is known to be closed, though others
    // have opened since: a number may be one that never was.
    if (typeof state === 'number' && counts.length > 1) {
      const most = Math.max(...counts, this.#everCount(kind, id, from));
      return state <= most && state >= Math.min(...counts, this.#steadyCount(kind, id, from));
    }
    if (componentId.endsWith('severity')) return null;
    return isValve(componentId) ? this.#wasBeforeTest(id, state, from, windowMs) : false;
  }

  /** The cloud has answered with what a valve measured. */
  measured(id: string, answer: string): void {
    const { probed_at: probedAt, water_flow: flow } = parsed(answer);
    if (flow === 0) this.#rests.set(id, (this.#rests.get(id) ?? new Set()).add(probedAt));
  }

  /** The summary tells of a leak, of none, and that the water is off: none of it may be said where it was not so. */
  #isSummaryTrue(id: string, summary: string, from: number): boolean | null {
    if (tellsOfLeak(summary)) return this.#wasOnce(from, (moment) => hasOpen(moment, leak, id));
    if (!claimsNoLeak(summary)) return null;
    if (!this.#canTell('property', id, from) || this.#steadyCount('property', id, from) > 0) return false;
    const { now, bounds } = this.#circumstances;
    const windowMs = bounds().windowMs.sonics;
    const [, position] = /water (on|off)/.exec(summary) ?? [];
    const wanted = position === 'on' ? 'open' : 'closed';
    const wasThere = (each: string) =>
      this.#wasOnce(now() - windowMs, (moment) => isIn({ world: moment, id: each }, wanted)) ||
      this.#wasBeforeTest(each, wanted, now() - windowMs, windowMs);
    const steady = [...this.#history.latest.thingsById.keys()].filter((each) => this.#isSteadyIn(each, id));
    return position === undefined || steady.every(wasThere);
  }

  /** How many incidents, of that type where one is given, were open at the same place all the time since then. */
  #steadyCount(kind: Kind, id: string, from: number, type?: string): number {
    const moments = [...this.#history.since(from)].map(({ moment }) => moment);
    const [latest] = moments;
    const isThere = (moment: Moment, incidentId: string) => {
      const incident = moment.incidents.get(incidentId);
      const isOfType = type === undefined || incident?.type === type;
      return incident !== undefined && isOfType && isAt[kind]({ world: moment, id })(incident);
    };
    return [...(latest?.incidents.keys() ?? [])].filter((each) =>
      moments.every((moment) => isThere(moment, each)),
    ).length;
  }

  /** How many incidents have been open at the same place since then, or at a device that has gone from there. */
  #everCount(kind: Kind, id: string, from: number): number {
    const isThere = isAt[kind];
    const { latest } = this.#history;
    const there = [...this.#history.since(from)].flatMap(({ moment }) =>
      [...moment.incidents.values()].filter(
        (each) => isThere({ world: moment, id })(each) || isThere({ world: latest, id })(each),
      ),
    );
    return new Set(there.map((incident) => incident.id)).size;
  }

  /** Whether the time zone of a device has changed since it must have been read. */
  #hasOtherDays(id: string): boolean {
    const { now, bounds } = this.#circumstances;
    const moments = [...this.#history.since(now() - bounds().windowMs.properties)];
    return new Set(moments.map(({ moment }) => moment.timezoneOf(moment.propertyOf(id)))).size > 1;
  }

  /** That nothing is wrong is known only from devices that can report it: of a sonic, but for its link. */
  #canTell(kind: Kind, id: string, from: number): boolean {
    // Whether it can is known from two readings of its link and of that of its hub, which is read more rarely.
    const { now, bounds } = this.#circumstances;
    const { windowMs, selection } = bounds();
    const since = Math.min(from, now() - windowMs.signals);
    if (kind === 'sonic') return this.#wasReachable('sonic', id, since);
    const { latest } = this.#history;
    return [...latest.thingsById].every(
      ([each, { record }]) =>
        latest.propertyOf(each) !== id ||
        // To which of several properties a sonic on Wi-Fi belongs the cloud does not tell, so no filter selects it.
        (record.signal_id === null && selection.length > 0 && latest.properties.size > 1) ||
        this.#wasReachable('sonic', each, since) ||
        !this.#isSteadyIn(each, id),
    );
  }

  /** Whether a sonic has been in a property for so long that this is known. */
  #isSteadyIn(sonicId: string, propertyId: string): boolean {
    const { now, bounds } = this.#circumstances;
    const from = now() - bounds().windowMs.properties;
    return !this.#wasOnce(from, (moment) => moment.propertyOf(sonicId) !== propertyId);
  }

  /** Whether it was so since then. */
  #wasOnce(from: number, isSo: (moment: Moment) => boolean): boolean {
    for (const { moment } of this.#history.since(from)) if (isSo(moment)) return true;
    return false;
  }

  /** Where a device has moved, its incidents are where it was until the lists that tell of it were read. */
  #wasSoElsewhere(question: Question, entity: SeenEntity): boolean | null {
    const { windowMs } = this.#circumstances.bounds();
    if (question.source !== 'incidents' || question.kind === 'sonic') return false;
    const moments = [...this.#history.since(this.#circumstances.now() - windowMs.properties)].map(
      ({ moment }) => moment,
    );
    const homes = new Set(moments.map((moment) => moment.homes));
    if (homes.size < 2) return false;
    // New incidents count where the device was before, with those of which it is not certain yet that they have closed.
    const most = new Set(moments.flatMap(({ incidents }) => [...incidents.keys()])).size;
    return (
      this.#wasSo(question, entity, windowMs.properties) ||
      (entity.state === 'ON' && most > 0) ||
      (tellsOfLeak(String(entity.state)) && moments.some((moment) => hasOpen(moment, leak))) ||
      (Number(entity.state) > 0 && Number(entity.state) <= most)
    );
  }

  /** Its link and that of its hub are read by different lists. Offline is never too much said. */
  #wasReachable(kind: Kind, id: string, from: number): boolean {
    const isUp = (signalId: string | null) =>
      signalId === null ||
      this.#wasOnce(from, ({ signals }) => signals.get(signalId)?.cloud_connection === 'connected');
    if (kind === 'signal') return isUp(id);
    return this.#wasOnce(from, ({ things }) => {
      const sonic = things.get(id);
      // One on Wi-Fi may have no link of which the cloud could tell.
      const isLinked =
        sonic?.radio_connection === 'connected' ||
        (sonic?.radio_connection === null && sonic.signal_id === null);
      return isLinked && isUp(sonic.signal_id);
    });
  }

  /** Through a pressure test a valve is shown as it was before, by whoever has seen that. */
  #wasBeforeTest(id: string, state: Shown, from: number, windowMs: number): boolean {
    let testedFrom: number | null = null;
    for (const { moment } of this.#history.since(from - 2 * windowMs)) {
      const { valve_state: valveState } = moment.things.get(id) ?? {};
      if (valveState === 'pressure_test') testedFrom = moment.now;
      else if (testedFrom !== null && valveState === state) return true;
    }
    return false;
  }

  #questionOf(entity: SeenEntity): Question | null {
    const known = this.#questions.get(entity);
    if (known !== undefined) return known;
    const question = questionOf(entity);
    this.#questions.set(entity, question);
    return question;
  }
}

/** What of a text fits into a state of Home Assistant, without half characters. */
function stateOf(text: string): string {
  return text.slice(0, 255).replace(/\p{Surrogate}/gu, '');
}

/** What is asked of that entity; null where nothing is. */
function questionOf({ stateTopic, componentId }: SeenEntity): Question | null {
  const [, kind] = /\/(property|signal|sonic)\/[^/]+(?:\/.+)?$/.exec(stateTopic) ?? [];
  if (kind === undefined || !isKind(kind)) return null;
  const [path = '', field] = componentId.split('#');
  const truth = field === undefined ? recordTruths[kind][componentId] : rawTruths[kind][path]?.[field];
  // It tells itself how old it is.
  const tellsItsAge = componentId === 'sensor_telemetry_time';
  return {
    kind,
    source: sourceOf(kind, componentId),
    truth: tellsItsAge ? null : (truth ?? null),
    isField: field !== undefined,
    isWaterUse: isWaterUse(componentId),
    isMeasurement: /^sensor_(flow|pressure|water_temperature)$|^telemetry#/.test(componentId),
    allIsWell: kind === 'signal' ? null : allIsWell(componentId),
  };
}

function claimsNoLeak(summary: Shown): boolean {
  return /^(All good\. )?No leaks/.test(String(summary));
}

function isIn(place: Place, position: string): boolean {
  return recordTruths.sonic['valve_valve']?.(place) === position;
}

const leak = 'water_presence_detected';

const tellsOfLeak = (summary: string) => /\bLeak\b/.test(summary);

/** Whether one of this type is open, in that property or anywhere. */
function hasOpen(world: WorldView, type: string, propertyId?: string): boolean {
  const isThere = propertyId === undefined ? () => true : isAt.property({ world, id: propertyId });
  return [...world.incidents.values()].some((incident) => incident.type === type && isThere(incident));
}

function isKind(word: string): word is Kind {
  return word in recordTruths;
}

/** The cloud finds out that a link is lost; what else is wrong only a device itself can notice. */
function allIsWell(componentId: string): Question['allIsWell'] {
  if (/^binary_sensor_incident_(radio|cloud)_disconnection$/.test(componentId)) return null;
  if (componentId === 'sensor_summary') return claimsNoLeak;
  if (componentId === 'sensor_pressure_test_result') return (state) => state === 'no_problem';
  if (/^binary_sensor_(incident_|problem$|alert$)/.test(componentId)) return (state) => state === 'OFF';
  if (/open_(incidents|count)$/.test(componentId)) return (state) => state === 0;
  return componentId.endsWith('severity') ? (state) => state === 'none' : null;
}

/** How many incidents a device may show: a hub has those of its valves that are not known, or not any more. */
function mostAt(kind: Kind, id: string, { incidents }: Moment): number {
  if (kind !== 'signal') return 0;
  return [...incidents.values()].filter(({ signal_id: signalId }) => signalId === id).length;
}

function isValve(componentId: string): boolean {
  return componentId === 'valve_valve' || componentId === '#valve';
}

/** A measurement that the cloud still shows may be of yesterday. What it can reach, it measures again and again. */
function isFreshEnough(moment: Moment, id: string, from: number): boolean {
  if (moment.isReachable(id)) return true;
  const { probed_at: probedAt } = moment.telemetry(id) ?? {};
  return probedAt !== null && probedAt !== undefined && probedAt * 1_000 >= from - slackMs;
}

/** What an entity or field is read with. */
function sourceOf(kind: Kind, componentId: string): Source {
  if (
    /incident|open_|severity|_problem$|_alert$|_summary$/.test(componentId) &&
    componentId !== 'binary_sensor_valve_problem'
  )
    return 'incidents';
  // The status of hubs is read with what is least urgent.
  if (kind === 'property' || componentId === 'sensor_hub_status') return 'properties';
  // A valve is offline with its hub, of which another list tells.
  if (kind === 'signal' || componentId.startsWith('availability#')) return 'signals';
  if (/^sensor_(flow|pressure|water_temperature|telemetry_time)$|^telemetry#/.test(componentId))
    return 'telemetry';
  if (isWaterUse(componentId)) return 'usage';
  return componentId.includes('pressure_test_result') || componentId.includes('pressure_tests')
    ? 'pressure_tests'
    : 'sonics';
}
