import type {
  Incident,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
  Telemetry,
} from '../../src/model/records.ts';
import type { World } from '../../src/simulator/world.ts';

/** What the truths read of a world, now or at an earlier moment. */
export interface WorldView {
  /** Ms since 1970. */
  readonly now: number;
  readonly properties: ReadonlyMap<string, Property>;
  readonly settings: ReadonlyMap<string, PropertySettings>;
  readonly notifications: ReadonlyMap<string, NotificationSettings>;
  readonly signals: ReadonlyMap<string, Signal>;
  readonly things: { get(id: string): Sonic | undefined };
  readonly incidents: ReadonlyMap<string, Incident>;
  readonly leakProtection: ReadonlyMap<string, boolean>;
  readonly push: ReadonlyMap<string, boolean>;
  valve(id: string): { readonly settled: 'open' | 'closed'; readonly testing: boolean } | undefined;
  telemetry(id: string): Telemetry | undefined;
  pressureTestsOf(id: string): readonly { readonly started_at: string }[];
  propertyOf(id: string | null): string | undefined;
  propertyOfIncident(incident: Incident): string | undefined;
  timezoneOf(propertyId: string | undefined): string;
}

interface Thing {
  readonly record: Sonic;
  readonly valve: { readonly settled: 'open' | 'closed'; readonly testing: boolean };
  readonly telemetry: Telemetry | undefined;
  readonly pressureTests: ReturnType<World['pressureTestsOf']>;
  readonly propertyId: string | undefined;
}

/** The world as it was from a moment on until the next. Of the incidents it has the open ones. */
export class Moment implements WorldView {
  /** Ms since 1970. */
  readonly now: number;
  readonly properties: ReadonlyMap<string, Property>;
  readonly settings: ReadonlyMap<string, PropertySettings>;
  readonly notifications: ReadonlyMap<string, NotificationSettings>;
  readonly signals: ReadonlyMap<string, Signal>;
  readonly incidents: ReadonlyMap<string, Incident>;
  readonly leakProtection: ReadonlyMap<string, boolean>;
  readonly push: ReadonlyMap<string, boolean>;
  readonly thingsById = new Map<string, Thing>();
  readonly things = { get: (id: string) => this.thingsById.get(id)?.record };
  readonly #propertyOf = new Map<string, string | undefined>();

  constructor(world: World) {
    this.now = world.now;
    this.properties = new Map(world.properties);
    this.settings = new Map(world.settings);
    this.notifications = new Map(world.notifications);
    this.signals = new Map(world.signals);
    this.incidents = new Map([...world.incidents].filter(([, { open }]) => open));
    this.leakProtection = new Map(world.leakProtection);
    this.push = new Map(world.push);
    for (const id of world.signals.keys()) this.#propertyOf.set(id, world.propertyOf(id));
    for (const id of world.thingIds) {
      const [record, valve] = [world.things.get(id), world.valve(id)];
      if (!record || !valve) continue;
      const { settled, testing } = valve;
      const propertyId = world.propertyOf(id);
      this.thingsById.set(id, {
        record,
        valve: { settled, testing },
        telemetry: world.telemetry(id),
        pressureTests: world.pressureTestsOf(id).slice(-1),
        propertyId,
      });
    }
  }

  valve(id: string) {
    return this.thingsById.get(id)?.valve;
  }

  telemetry(id: string): Telemetry | undefined {
    return this.thingsById.get(id)?.telemetry;
  }

  /** The last one, or none. */
  pressureTestsOf(id: string): Thing['pressureTests'] {
    return this.thingsById.get(id)?.pressureTests ?? [];
  }

  propertyOf(id: string | null): string | undefined {
    if (id === null || this.properties.has(id)) return id ?? undefined;
    return this.thingsById.get(id)?.propertyId ?? this.#propertyOf.get(id);
  }

  propertyOfIncident({ sonic_id, signal_id }: Incident): string | undefined {
    return this.propertyOf(sonic_id) ?? this.propertyOf(signal_id);
  }

  timezoneOf(propertyId: string | undefined): string {
    return this.settings.get(propertyId ?? '')?.timezone ?? 'UTC';
  }

  /** The same with these incidents open besides. */
  withOpen(more: readonly Incident[]): WorldView {
    return {
      ...this,
      incidents: new Map([...this.incidents, ...more.map((incident) => [incident.id, incident] as const)]),
      valve: (id) => this.valve(id),
      telemetry: (id) => this.telemetry(id),
      propertyOf: (id) => this.propertyOf(id),
      propertyOfIncident: (incident) => this.propertyOfIncident(incident),
      timezoneOf: (propertyId) => this.timezoneOf(propertyId),
    };
  }

  /** In which property each device is, as one word. */
  get homes(): string {
    const things = [...this.thingsById].map(([id, { record }]) => [id, record.signal_id]);
    return JSON.stringify([...this.#propertyOf, ...things]);
  }

  /** Whether the cloud can reach a sonic: its radio and its signal's link are up. */
  /** Whether the cloud has a device of that id. */
  has(id: string): boolean {
    return this.properties.has(id) || this.signals.has(id) || this.thingsById.has(id);
  }

  isReachable(id: string): boolean {
    const sonic = this.things.get(id);
    if (!sonic) return false;
    const signal = sonic.signal_id === null ? undefined : this.signals.get(sonic.signal_id);
    const hasCloud = sonic.signal_id === null || signal?.cloud_connection === 'connected';
    return hasCloud && sonic.radio_connection === 'connected';
  }
}

/** What the world was like over time: a moment for each change, as far back as anything may be shown. */
export class WorldHistory {
  readonly #longestMs: number;
  /** Oldest first; the last one holds still. */
  readonly #moments: Moment[] = [];
  #world: World;

  /** Keeps that much, in ms. `onChange` is told of each change, at once. */
  constructor(world: World, longestMs: number, onChange: () => void) {
    this.#world = world;
    this.#longestMs = longestMs;
    world.onChange = () => {
      // What happens at one time is one change, of which nobody sees a part.
      if (this.#moments.at(-1)?.now === world.now) this.#moments.pop();
      this.#moments.push(new Moment(world));
      this.#prune();
      onChange();
    };
    this.#moments.push(new Moment(world));
  }

  get latest(): Moment {
    const latest = this.#moments.at(-1);
    if (!latest) throw new Error('a history begins with the world as it is');
    return latest;
  }

  /** The moments that lasted at that time or later, the newest first, each with its end: both in ms since 1970. */
  *since(from: number): Generator<{ readonly moment: Moment; readonly endedAt: number }> {
    let endedAt = Number.POSITIVE_INFINITY;
    for (let index = this.#moments.length - 1; index >= 0; index--) {
      const moment = this.#moments[index];
      if (!moment || endedAt <= from) return;
      yield { moment, endedAt };
      endedAt = moment.now;
    }
  }

  /** An incident as it was when it was last open. */
  lastOpen(id: string): Incident | undefined {
    return this.#moments.findLast(({ incidents }) => incidents.has(id))?.incidents.get(id);
  }

  #prune(): void {
    const oldest = this.#world.now - this.#longestMs;
    let count = 0;
    while ((this.#moments[count + 1]?.now ?? Number.POSITIVE_INFINITY) < oldest) count += 1;
    if (count > 0) this.#moments.splice(0, count);
  }
}
