import { type Bounds, type Source, slackMs } from './bounds.ts';
import type { DiscoveredEntities, DiscoveredEntity } from './discoveredEntities.ts';
import { parsed } from './discoveredEntities.ts';
import { rawTruths } from './rawTruths.ts';
import { isAt, type Place, recordTruths, type Shown } from './recordTruths.ts';
import { isWaterUse, type WaterSamples } from './waterSamples.ts';
import { isConnected, isOnline } from './words.ts';
import type { Moment, WorldHistory, WorldView } from './worldHistory.ts';

type Kind = keyof typeof recordTruths;

/** How to judge an entity or field. This stays the same as long as it is announced. */
interface Rule {
  readonly kind: Kind;
  readonly source: Source;
  /** What it must show. Null if that is not known. */
  readonly truth: ((place: Place) => Shown) | null;
  /** Whether it is a field of a raw topic, and not an entity. */
  readonly isField: boolean;
  readonly isWaterUse: boolean;
  readonly isMeasurement: boolean;
  /**
   * Whether a state means "no problem", if only the device itself can notice the problem. Null for entities
   * without such a state.
   */
  readonly isNoProblem: ((state: Shown) => boolean) | null;
}

/** The payload of an availability topic is one word, treated as a document with one field. */
const availability = 'availability#availability';

/** What the oracle tells this judge. */
export interface ShownContext {
  /** Ms since 1970. */
  now(): number;
  after(delayMs: number, run: () => void): void;
  bounds(): Bounds;
  /** Whether the topic belongs to the judged bridge. */
  isOurs(topic: string): boolean;
  isOfOtherAccount(id: string): boolean;
  /** Whether the broker refused the bridge's last message on this topic. */
  isRefused(topic: string): boolean;
  /** Whether the bridge has recently received wrong data from this schedule. */
  isMisled(source: Source): boolean;
  /** Whether the list of incidents could not be read for longer than its data may be shown. */
  areIncidentsUnread(): boolean;
  /** Incidents that the bridge has just read one by one, to learn whether they are closed. */
  incidentsInDoubt(): readonly string[];
  /**
   * Whether the cloud has recently accepted that this valve moves to this position. It may then be shown on
   * its way.
   */
  isTravelling(id: string, shown: Shown): boolean;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

/**
 * The promise "shown is true": everything that an available entity or topic shows was true in the cloud not
 * too long ago. The judge checks a new message at once. After a change in the cloud it checks again when the
 * old value may no longer be shown.
 */
export class ShownJudge {
  readonly #history: WorldHistory;
  readonly #entities: DiscoveredEntities;
  readonly #water: WaterSamples;
  readonly #context: ShownContext;
  /** The fields of the raw topics, by topic. Each has the form of an entity that shows it. */
  readonly #fields = new Map<string, DiscoveredEntity[]>();
  /** Null if it cannot be judged. */
  readonly #rules = new WeakMap<DiscoveredEntity, Rule | null>();
  readonly #planned = new Set<string>();
  /** Times at which a valve measured no flow, in Unix seconds, by valve. */
  readonly #restTimes = new Map<string, Set<unknown>>();

  constructor(
    history: WorldHistory,
    entities: DiscoveredEntities,
    water: WaterSamples,
    context: ShownContext,
  ) {
    this.#history = history;
    this.#entities = entities;
    this.#water = water;
    this.#context = context;
  }

  /** The broker accepted a message. Must be called before the entities take it. */
  take(topic: string, payload: string): void {
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
      Object.keys(truths).map((key): DiscoveredEntity => {
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
      // A raw topic repeats the ID as the cloud spells it. Another spelling is still the same ID.
      field.state = (field.key === 'signal_id' ? state && String(state).toLowerCase() : state) ?? null;
      this.judge(field);
    }
  }

  /**
   * The simulated cloud has changed. Values that are now out of date are judged when they may no longer be
   * shown.
   */
  worldChanged(): void {
    const { maxAgeMs } = this.#context.bounds();
    for (const waitMs of new Set(Object.values(maxAgeMs))) this.#judgeLater(waitMs + 1_000, waitMs);
  }

  /** Judges everything that is shown. `maxAgeMs` limits this to values that may be shown for that long. */
  judgeAll(maxAgeMs?: number): void {
    const bounds = this.#context.bounds();
    const judge = (entity: DiscoveredEntity) => {
      const rule = this.#ruleFor(entity);
      if (rule && (maxAgeMs === undefined || bounds.maxAgeMs[rule.source] === maxAgeMs)) this.judge(entity);
    };
    for (const id of this.#entities.deviceIds)
      for (const entity of this.#entities.entitiesOf(id)) judge(entity);
    for (const fields of this.#fields.values()) fields.forEach(judge);
  }

  judge(entity: DiscoveredEntity): void {
    const { id, componentId, state, stateTopic } = entity;
    if (state === null || state === '' || !this.#entities.isAvailable(entity)) return;
    const rule = this.#ruleFor(entity);
    if (rule === null || !this.#context.isOurs(stateTopic)) return;
    if (this.#context.isOfOtherAccount(id)) return;
    const { countCheck, reportViolation, bounds, isMisled } = this.#context;
    const { source } = rule;
    const maxAgeMs = bounds().maxAgeMs[source];
    const isTrue = rule.isWaterUse
      ? this.#water.isTrue(id, componentId, state, maxAgeMs, () => this.#hasOtherDays(id))
      : this.#wasTrue(rule, entity, maxAgeMs);
    if (isTrue === null) return;
    countCheck('what is shown was true');
    if (isTrue || this.#wasTrueElsewhere(rule, entity) || this.#isRefused(entity)) return;
    // Two lists tell whether a sonic can be reached.
    const sources: Source[] =
      rule.kind === 'sonic' && source === 'signals' ? ['signals', 'sonics'] : [source];
    if (sources.some(isMisled)) return;
    if (this.#isInDoubt(rule, entity)) return;
    // While the list of incidents cannot be read, an alarm stays shown. It must not end only because reading
    // fails.
    const isAlarm = state === 'ON' || (componentId === 'sensor_summary' && reportsLeak(String(state)));
    if (source === 'incidents' && isAlarm && this.#context.areIncidentsUnread()) return;
    if (componentId.endsWith('valve') && this.#context.isTravelling(id, state)) return;
    reportViolation(
      `${stateTopic} ${componentId} shows ${state}, which has not been so for ${Math.round(maxAgeMs / 60_000)} min`,
    );
  }

  /**
   * An incident that is missing in a list for the first time still counts as open until the cloud was asked
   * for it by itself. It may have closed long ago, because the list may come after an outage, together with
   * new incidents.
   */
  #isInDoubt(rule: Rule, { id, componentId, state }: DiscoveredEntity): boolean {
    const { truth, source } = rule;
    if (source !== 'incidents') return false;
    const inDoubt = this.#context
      .incidentsInDoubt()
      .flatMap((incidentId) => this.#history.lastOpen(incidentId) ?? []);
    if (inDoubt.length === 0) return false;
    const world = this.#history.latest.withOpen(inDoubt);
    const isSo =
      componentId === 'sensor_summary'
        ? reportsLeak(String(state)) && hasOpen(world, leak, id)
        : truth?.({ world, id }) === state;
    if (isSo) this.#judgeLater(slackMs, this.#context.bounds().maxAgeMs[source]);
    return isSo;
  }

  #judgeLater(delayMs: number, maxAgeMs: number): void {
    const at = this.#context.now() + delayMs;
    const word = `${at} ${maxAgeMs}`;
    if (this.#planned.has(word)) return;
    this.#planned.add(word);
    this.#context.after(delayMs, () => {
      this.#planned.delete(word);
      this.judgeAll(maxAgeMs);
    });
  }

  #isRefused({ stateTopic, availabilityTopics }: DiscoveredEntity): boolean {
    return [stateTopic, ...availabilityTopics].some((topic) => this.#context.isRefused(topic));
  }

  /**
   * Whether the shown value was true within that time. Null if nothing is known about what it should show.
   */
  #wasTrue(rule: Rule, { id, componentId, state }: DiscoveredEntity, maxAgeMs: number): boolean | null {
    const { kind, truth, isField, isMeasurement } = rule;
    const now = this.#context.now();
    const from = now - maxAgeMs;
    if (componentId === 'sensor_summary') return this.#isSummaryTrue(id, String(state), from);
    if (componentId === 'sensor_water_at_rest')
      return this.#restTimes.get(id)?.has(Date.parse(String(state)) / 1_000) === true;
    if (!truth) return null;
    if (componentId === availability) return state === 'offline' || this.#wasReachable(kind, id, from);
    if (rule.isNoProblem?.(state) && !this.#couldReport(kind, id, from)) return false;
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
    // After a command the bridge knows at once that an incident is closed. It learns of incidents that opened
    // since only from the next list.
    const ofIncidents = /^binary_sensor_(?:problem|alert|incident_(\w+))$/.exec(componentId);
    if (ofIncidents && state === 'OFF') return this.#steadyCount(kind, id, from, ofIncidents[1]) === 0;
    // The pages of a list are read at different times, and an incident counts until it is known to be closed.
    // So a count may be shown that was never true at one moment.
    if (typeof state === 'number' && counts.length > 1) {
      const most = Math.max(...counts, this.#everCount(kind, id, from));
      return state <= most && state >= Math.min(...counts, this.#steadyCount(kind, id, from));
    }
    if (componentId.endsWith('severity')) return null;
    return isValve(componentId) ? this.#wasBeforeTest(id, state, from, maxAgeMs) : false;
  }

  /** The bridge received a measurement of a valve. */
  measured(id: string, answer: string): void {
    const { probed_at: probedAt, water_flow: flow } = parsed(answer);
    if (flow === 0) this.#restTimes.set(id, (this.#restTimes.get(id) ?? new Set()).add(probedAt));
  }

  /** The summary may claim a leak, no leak, or that the water is off. Each claim must have been true. */
  #isSummaryTrue(id: string, summary: string, from: number): boolean | null {
    if (reportsLeak(summary)) return this.#wasOnce(from, (moment) => hasOpen(moment, leak, id));
    if (!claimsNoLeak(summary)) return null;
    if (!this.#couldReport('property', id, from) || this.#steadyCount('property', id, from) > 0) return false;
    const { now, bounds } = this.#context;
    const maxAgeMs = bounds().maxAgeMs.sonics;
    const [, position] = /water (on|off)/.exec(summary) ?? [];
    const wanted = position === 'on' ? 'open' : 'closed';
    const wasThere = (each: string) =>
      this.#wasOnce(now() - maxAgeMs, (moment) => isIn({ world: moment, id: each }, wanted)) ||
      this.#wasBeforeTest(each, wanted, now() - maxAgeMs, maxAgeMs);
    const steady = [...this.#history.latest.thingsById.keys()].filter((each) => this.#isSteadyIn(each, id));
    return position === undefined || steady.every(wasThere);
  }

  /** How many incidents, of that type if given, were open at the same place all the time since then. */
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

  /** How many incidents were open at this place at any time since then, or at a device that has left it. */
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

  /** Whether the time zone of a device has changed since the bridge must have read it. */
  #hasOtherDays(id: string): boolean {
    const { now, bounds } = this.#context;
    const moments = [...this.#history.since(now() - bounds().maxAgeMs.properties)];
    return new Set(moments.map(({ moment }) => moment.timezoneOf(moment.propertyOf(id)))).size > 1;
  }

  /**
   * "No problem" may be shown only if the device could have reported a problem. A hub or a sonic cannot report
   * one while it is unreachable.
   */
  #couldReport(kind: Kind, id: string, from: number): boolean {
    // The bridge knows this from two reads: of the device's link, and of its hub's link, which is read less
    // often.
    const { now, bounds } = this.#context;
    const { maxAgeMs, selection } = bounds();
    const since = Math.min(from, now() - maxAgeMs.signals);
    const isUp = (word: unknown) => isConnected(word) === true;
    if (kind !== 'property') return this.#wasReachable(kind, id, since, isUp);
    const { latest } = this.#history;
    return [...latest.thingsById].every(
      ([each, { record }]) =>
        latest.propertyOf(each) !== id ||
        // The cloud does not tell the property of a sonic on Wi-Fi if there are several. So no filter selects
        // it.
        (record.signal_id === null && selection.length > 0 && latest.properties.size > 1) ||
        this.#wasReachable('sonic', each, since, isUp) ||
        !this.#isSteadyIn(each, id),
    );
  }

  /** Whether a sonic has been in a property long enough for the bridge to know it. */
  #isSteadyIn(sonicId: string, propertyId: string): boolean {
    const { now, bounds } = this.#context;
    const from = now() - bounds().maxAgeMs.properties;
    return !this.#wasOnce(from, (moment) => moment.propertyOf(sonicId) !== propertyId);
  }

  #wasOnce(from: number, isSo: (moment: Moment) => boolean): boolean {
    for (const { moment } of this.#history.since(from)) if (isSo(moment)) return true;
    return false;
  }

  /**
   * When a device moves, its incidents stay at the old place until the bridge has read the lists that tell of
   * the move.
   */
  #wasTrueElsewhere(rule: Rule, entity: DiscoveredEntity): boolean | null {
    const { maxAgeMs } = this.#context.bounds();
    if (rule.source !== 'incidents' || rule.kind === 'sonic') return false;
    const moments = [...this.#history.since(this.#context.now() - maxAgeMs.properties)].map(
      ({ moment }) => moment,
    );
    const placements = new Set(moments.map((moment) => moment.placement));
    if (placements.size < 2) return false;
    // New incidents count at the old place. So do incidents that may still be open.
    const most = new Set(moments.flatMap(({ incidents }) => [...incidents.keys()])).size;
    return (
      this.#wasTrue(rule, entity, maxAgeMs.properties) ||
      (entity.state === 'ON' && most > 0) ||
      (reportsLeak(String(entity.state)) && moments.some((moment) => hasOpen(moment, leak))) ||
      (Number(entity.state) > 0 && Number(entity.state) <= most)
    );
  }

  /** Two lists tell of the link of a valve and of the link of its hub. "Offline" is always allowed. */
  #wasReachable(kind: Kind, id: string, from: number, isUp = isOnline): boolean {
    const isHubUp = (signalId: string | null) =>
      signalId === null ||
      this.#wasOnce(from, ({ signals }) => isUp(signals.get(signalId)?.cloud_connection));
    if (kind === 'signal') return isHubUp(id);
    return this.#wasOnce(from, ({ things }) => {
      const sonic = things.get(id);
      // For a sonic on Wi-Fi the cloud may report no link.
      const isLinked =
        isUp(sonic?.radio_connection) || (sonic?.radio_connection === null && sonic.signal_id === null);
      return sonic !== undefined && isLinked && isHubUp(sonic.signal_id);
    });
  }

  /** During a pressure test the bridge shows the position that it saw before the test. */
  #wasBeforeTest(id: string, state: Shown, from: number, maxAgeMs: number): boolean {
    let testedFrom: number | null = null;
    for (const { moment } of this.#history.since(from - 2 * maxAgeMs)) {
      const { valve_state: valveState } = moment.things.get(id) ?? {};
      if (valveState === 'pressure_test') testedFrom = moment.now;
      else if (testedFrom !== null && valveState === state) return true;
    }
    return false;
  }

  #ruleFor(entity: DiscoveredEntity): Rule | null {
    const known = this.#rules.get(entity);
    if (known !== undefined) return known;
    const rule = ruleFor(entity);
    this.#rules.set(entity, rule);
    return rule;
  }
}

/** The part of a text that fits into a state of Home Assistant, without half characters. */
function stateOf(text: string): string {
  return text.slice(0, 255).replace(/\p{Surrogate}/gu, '');
}

/** How to judge that entity. Null if it cannot be judged. */
function ruleFor({ stateTopic, componentId }: DiscoveredEntity): Rule | null {
  const [, kind] = /\/(property|signal|sonic)\/[^/]+(?:\/.+)?$/.exec(stateTopic) ?? [];
  if (kind === undefined || !isKind(kind)) return null;
  const [path = '', field] = componentId.split('#');
  const truth = field === undefined ? recordTruths[kind][componentId] : rawTruths[kind][path]?.[field];
  // The state is a time, so a reader can see how old it is.
  const isTimeOfData = componentId === 'sensor_telemetry_time';
  return {
    kind,
    source: sourceOf(kind, componentId),
    truth: isTimeOfData ? null : (truth ?? null),
    isField: field !== undefined,
    isWaterUse: isWaterUse(componentId),
    isMeasurement: /^sensor_(flow|pressure|water_temperature)$|^telemetry#/.test(componentId),
    isNoProblem: kind === 'signal' ? null : isNoProblem(componentId),
  };
}

function claimsNoLeak(summary: Shown): boolean {
  return /(^|\. )No leaks/.test(String(summary));
}

function isIn(place: Place, position: string): boolean {
  return recordTruths.sonic['valve_valve']?.(place) === position;
}

const leak = 'water_presence_detected';

const reportsLeak = (summary: string) => /\bLeak\b/.test(summary);

/** Whether an incident of this type is open, in that property or anywhere. */
function hasOpen(world: WorldView, type: string, propertyId?: string): boolean {
  const isThere = propertyId === undefined ? () => true : isAt.property({ world, id: propertyId });
  return [...world.incidents.values()].some((incident) => incident.type === type && isThere(incident));
}

function isKind(word: string): word is Kind {
  return word in recordTruths;
}

/** Lost links are noticed by the cloud. Every other problem is noticed only by the device itself. */
function isNoProblem(componentId: string): Rule['isNoProblem'] {
  if (/^binary_sensor_incident_(radio|cloud)_disconnection$/.test(componentId)) return null;
  if (componentId === 'sensor_summary') return claimsNoLeak;
  if (componentId === 'sensor_pressure_test_result') return (state) => state === 'No open alert';
  if (/^binary_sensor_(incident_|problem$|alert$)/.test(componentId)) return (state) => state === 'OFF';
  if (/open_(incidents|count)$/.test(componentId)) return (state) => state === 0;
  return componentId.endsWith('severity') ? (state) => state === 'none' : null;
}

/**
 * The most incidents that a device may show. A hub also shows those of its valves that are unknown or
 * removed.
 */
function mostAt(kind: Kind, id: string, { incidents }: Moment): number {
  if (kind !== 'signal') return 0;
  return [...incidents.values()].filter(({ signal_id: signalId }) => signalId === id).length;
}

function isValve(componentId: string): boolean {
  return componentId === 'valve_valve' || componentId === '#valve';
}

/**
 * The cloud may show a measurement of yesterday for an unreachable valve. It measures a reachable valve again
 * and again.
 */
function isFreshEnough(moment: Moment, id: string, from: number): boolean {
  if (moment.isReachable(id)) return true;
  const { probed_at: probedAt } = moment.telemetry(id) ?? {};
  return probedAt !== null && probedAt !== undefined && probedAt * 1_000 >= from - slackMs;
}

/** The schedule by which the value of an entity or field is read. */
function sourceOf(kind: Kind, componentId: string): Source {
  if (
    /incident|open_|severity|_problem$|_alert$|_summary$/.test(componentId) &&
    componentId !== 'binary_sensor_valve_problem'
  )
    return 'incidents';
  // The status of hubs is read with the properties, because it is least urgent.
  if (kind === 'property' || componentId === 'sensor_hub_status') return 'properties';
  // A valve is also offline if its hub is, and the list of hubs tells that.
  if (kind === 'signal' || componentId.startsWith('availability#')) return 'signals';
  if (/^sensor_(flow|pressure|water_temperature|telemetry_time)$|^telemetry#/.test(componentId))
    return 'telemetry';
  if (isWaterUse(componentId)) return 'usage';
  return componentId.includes('pressure_test_result') || componentId.includes('pressure_tests')
    ? 'pressure_tests'
    : 'sonics';
}
