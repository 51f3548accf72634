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
import { isOnline } from './words.ts';

/**
 * The part of the simulated cloud (`World`) that the judges read, now or at an earlier moment. The world is
 * the true state of everything in the cloud: properties, hubs (signals), valves (sonics, or things) and
 * incidents.
 */
export interface WorldView {
  /** Ms since 1970. */
  readonly now: number;
  readonly properties: ReadonlyMap<string, Property>;
  readonly settings: ReadonlyMap<string, PropertySettings>;
  readonly notifications: ReadonlyMap<string, NotificationSettings>;
  readonly signals: ReadonlyMap<string, Signal>;
  readonly things: { get(id: string): Sonic | undefined };
  readonly incidents: ReadonlyMap<string, Incident>;
  valve(id: string): { readonly settled: 'open' | 'closed' } | undefined;
  telemetry(id: string): Telemetry | undefined;
  pressureTestsOf(id: string): readonly { readonly started_at: string }[];
  propertyOf(id: string | null): string | undefined;
  propertyOfIncident(incident: Incident): string | undefined;
  timezoneOf(propertyId: string | undefined): string;
}

interface Thing {
  readonly record: Sonic;
  readonly valve: { readonly settled: 'open' | 'closed' };
  readonly telemetry: Telemetry | undefined;
  readonly pressureTests: ReturnType<World['pressureTestsOf']>;
  readonly propertyId: string | undefined;
}

/** A copy of the world, valid from one change until the next. It has only the open incidents. */
export class Moment implements WorldView {
  /** Ms since 1970. */
  readonly now: number;
  readonly properties: ReadonlyMap<string, Property>;
  readonly settings: ReadonlyMap<string, PropertySettings>;
  readonly notifications: ReadonlyMap<string, NotificationSettings>;
  readonly signals: ReadonlyMap<string, Signal>;
  readonly incidents: ReadonlyMap<string, Incident>;
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
    for (const id of world.signals.keys()) this.#propertyOf.set(id, world.propertyOf(id));
    for (const id of world.thingIds) {
      const [record, valve] = [world.things.get(id), world.valve(id)];
      if (!record || !valve) continue;
      const propertyId = world.propertyOf(id);
      this.thingsById.set(id, {
        record,
        valve: { settled: valve.settled },
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

  /** Only the last test is kept. */
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

  /** The same moment with these incidents open as well. */
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

  /** Which property each device is in, as one text to compare moments. */
  get placement(): string {
    const things = [...this.thingsById].map(([id, { record }]) => [id, record.signal_id]);
    return JSON.stringify([...this.#propertyOf, ...things]);
  }

  /** Whether the radio link of a sonic and the cloud link of its hub are up. */
  isReachable(id: string): boolean {
    const sonic = this.things.get(id);
    if (!sonic) return false;
    const signal = sonic.signal_id === null ? undefined : this.signals.get(sonic.signal_id);
    const hasCloud = sonic.signal_id === null || isOnline(signal?.cloud_connection);
    return hasCloud && isOnline(sonic.radio_connection);
  }
}

/** The recent past of the world: one moment for each change, as far back as a value may be shown. */
export class WorldHistory {
  readonly #longestMs: number;
  /** Oldest first. The last one is still valid. */
  readonly #moments: Moment[] = [];
  #world: World;

  /** Keeps moments for `longestMs`. Calls `onChange` at once after each change. */
  constructor(world: World, longestMs: number, onChange: () => void) {
    this.#world = world;
    this.#longestMs = longestMs;
    world.onChange = () => {
      // Changes at the same time count as one, because nobody can see a part of it.
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

  /**
   * The moments that were still valid at `from` or later, newest first, each with its end. Times are in ms
   * since 1970.
   */
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
