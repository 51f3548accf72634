import { describe, expect, it } from 'vitest';
import type { DeviceKind } from '../../src/model/devices.ts';
import { placeOf, untruths } from './entityTruths.ts';
import { type Entity, FakeHomeAssistant } from './fakeHomeAssistant.ts';
import { Home, type HomeOptions, minuteMs, type Sections } from './home.ts';
import { tell } from './words.ts';

const schedules = { usage: '1m', pressure_tests: '1m', signals: '1m', properties: '1m' };
const idPattern = /[0-9a-f]{8}-[0-9a-f-]{27}/;
const identifier = (id: string | null | undefined) => `sonic2mqtt_${id}`;

/** Two properties with three signals and four sonics, and a Home Assistant that was there before the bridge. */
class ShownHome extends Home {
  readonly homeAssistant = new FakeHomeAssistant(this);

  constructor({ cloud, config, ...options }: HomeOptions = {}) {
    super({
      ...options,
      cloud: { properties: 2, signals: 3, sonics: 4, ...cloud },
      // Nobody uses water here, so no sonic measures anything after the start.
      config: { schedules, stale_after: '24h', ...config },
    });
    for (const id of this.world.incidents.ids) this.world.closeIncident(id);
  }

  /** Restarts the bridge with this filter. */
  async restartWith(properties: readonly string[], changes: Sections = {}): Promise<void> {
    await this.stop();
    await this.startWith({ schedules, stale_after: '24h', filters: { properties }, ...changes });
  }

  get entityCount(): number {
    return this.homeAssistant.entities().length;
  }

  happened(event: string): readonly string[] {
    return this.events(event).map(({ kind, id }) => `${kind} ${id}`);
  }

  openIncidentsAt(propertyId: string): number {
    return this.json(`property/${propertyId}/incidents`).open_count;
  }

  /** Of the shown properties: each device's parent and name, and its property if its record has that. */
  devicesOf(shown: readonly string[]): Record<string, object> {
    const { world } = this;
    const isShown = ({ id }: { readonly id: string }) => shown.includes(world.propertyOf(id) ?? '');
    const rows = [
      { id: 'bridge', parent: undefined, name: 'sonic2mqtt', property: undefined },
      ...[...world.properties.values()]
        .filter(({ id }) => shown.includes(id))
        .map(({ id, name }) => ({ id, name, parent: 'bridge', property: undefined })),
      ...[...world.signals.values()].filter(isShown).map(({ id, name }) => ({
        id,
        name,
        parent: world.propertyOf(id),
        property: world.propertyOf(id),
      })),
      ...[...world.sonics.values()]
        .filter(isShown)
        .map(({ id, name, signal_id }) => ({ id, name, parent: signal_id, property: world.propertyOf(id) })),
    ];
    return Object.fromEntries(
      rows.map(({ id, name, parent, property }) => [
        identifier(id),
        { name, property, parent: parent && identifier(parent) },
      ]),
    );
  }

  get devicesShown(): Record<string, object> {
    const rows = [...this.homeAssistant.devices].map(([device, { about }]) => {
      const id = device.slice('sonic2mqtt_'.length);
      const [path] = ['signal', 'sonic'].map((kind) => `${kind}/${id}`).filter((each) => this.text(each));
      const property = path && this.json(path).property_id;
      return [device, { name: about['name'], property, parent: about['via_device'] }];
    });
    return Object.fromEntries(rows);
  }

  /** Lets everything be read, and holds that exactly these properties are shown, with all that is in them. */
  async expectShown(shown: readonly string[] = this.world.properties.ids): Promise<void> {
    await this.pass(3 * minuteMs);
    const wanted = this.devicesOf(shown);
    expect(this.devicesShown).toEqual(wanted);
    const wrong = () => untruths(this, this.homeAssistant.entities());
    // Water runs while it is read. What is wrong says more than a wait in vain.
    await this.until(() => wrong().length === 0, 'the truth', 2 * minuteMs).catch(() => undefined);
    expect(wrong()).toEqual([]);
    const strangers = [...this.broker.retained.keys()].filter((topic) => {
      const id = idPattern.exec(topic)?.[0];
      return id !== undefined && !topic.startsWith('sonic2mqtt/incident/') && !(identifier(id) in wanted);
    });
    expect(strangers).toEqual([]);
    expect(this.homeAssistant.complaints).toEqual([]);
  }
}

describe('a house in which things come, move and go', () => {
  it('shows what is new below what it belongs to, and calls things what the cloud calls them', async () => {
    const home = new ShownHome();
    const { world } = home;
    await home.start();
    await home.expectShown();
    expect(home.homeAssistant.devices.size).toBe(1 + 2 + 3 + 4);

    const property = world.addProperty();
    const signal = world.addSignal(property.id);
    const sonics = [world.addSonic(signal.id), world.addSonic(home.signalId)];
    await home.expectShown();
    expect(home.happened('device_added').toSorted()).toEqual(
      [`property ${property.id}`, `signal ${signal.id}`, ...sonics.map(({ id }) => `sonic ${id}`)].toSorted(),
    );

    const entities = home.entityCount;
    for (const records of [world.properties, world.signals, world.sonics]) {
      const [id = ''] = records.ids;
      records.change(id, { name: `Renamed ${id.slice(0, 4)}` });
    }
    await home.expectShown();
    expect(home.entityCount).toBe(entities);
  });

  it('follows a signal to another property and back, and a sonic to another signal, as they are', async () => {
    const home = new ShownHome();
    const { world } = home;
    await home.start();
    const entities = home.entityCount;
    const [to = '', from = ''] = world.properties.ids;
    const [signal = ''] = world.signalIdsOf(from);
    const [inSignal = ''] = world.sonicIdsOf(signal);
    const incident = world.openIncident({ type: 'low_battery_level', sonicId: inSignal });
    await home.expectShown();
    expect([home.openIncidentsAt(from), home.openIncidentsAt(to)]).toEqual([1, 0]);
    for (const [property, other] of [
      [to, from],
      [from, to],
    ] as const) {
      world.moveToProperty(signal, property);
      await home.expectShown();
      expect(world.propertyOf(signal)).toBe(property);
      expect([home.openIncidentsAt(property), home.openIncidentsAt(other)]).toEqual([1, 0]);
    }
    const [there = ''] = world.signalIdsOf(to);
    world.sonics.change(inSignal, { signal_id: there });
    await home.expectShown();
    expect([home.openIncidentsAt(to), home.openIncidentsAt(from)]).toEqual([1, 0]);
    world.closeIncident(incident.id);

    // From now on its link to the cloud is that of its new signal.
    const isAvailable = () => home.entity(inSignal, 'valve_valve').isAvailable;
    for (const [id, isReached] of [
      [signal, true],
      [there, false],
    ] as const) {
      world.signals.change(id, { cloud_connection: 'disconnected' });
      await home.pass(2 * minuteMs);
      expect(home.entity(id, 'binary_sensor_cloud_connection').state).toBe('OFF');
      expect(isAvailable()).toBe(isReached);
      world.signals.change(id, { cloud_connection: 'connected' });
    }
    await home.expectShown();
    expect(home.entityCount).toBe(entities);
    expect(home.happened('device_removed')).toEqual([]);
    expect(home.happened('device_added')).toEqual([]);
  });

  it('forgets what two complete readings have missed, with all its topics; its open incident stays', async () => {
    const home = new ShownHome();
    const { world, homeAssistant, sonicId: sonic, signalId: signal } = home;
    await home.start();
    const incident = world.openIncident({ type: 'low_battery_level', sonicId: sonic });
    await home.pass(2 * minuteMs);
    expect(home.entity(sonic, 'sensor_open_incidents').state).toBe(1);
    const before = home.asked('list_sonics').length;
    world.removeSonic(sonic);
    await home.until(() => !homeAssistant.devices.has(identifier(sonic)), 'the sonic to go');
    expect(home.asked('list_sonics').length).toBeGreaterThanOrEqual(before + 2);
    // Nobody has closed it: it is an incident of its signal now, and may be at any other sonic of that.
    await home.pass(minuteMs);
    expect(home.entity(signal, 'sensor_open_incidents').state).toBe(1);
    for (const id of world.thingIds.filter((each) => world.sonics.get(each)?.signal_id === signal)) {
      expect(home.entity(id, 'binary_sensor_incident_low_battery_level').state).toBeNull();
    }
    world.closeIncident(incident.id);

    const bare = world.addSignal();
    await home.expectShown();
    world.moveToProperty(bare.id, undefined);
    world.signals.delete(bare.id);
    await home.expectShown();
    expect(home.happened('device_removed')).toEqual([`sonic ${sonic}`, `signal ${bare.id}`]);

    const [left = '', ...kept] = world.properties.ids;
    const gone = [
      `property ${left}`,
      ...world.signalIdsOf(left).map((id) => `signal ${id}`),
      ...world.thingIdsOf(left).map((id) => `sonic ${id}`),
    ];
    world.leaveProperty(left);
    await home.expectShown(kept);
    expect(home.happened('device_removed').slice(2).toSorted()).toEqual(gone.toSorted());
  });
});

describe('a selection of properties', () => {
  it('by name or id shows no other, and what is taken there or away comes and goes', async () => {
    const home = new ShownHome();
    const { world, homeAssistant } = home;
    const [chosen = '', other = ''] = world.properties.ids;
    await home.start();
    await home.expectShown();
    await home.restartWith([world.properties.get(chosen)?.name ?? '']);
    await home.expectShown([chosen]);

    const [signal = ''] = world.signalIdsOf(other);
    for (const property of [chosen, other]) {
      world.moveToProperty(signal, property);
      await home.expectShown([chosen]);
      expect(homeAssistant.devices.has(identifier(signal))).toBe(property === chosen);
    }
    const said = home.published(`signal/${signal}/availability`).map(({ payload }) => payload);
    expect(said.slice(-3)).toEqual(['online', 'offline', '']);
    await home.restartWith([other]);
    await home.expectShown([other]);
  });

  it('by a name that is changed from Home Assistant shows the property all the same, and says so in time', async () => {
    const home = new ShownHome();
    const { world, homeAssistant } = home;
    const [chosen = ''] = world.properties.ids;
    const before = world.properties.get(chosen)?.name ?? '';
    await home.start();
    await home.restartWith([before]);
    await home.expectShown([chosen]);
    const shown = home.messages.length;

    homeAssistant.use(chosen, 'text_name', 'Cottage');
    await home.pass(5 * minuteMs);
    expect(home.devicesShown).toEqual(home.devicesOf([chosen]));
    expect(homeAssistant.devices.get(identifier(chosen))?.about['name']).toBe('Cottage');
    const words = `filters.properties: ${before} is now called Cottage. Correct the name before the next restart`;
    expect(home.linesFrom(0)).toContain(`warn: ${words}`);

    await home.restartWith([before]);
    await home.pass(10 * minuteMs);
    expect(home.json('bridge/health').reason).toContain(
      'filters.properties matches no property of the account',
    );
    await home.restartWith(['Cottage']);
    await home.expectShown([chosen]);
    const deleted = home.messages.slice(shown).filter(({ payload, retain }) => retain && payload === '');
    expect(deleted.map(({ topic }) => topic)).toEqual([]);
  });
});

/** What an entity stands or falls with, besides the bridge. */
type Rests = 'bridge' | 'cloud' | 'device';

/** Of signals and sonics: connectivity and incidents must tell of the very link that is down. */
const restingOnCloud: Readonly<Record<'signal' | 'sonic', RegExp>> = {
  signal:
    /^(binary_sensor_cloud_connection|binary_sensor_incident_cloud_disconnection|sensor_open_incidents)$/,
  sonic:
    /^(binary_sensor_radio_connection|binary_sensor_alert|binary_sensor_incident_\w+|sensor_(open_incidents|moved_at|moved_by)|button_(resolve|snooze)_incidents)$/,
};

/** What the bridge knows of itself: what became of its commands, and what it owes. */
const restingOnBridge = /^(binary_sensor_command_failed|button_dismiss_failure|sensor_paused_until)$/;

function restsOn(kind: DeviceKind, id: string): Rests {
  if (kind === 'bridge' || restingOnBridge.test(id)) return 'bridge';
  // A property has no link of its own.
  if (kind === 'property') return 'cloud';
  return restingOnCloud[kind].test(id) ? 'cloud' : 'device';
}

const attending = new WeakMap<Home, FakeHomeAssistant>();

function homeAssistantOf(home: Home): FakeHomeAssistant {
  const homeAssistant = attending.get(home);
  if (!homeAssistant) throw new Error('no Home Assistant is there');
  return homeAssistant;
}

const states = new WeakMap<Home, ReadonlyMap<string, unknown>>();
const statesOf = (home: Home) =>
  new Map(
    homeAssistantOf(home)
      .entities()
      .map(({ device, id, state }) => [`${device} ${id}`, state]),
  );

tell(import.meta.url, {
  /** A Home Assistant is there before the bridge. */
  attend: (home) => void attending.set(home, new FakeHomeAssistant(home)),
  /** Which kinds of entities there are, by what they stand or fall with. */
  kinds: (home) => {
    const all = homeAssistantOf(home).entities();
    const kinds = all.map(({ device, id }) => [placeOf(home, device).kind, id] as const);
    return [...new Set(kinds.map(([kind, id]) => `${kind} ${restsOn(kind, id)}`))].toSorted();
  },
  /** Lets it be noticed that the bridge or the cloud is down, or that these devices are lost: whether just what rests on them is unavailable. */
  weather: async (home, ...down) => {
    await home.pass(10 * minuteMs);
    const homeAssistant = homeAssistantOf(home);
    const isRight = ({ device, id, isAvailable }: Entity) => {
      const place = placeOf(home, device);
      const rests = restsOn(place.kind, id);
      const isCloudUp = !down.includes('cloud') && (rests === 'cloud' || !down.includes(place.id));
      return isAvailable === (!down.includes('bridge') && (rests === 'bridge' || isCloudUp));
    };
    const wrong = homeAssistant.entities().filter((entity) => !isRight(entity));
    expect(homeAssistant.complaints).toEqual([]);
    return wrong.length === 0 ? 'as it should be' : wrong.map(({ device, id }) => `wrong: ${device} ${id}`);
  },
  use: (home, ...words) => {
    const [device = '', id = '', input] = words;
    try {
      homeAssistantOf(home).use(device, id, input);
      return 'used';
    } catch (error) {
      return String(error);
    }
  },
  keep: (home) => void states.set(home, statesOf(home)),
  changed: (home) => {
    const before = states.get(home);
    const changes = [...statesOf(home)].filter(([key, state]) => before?.get(key) !== state);
    return `changed: ${changes.map(([key]) => key.replace(/^sonic2mqtt_/, ''))}`;
  },
});
