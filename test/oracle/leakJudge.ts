import { type Incident, incidentTypes } from '../../src/model/records.ts';
import type { Bounds } from './bounds.ts';
import { type DiscoveredEntities, type DiscoveredEntity, parsed } from './discoveredEntities.ts';
import type { Moment, WorldHistory, WorldView } from './worldHistory.ts';

/** What the oracle tells this judge. */
export interface LeakContext {
  /** Whether another bridge uses the same topics by mistake. */
  areSeveral(): boolean;
  /** Ms since 1970. */
  now(): number;
  after(delayMs: number, run: () => void): void;
  bounds(): Bounds;
  isRefused(topic: string): boolean;
  /** Whether the topic belongs to the judged bridge. */
  isOurs(topic: string): boolean;
  /** The base topic of the judged bridge. */
  readonly base: string;
  /** Whether the broker currently refuses the bridge's messages about its health. */
  isHealthRefused(): boolean;
  /** Whether the cloud has recently given wrong answers about incidents. */
  isMisled(source: 'incidents'): boolean;
  /** Whether the bridge has been connected to the broker for a while. */
  canPublish(): boolean;
  /** Converts ms of the simulation to ms since 1970. */
  atEpoch(timeMs: number): number;
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

/**
 * Time from a complete list until the incidents are shown. The bridge first reads each missing incident by
 * itself, one after the other.
 */
const publishedMs = 60_000;

/**
 * A change makes values unknown and health not `ok`. These are two messages, and a slow broker accepts them
 * this far apart at most.
 */
const togetherMs = 5_000;

/**
 * The promise "a leak is heard": an incident that was open when a complete list was read is shown at its
 * device. Otherwise everything it may belong to is unknown or unavailable, and health is not `ok`.
 */
export class LeakJudge {
  readonly #history: WorldHistory;
  readonly #entities: DiscoveredEntities;
  readonly #retained: ReadonlyMap<string, string>;
  readonly #context: LeakContext;

  constructor(
    history: WorldHistory,
    entities: DiscoveredEntities,
    retained: ReadonlyMap<string, string>,
    context: LeakContext,
  ) {
    this.#history = history;
    this.#entities = entities;
    this.#retained = retained;
    this.#context = context;
  }

  /** The bridge received a complete list of incidents, which it had asked for then. */
  listRead(askedAt: number): void {
    const { after, atEpoch } = this.#context;
    after(publishedMs, () => this.#judge(atEpoch(askedAt)));
  }

  /**
   * Judges each incident that has been open at the same place since then. `missingBefore` limits this to
   * incidents that were missing at the first look.
   */
  #judge(since: number, missingBefore?: ReadonlySet<string>): void {
    const { now, after, bounds, canPublish, countCheck, reportViolation } = this.#context;
    if (!canPublish()) return;
    const moments = [...this.#history.since(since)].map(({ moment }) => moment);
    const [latest] = moments;
    if (!latest) return;
    const { selection, maxAgeMs } = bounds();
    // The bridge knows the hubs and the name of a property only from lists that it reads less often.
    const earlier = [...this.#history.since(now() - maxAgeMs.properties)];
    const wasElsewhere = (incident: Incident) =>
      earlier.some(({ moment }) => {
        const propertyId = moment.propertyOfIncident(incident);
        return propertyId !== undefined && !isSelected(moment, propertyId, selection);
      });
    const missing = new Set<string>();
    for (const incident of latest.incidents.values()) {
      if (missingBefore && !missingBefore.has(incident.id)) continue;
      const isSteady = (moment: Moment) =>
        moment.incidents.get(incident.id) !== undefined &&
        isSelected(moment, moment.propertyOfIncident(incident), selection) &&
        hasDevice(moment, incident) &&
        // The cloud does not tell the property of a sonic on Wi-Fi, so no filter can select it.
        (selection.length === 0 || incident.signal_id !== null);
      if (!moments.every(isSteady) || wasElsewhere(incident)) continue;
      countCheck('an open incident is shown');
      const problem = this.#problemWith(incident, latest);
      if (problem === null) continue;
      if (problem.isMissing && !missingBefore) missing.add(incident.id);
      else
        reportViolation(
          `${incident.type} ${incident.id} is open at ${incident.sonic_id ?? incident.signal_id}: ${problem.words}`,
        );
    }
    if (missing.size > 0) after(togetherMs, () => this.#judge(since, missing));
  }

  /** Null if the incident is shown. `isMissing` means that it is neither shown nor denied. */
  #problemWith(incident: Incident, moment: Moment): { words: string; isMissing: boolean } | null {
    const { now, bounds } = this.#context;
    // A removed valve stays shown, with its incidents, until two lists no longer contain it.
    const isAtValve =
      moment.things.get(incident.sonic_id ?? '') ??
      this.#entities.entity(incident.sonic_id ?? '', 'sensor_open_incidents');
    const id = isAtValve ? incident.sonic_id : incident.signal_id;
    const isKnownType =
      incidentTypes.some((type) => type === incident.type) && !this.#context.isMisled('incidents');
    const sensor = isKnownType ? `binary_sensor_incident_${incident.type}` : 'sensor_open_incidents';
    const raw = this.#rawCount(isAtValve ? 'sonic' : 'signal', id ?? '');
    // If Home Assistant has no device from this bridge, the raw topics count.
    const entity = this.#ownEntity(id, sensor) ?? this.#ownEntity(id, 'sensor_open_incidents') ?? raw;
    // The bridge learns of a moved device only from lists that it reads less often.
    const propertyIds = [...this.#history.since(now() - bounds().maxAgeMs.properties)].map(
      (each) => each.moment.propertyOfIncident(incident) ?? '',
    );
    const isSettled = new Set(propertyIds).size === 1;
    const propertyId = isSettled ? propertyIds[0] : undefined;
    const ofProperty = propertyId
      ? [this.#ownEntity(propertyId, 'binary_sensor_problem'), this.#rawCount('property', propertyId)]
      : [];
    const shown = [entity, raw, ...ofProperty];
    for (const each of shown) {
      const word = each && this.#wordOf(each);
      // A cloud may deny an incident later. Two bridges read the list at different times, so the later message may
      // come from the earlier read.
      const mayDeny = this.#context.isMisled('incidents') || this.#context.areSeveral();
      if ((word === 'OFF' || word === 0) && !mayDeny)
        return { words: `${each?.stateTopic} ${each?.componentId} shows ${word}`, isMissing: false };
    }
    const isPlain = entity !== undefined && this.#wordOf(entity) !== null;
    if (isPlain || !this.#isHealthOk()) return null;
    return { words: `${sensor} is not known, and health is ok`, isMissing: true };
  }

  #ownEntity(id: string | null | undefined, componentId: string): DiscoveredEntity | undefined {
    const entity = this.#entities.entity(id ?? '', componentId);
    return entity && this.#context.isOurs(entity.stateTopic) ? entity : undefined;
  }

  /** The number of open incidents on a raw topic, in the form of an entity. */
  #rawCount(kind: 'sonic' | 'signal' | 'property', id: string): DiscoveredEntity | undefined {
    const { base } = this.#context;
    const stateTopic = `${base}/${kind}/${id}/incidents`;
    const payload = this.#retained.get(stateTopic);
    if (payload === undefined) return undefined;
    const { open_count: count } = parsed(payload);
    const availabilityTopics = [`${base}/bridge/state`, `${base}/bridge/cloud`];
    const state = typeof count === 'number' ? count : null;
    return {
      id,
      componentId: 'incidents#open_count',
      stateTopic,
      key: 'open_count',
      availabilityTopics,
      state,
    };
  }

  /** The state that an available entity shows. Null if it is unknown. */
  #wordOf(entity: DiscoveredEntity) {
    const { isRefused, isOurs } = this.#context;
    // Another bridge reads the cloud by itself, so its entities are not judged here.
    if (!isOurs(entity.stateTopic)) return null;
    if (!this.#entities.isAvailable(entity) || isRefused(entity.stateTopic)) return null;
    return entity.state;
  }

  #isHealthOk(): boolean {
    return !this.#context.isHealthRefused() && isHealthOk(this.#retained);
  }
}

/** Whether an online bridge reports `ok`. By default the bridge with the usual base topic. */
export function isHealthOk(retained: ReadonlyMap<string, string>, bridge = 'sonic2mqtt/bridge'): boolean {
  if (retained.get(`${bridge}/state`) !== 'online') return false;
  return parsed(retained.get(`${bridge}/health`) ?? '')['status'] === 'ok';
}

function hasDevice(moment: Moment, { sonic_id, signal_id }: Incident): boolean {
  return moment.things.get(sonic_id ?? '') !== undefined || moment.signals.get(signal_id ?? '') !== undefined;
}

/** Whether a bridge with this filter shows the property. */
export function isSelected(
  world: Pick<WorldView, 'properties'>,
  propertyId: string | undefined,
  selection: readonly string[],
): boolean {
  if (selection.length === 0) return true;
  const property = world.properties.get(propertyId ?? '');
  return (
    property !== undefined && (selection.includes(property.id) || selection.includes(property.name ?? ''))
  );
}
