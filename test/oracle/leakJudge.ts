import { type Incident, incidentTypes } from '../../src/model/records.ts';
import type { Bounds } from './bounds.ts';
import type { Crawl } from './crawls.ts';
import { type Eyes, parsed, type SeenEntity } from './eyes.ts';
import type { Moment, WorldHistory, WorldView } from './worldHistory.ts';

/** What the judge is told by those who look at other things. */
export interface LeakCircumstances {
  /** Whether another bridge uses the same topics by mistake. */
  areSeveral(): boolean;
  /** Ms since 1970. */
  now(): number;
  after(delayMs: number, run: () => void): void;
  bounds(): Bounds;
  isRefused(topic: string): boolean;
  /** Whether somebody else has written there since. */
  isForged(topic: string): boolean;
  /** Whether the bridge that is judged has that topic. */
  isOurs(topic: string): boolean;
  /** Below which it has its topics. */
  readonly base: string;
  /** Whether the broker does not take what the bridge says of its health. */
  isHealthRefused(): boolean;
  /** Whether the cloud has told something else than the truth of incidents lately. */
  isMisled(source: 'incidents'): boolean;
  /** Whether messages can reach the broker, and have been able to for a while. */
  isHeard(): boolean;
  /** Ms since 1970 of that time of the simulation. */
  atEpoch(timeMs: number): number;
  counted(check: string): void;
  violated(words: string): void;
}

/** From a whole list to its being shown: each incident that is missing is read by itself before, one after the other. */
const publishedMs = 60_000;

/** A slow broker takes what a change makes unknown, and health, which are two messages, so far apart at most. */
const togetherMs = 5_000;

/**
 * A leak is heard: an incident that was open when a whole list was read is shown at its device; or what it may belong to
 * is unknown or unavailable, and health is not `ok`.
 */
export class LeakJudge {
  readonly #history: WorldHistory;
  readonly #eyes: Eyes;
  readonly #retained: ReadonlyMap<string, string>;
  readonly #circumstances: LeakCircumstances;

  constructor(
    history: WorldHistory,
    eyes: Eyes,
    retained: ReadonlyMap<string, string>,
    circumstances: LeakCircumstances,
  ) {
    this.#history = history;
    this.#eyes = eyes;
    this.#retained = retained;
    this.#circumstances = circumstances;
  }

  /** A whole list of incidents has reached the bridge. */
  listRead({ askedAt }: Crawl): void {
    const { after, atEpoch } = this.#circumstances;
    after(publishedMs, () => this.#judge(atEpoch(askedAt)));
  }

  /** Judges the incidents that have been open, where they are, ever since then: all, or those that were unheard before. */
  #judge(since: number, unheardBefore?: ReadonlySet<string>): void {
    const { now, after, bounds, isHeard, counted, violated } = this.#circumstances;
    if (!isHeard()) return;
    const moments = [...this.#history.since(since)].map(({ moment }) => moment);
    const [latest] = moments;
    if (!latest) return;
    const { selection, windowMs } = bounds();
    // Which signals a property has, and what it is called, is known only from lists that are read more rarely.
    const earlier = [...this.#history.since(now() - windowMs.properties)];
    const wasElsewhere = (incident: Incident) =>
      earlier.some(({ moment }) => {
        const home = moment.propertyOfIncident(incident);
        return home !== undefined && !isSelected(moment, home, selection);
      });
    const unheard = new Set<string>();
    for (const incident of latest.incidents.values()) {
      if (unheardBefore && !unheardBefore.has(incident.id)) continue;
      const isSteady = (moment: Moment) =>
        moment.incidents.get(incident.id) !== undefined &&
        isSelected(moment, moment.propertyOfIncident(incident), selection) &&
        hasDevice(moment, incident) &&
        // To which property a sonic on Wi-Fi belongs the cloud does not tell, so no filter can select it.
        (selection.length === 0 || incident.signal_id !== null);
      if (!moments.every(isSteady) || wasElsewhere(incident)) continue;
      counted('an open incident is heard of');
      const problem = this.#problemWith(incident, latest);
      if (problem === null) continue;
      if (problem.isUnheard && !unheardBefore) unheard.add(incident.id);
      else
        violated(
          `${incident.type} ${incident.id} is open at ${incident.sonic_id ?? incident.signal_id}: ${problem.words}`,
        );
    }
    if (unheard.size > 0) after(togetherMs, () => this.#judge(since, unheard));
  }

  /** Null where the incident is heard of; unheard where it is neither shown nor denied. */
  #problemWith(incident: Incident, moment: Moment): { words: string; isUnheard: boolean } | null {
    const { now, bounds } = this.#circumstances;
    // A valve that is gone is shown until two lists have missed it, with what it has.
    const isAtValve =
      moment.things.get(incident.sonic_id ?? '') ??
      this.#eyes.entity(incident.sonic_id ?? '', 'sensor_open_incidents');
    const id = isAtValve ? incident.sonic_id : incident.signal_id;
    const isKnownType =
      incidentTypes.some((type) => type === incident.type) && !this.#circumstances.isMisled('incidents');
    const sensor = isKnownType ? `binary_sensor_incident_${incident.type}` : 'sensor_open_incidents';
    const raw = this.#rawCount(isAtValve ? 'sonic' : 'signal', id ?? '');
    // Where Home Assistant has no device, or has it from another bridge, the topics tell.
    const entity = this.#ownEntity(id, sensor) ?? this.#ownEntity(id, 'sensor_open_incidents') ?? raw;
    // Where its device has moved to is known only from lists that are read more rarely.
    const homes = [...this.#history.since(now() - bounds().windowMs.properties)].map(
      (each) => each.moment.propertyOfIncident(incident) ?? '',
    );
    const isSettled = new Set(homes).size === 1;
    const home = isSettled ? homes[0] : undefined;
    const ofHome = home
      ? [this.#ownEntity(home, 'binary_sensor_problem'), this.#rawCount('property', home)]
      : [];
    const shown = [entity, raw, ...ofHome];
    if (shown.some((each) => each && this.#isForged(each))) return null;
    for (const each of shown) {
      const word = each && this.#wordOf(each);
      // Each of two bridges has read the list at another time, and the later message may be that of the earlier reading.
      if ((word === 'OFF' || word === 0) && !this.#circumstances.areSeveral())
        return { words: `${each?.stateTopic} ${each?.componentId} shows ${word}`, isUnheard: false };
    }
    const isPlain = entity !== undefined && this.#wordOf(entity) !== null;
    if (isPlain || !this.#isHealthOk()) return null;
    return { words: `${sensor} is not known, and health is ok`, isUnheard: true };
  }

  #ownEntity(id: string | null | undefined, componentId: string): SeenEntity | undefined {
    const entity = this.#eyes.entity(id ?? '', componentId);
    return entity && this.#circumstances.isOurs(entity.stateTopic) ? entity : undefined;
  }

  /** The number of open incidents at a topic of its own, as an entity that shows it. */
  #rawCount(kind: 'sonic' | 'signal' | 'property', id: string): SeenEntity | undefined {
    const { base } = this.#circumstances;
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

  /** What it shows, available; null where that is not known. */
  #wordOf(entity: SeenEntity) {
    const { isRefused, isOurs } = this.#circumstances;
    // What another bridge announces it reads by itself.
    if (!isOurs(entity.stateTopic)) return null;
    if (!this.#eyes.isAvailable(entity) || isRefused(entity.stateTopic)) return null;
    return entity.state;
  }

  #isForged({ stateTopic, availabilityTopics }: SeenEntity): boolean {
    return [stateTopic, ...availabilityTopics].some((topic) => this.#circumstances.isForged(topic));
  }

  #isHealthOk(): boolean {
    return !this.#circumstances.isHealthRefused() && isHealthOk(this.#retained);
  }
}

/** Whether a bridge that is there says that all is well; by default the one of the usual base topic. */
export function isHealthOk(retained: ReadonlyMap<string, string>, bridge = 'sonic2mqtt/bridge'): boolean {
  if (retained.get(`${bridge}/state`) !== 'online') return false;
  return parsed(retained.get(`${bridge}/health`) ?? '')['status'] === 'ok';
}

function hasDevice(moment: Moment, { sonic_id, signal_id }: Incident): boolean {
  return moment.things.get(sonic_id ?? '') !== undefined || moment.signals.get(signal_id ?? '') !== undefined;
}

/** Whether a bridge with that filter shows a property. */
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
