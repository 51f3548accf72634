import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Simulator } from '../../src/simulator/simulator.ts';
import { chromiumAvailable } from '../support/chromium.ts';
import { withoutStubs } from '../support/discoveries.ts';
import type { Mosquitto } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { takePicture } from '../support/pictures.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';
import type { EntityState, HomeAssistant } from './homeAssistant.ts';
import {
  type Household,
  newestVersion,
  pictures,
  settled,
  startBridge,
  startHousehold,
  stopHousehold,
  version,
} from './household.ts';

/** Components that may show "unknown" although all is well, and why; a button does until it is pressed. */
const mayBeUnknown: Readonly<Record<string, string>> = {
  sensor_moved_at: 'no valve has moved since it was first seen',
  sensor_moved_by: 'no valve has moved since it was first seen',
  sensor_paused_until: 'the automatic shut-off is not paused',
  sensor_pressure_test_last_day: 'no test has run yet',
  sensor_pressure_test_result: 'no test has run yet',
  sensor_water_at_rest: 'water may run since the start',
  sensor_valve_travel_time: 'no valve has been commanded yet',
  sensor_modem_boot_time: 'the cloud says 0, which is unknown',
};

/** What says whether a device has incidents. */
const ofIncidents = /^binary_sensor_(incident_|problem|alert)|^sensor_(open_incidents|highest_severity)$/;

const availability = z.array(z.object({ topic: z.string() }));
const discovery = z.object({
  device: z.object({
    identifiers: z.array(z.string()),
    name: z.string(),
    model: z.string(),
    via_device: z.string().optional(),
  }),
  availability,
  components: z.record(
    z.string(),
    z.object({
      unique_id: z.string(),
      default_entity_id: z.string().optional(),
      name: z.string().nullable(),
      enabled_by_default: z.boolean().optional(),
      availability: availability.optional(),
    }),
  ),
});

let household: Household | undefined;
let broker: Mosquitto;
let watcher: MqttWatcher;
let cloud: Simulator;
let program: RunningProgram;
let home: HomeAssistant;
let startHome: () => Promise<HomeAssistant>;

beforeAll(async () => {
  household = await startHousehold(({ world }) =>
    world.changeSonic(world.sonics.ids[1] ?? '', { auto_shut_off_time_limit: undefined }),
  );
  ({ broker, watcher, cloud, program, home, startHome } = household);
});

afterAll(() => stopHousehold(household && { ...household, cloud, program, home }));

/** The devices announced on the broker. */
function announced() {
  return [...watcher.last]
    .filter(([topic]) => /^homeassistant\/device\/[^/]+\/config$/.test(topic))
    .map(([, text]) => discovery.parse(withoutStubs(JSON.parse(text))));
}

function announcedIds(): string[] {
  return announced().flatMap(({ components }) => Object.values(components).map(({ unique_id }) => unique_id));
}

async function registeredIds(): Promise<string[]> {
  return (await home.entities()).map(({ unique_id }) => unique_id);
}

/** Where what was announced and what Home Assistant took differ. */
async function registryDifferences(): Promise<string[]> {
  const [wanted, there] = [announcedIds(), await registeredIds()];
  return [
    ...wanted.filter((id) => !there.includes(id)).map((id) => `${id} is missing`),
    ...there.filter((id) => !wanted.includes(id)).map((id) => `${id} is left over`),
  ];
}

async function entityId(uniqueId: string): Promise<string> {
  const found = (await home.entities()).find((entity) => entity.unique_id === uniqueId);
  if (found === undefined) throw new Error(`Home Assistant knows no ${uniqueId}`);
  return found.entity_id;
}

async function stateOf(uniqueId: string): Promise<EntityState | undefined> {
  return (await home.states()).get(await entityId(uniqueId));
}

/** A time as Home Assistant shows it. */
const aTime = expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:]{8}\+00:00$/);

/** Waits until Home Assistant shows this of an entity. */
async function becomes(uniqueId: string, wanted: object): Promise<void> {
  await vi.waitFor(async () => expect(await stateOf(uniqueId)).toMatchObject(wanted), {
    timeout: 60_000,
    interval: 500,
  });
}

/** What is wrong with the states of the enabled entities, in words. */
async function wrongStates(): Promise<string[]> {
  const [entities, states] = [await home.entities(), await home.states()];
  const wrong: string[] = [];
  const isAnyOffline = [...watcher.last].some(
    ([topic, text]) => /\/availability$/.test(topic) && text === 'offline',
  );
  for (const device of announced()) {
    for (const [componentId, component] of Object.entries(device.components)) {
      const entity = entities.find(({ unique_id }) => unique_id === component.unique_id);
      if (entity === undefined || entity.disabled_by !== null) continue;
      const state = states.get(entity.entity_id)?.state;
      const needs = component.availability ?? device.availability;
      const isOnline = ({ topic }: { topic: string }) => watcher.last.get(topic) === 'online';
      // A device that is offline cannot say that it has no incident, and its property cannot either.
      const isUnknown =
        componentId in mayBeUnknown ||
        componentId.startsWith('button_') ||
        (ofIncidents.test(componentId) && isAnyOffline);
      const isRight = needs.every(isOnline)
        ? state !== undefined && state !== 'unavailable' && (state !== 'unknown' || isUnknown)
        : state === 'unavailable';
      if (!isRight) wrong.push(`${component.unique_id} is ${state}`);
    }
  }
  return wrong;
}

/** The ids of the sonics whose valve Home Assistant shows in this state. */
async function sonicsWithValve(state: string): Promise<string[]> {
  const [entities, states] = [await home.entities(), await home.states()];
  return entities
    .filter(({ entity_id }) => entity_id.startsWith('valve.') && states.get(entity_id)?.state === state)
    .map(({ unique_id }) => unique_id.replace(/^sonic2mqtt_(.*)_valve$/, '$1'));
}

/** The valve as the cloud itself tells it, without the bridge in between. */
function valveInTheCloud(sonicId: string): string | null {
  return cloud.world.sonics.get(sonicId)?.valve_state ?? null;
}

const removedEntities = new Set<string>();

function complainsAboutNothing(): void {
  test('Home Assistant complains about nothing', async () => {
    expect(await home.complaints()).toEqual([]);
  });
}

describe(`Home Assistant ${version}, met for the first time`, () => {
  test('takes every entity that is announced, and no other', async () => {
    const kinds = ['bridge', 'property', 'signal', 'sonic'];
    const isShown = (kind: string) =>
      [...watcher.last.keys()].some((topic) => topic.startsWith(`sonic2mqtt/${kind}/`));
    await waitFor(() => kinds.every(isShown), { what: 'a device of each kind' });
    expect(await settled(registryDifferences)).toEqual([]);
    expect(announcedIds().length).toBeGreaterThan(50);
    // A component that a sonic lacks is stated from the first message on.
    const message = watcher.json(`homeassistant/device/sonic2mqtt_${cloud.world.sonics.ids[1]}/config`);
    expect(message).toMatchObject({
      components: { sensor_auto_shut_off_time_limit: { platform: 'sensor' } },
    });
    expect(announcedIds()).not.toContain(`sonic2mqtt_${cloud.world.sonics.ids[1]}_auto_shut_off_time_limit`);
  });

  test('links each device to the one above it', async () => {
    const devices = await home.devices();
    const byIdentifier = new Map(
      devices.flatMap((device) => device.identifiers.map(([, id]) => [id, device])),
    );
    for (const { device } of announced()) {
      const found = byIdentifier.get(device.identifiers[0]);
      const above = device.via_device === undefined ? undefined : byIdentifier.get(device.via_device);
      expect(found, `${device.name} is there`).toMatchObject({
        name: device.name,
        via_device_id: above?.id ?? null,
      });
      expect(device.via_device === undefined, `${device.name} has something above it`).toBe(
        above === undefined,
      );
    }
  });

  test('has enabled and shown what was announced so', async () => {
    const registered = new Map((await home.entities()).map((entity) => [entity.unique_id, entity]));
    for (const component of announced().flatMap(({ components }) => Object.values(components))) {
      expect(registered.get(component.unique_id)).toMatchObject({
        disabled_by: component.enabled_by_default === false ? 'integration' : null,
        hidden_by: null,
      });
    }
  });

  test('shows a value for every entity that should have one', async () => {
    expect(await settled(wrongStates)).toEqual([]);
  });

  test('shows an open incident with its record', async () => {
    const open = [...watcher.last].filter(([topic]) => topic.startsWith('sonic2mqtt/incident/'));
    const incidents = z.array(
      z.object({ id: z.string(), type: z.string(), sonic_id: z.string().nullable() }),
    );
    const [incident] = incidents
      .parse(open.map(([, text]) => JSON.parse(text)))
      .filter((each) => each.sonic_id !== null);
    const state = await stateOf(`sonic2mqtt_${incident?.sonic_id}_incident_${incident?.type}`);
    expect(state).toMatchObject({ state: 'on', attributes: { id: incident?.id } });
  });

  test('closes a valve, and shows it closing and then closed', async () => {
    const [sonicId = ''] = await sonicsWithValve('open');
    const valve = await entityId(`sonic2mqtt_${sonicId}_valve`);
    expect(valveInTheCloud(sonicId)).toBe('open');
    const from = home.changes.length;
    await home.callService('valve', 'close_valve', valve);
    const shown = () => {
      const states = home.changes.slice(from).filter((change) => change.entity_id === valve);
      return states.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]);
    };
    await waitFor(() => shown().includes('closed'), { what: `${valve} to close`, timeoutMs: 180_000 });
    expect(shown()).toEqual(['closing', 'closed']);
    expect(valveInTheCloud(sonicId)).toBe('closed');
    await becomes(`sonic2mqtt_${sonicId}_moved_by`, { state: 'Command' });
    await becomes(`sonic2mqtt_${sonicId}_moved_at`, { state: aTime });
  });

  test.runIf(chromiumAvailable()).each(['Sonic', 'Signal', 'Property', 'Bridge'])(
    'has a device page for a %s that shows all of it',
    async (model) => {
      const described = announced().find(({ device }) => device.model === model);
      const identifier = described?.device.identifiers[0];
      const device = (await home.devices()).find(({ identifiers }) =>
        identifiers.some(([, id]) => id === identifier),
      );
      const names = Object.values(described?.components ?? {})
        .filter((component) => component.enabled_by_default !== false)
        .map((component) => component.name ?? device?.name ?? '');
      expect(names).not.toEqual([]);
      mkdirSync(pictures, { recursive: true });
      await takePicture({
        url: `${home.url}/config/devices/device/${device?.id}`,
        texts: names,
        file: `${pictures}${model.toLowerCase()}-${version}.png`,
        width: 1400,
        height: model === 'Sonic' ? 2500 : 1300,
      });
    },
  );

  complainsAboutNothing();
});

/** Uses an entity and waits until the cloud has it, and then until Home Assistant shows it. */
async function use(
  uniqueId: string,
  [domain, service, data]: readonly [string, string, object?],
  isDone: () => boolean,
  shown?: string,
): Promise<void> {
  const entity = await entityId(uniqueId);
  await home.callService(domain, service, entity, data);
  await waitFor(isDone, { what: `${service} of ${entity} to reach the cloud` });
  if (shown === undefined) return;
  const problem = async () => {
    const state = (await home.states()).get(entity)?.state;
    return state === shown ? [] : [`${entity} is ${state}, not ${shown}`];
  };
  expect(await settled(problem)).toEqual([]);
}

const propertyId = () => cloud.world.properties.ids[0] ?? '';

describe('used as a householder uses it', () => {
  test.each([
    ['auto_shut_off', true, 'switch', 'turn_on', {}, 'on'],
    ['auto_shut_off', false, 'switch', 'turn_off', {}, 'off'],
    ['pressure_tests_schedule', '04:15:00', 'text', 'set_value', { value: '04:15:00' }, '04:15:00'],
  ] as const)('the setting %s becomes %s', async (field, wanted, domain, service, data, shown) => {
    const isDone = () => cloud.world.settings.get(propertyId())?.[field] === wanted;
    expect(isDone()).toBe(false);
    await use(`sonic2mqtt_${propertyId()}_${field}`, [domain, service, data], isDone, shown);
  });

  test('a button resolves what is open', async () => {
    const open = () => [...cloud.world.incidents.values()].filter((incident) => incident.open);
    expect(open()).not.toEqual([]);
    const button = `sonic2mqtt_${propertyId()}_resolve_incidents`;
    const isDone = () => open().every(({ sonic_id }) => cloud.world.propertyOf(sonic_id) !== propertyId());
    await use(button, ['button', 'press'], isDone);
    const count = `sonic2mqtt_${propertyId()}_open_incidents`;
    const left = async () => ((await stateOf(count))?.state === '0' ? [] : ['incidents are still shown']);
    expect(await settled(left)).toEqual([]);
  });

  test('a button starts a pressure test, and the valve is open afterwards', async () => {
    const last = [...cloud.world.sonics.ids].at(-1) ?? '';
    const tests = () => cloud.world.pressureTestsOf(last).length;
    const before = tests();
    await use(`sonic2mqtt_${last}_pressure_test_start`, ['button', 'press'], () => tests() > before);
    await waitFor(() => valveInTheCloud(last) === 'open', {
      what: 'the test to end',
    });
    await becomes(`sonic2mqtt_${last}_pressure_test_result`, { state: 'No open alert' });
    // The test is no movement.
    await becomes(`sonic2mqtt_${last}_moved_by`, { state: 'unknown' });
  });

  test('a number pauses the automatic shut-off for so many minutes, and a button ends that', async () => {
    const isOn = () => cloud.world.settings.get(propertyId())?.auto_shut_off;
    const property = `sonic2mqtt_${propertyId()}`;
    const minutes = `${property}_pause`;
    await becomes(minutes, { state: '0' });
    await use(`${property}_auto_shut_off`, ['switch', 'turn_on'], () => isOn() === true, 'on');
    await use(minutes, ['number', 'set_value', { value: 30 }], () => isOn() === false, '30');
    await becomes(`${property}_auto_shut_off`, { state: 'off' });
    await becomes(`${property}_paused_until`, { state: aTime, attributes: { status: 'paused' } });
    const until = Date.parse((await stateOf(`${property}_paused_until`))?.state ?? '');
    expect(until - Date.now()).toBeGreaterThan(28 * 60_000);
    expect(until - Date.now()).toBeLessThan(30 * 60_000);
    await use(`${property}_resume`, ['button', 'press'], () => isOn() === true);
    await becomes(`${property}_auto_shut_off`, { state: 'on' });
    await becomes(`${property}_paused_until`, { state: 'unknown', attributes: { status: 'none' } });
    await use(`${property}_auto_shut_off`, ['switch', 'turn_off'], () => isOn() === false, 'off');
  });

  test('an alert is in words at its valve and its property', async () => {
    const [sonicId = ''] = cloud.world.sonics.ids;
    const { id } = cloud.world.openIncident({ type: 'water_presence_detected', sonicId });
    const alert = `sonic2mqtt_${sonicId}_alert`;
    await becomes(alert, { state: 'on' });
    const { alerts } = z.object({ alerts: z.array(z.string()) }).parse((await stateOf(alert))?.attributes);
    expect(alerts).toEqual([expect.stringMatching(/^Leak since \d\d:\d\d$/)]);
    await becomes(`sonic2mqtt_${propertyId()}_summary`, { state: expect.stringMatching(/^Leak at Kitchen/) });
    cloud.world.closeIncident(id);
    await becomes(alert, { state: 'off', attributes: { alerts: [] } });
  });

  test('a sonic that the hub cannot reach keeps what does not need its link', async () => {
    const [sonicId = ''] = cloud.world.sonics.ids;
    const availabilityTopic = `sonic2mqtt/sonic/${sonicId}/availability`;
    cloud.world.changeSonic(sonicId, { radio_connection: 'disconnected' });
    await watcher.waitForTopic(availabilityTopic, (text) => text === 'offline');
    expect(await settled(wrongStates)).toEqual([]);
    cloud.world.changeSonic(sonicId, { radio_connection: 'connected' });
    await watcher.waitForTopic(availabilityTopic, (text) => text === 'online');
    expect(await settled(wrongStates)).toEqual([]);
  });

  test('what a sonic did not have comes, goes when it is lost, and comes back', async () => {
    const [, sonicId = ''] = cloud.world.sonics.ids;
    const limit = `sonic2mqtt_${sonicId}_auto_shut_off_time_limit`;
    cloud.world.changeSonic(sonicId, { auto_shut_off_time_limit: 600 });
    await becomes(limit, { state: '600' });
    const entity_id = await entityId(limit);
    await home.ask('config/entity_registry/update', { entity_id, name: 'Longest flow' });
    cloud.world.changeSonic(sonicId, { auto_shut_off_time_limit: undefined });
    const left = async () => [...(await registeredIds()), ...(await home.states()).keys()];
    expect(await settled(async () => (await left()).filter((id) => [limit, entity_id].includes(id)))).toEqual(
      [],
    );
    cloud.world.changeSonic(sonicId, { auto_shut_off_time_limit: 900 });
    await becomes(limit, { state: '900' });
    // The oldest version forgets what was removed.
    const name = version === newestVersion ? 'Longest flow' : null;
    const registered = (await home.entities()).find(({ unique_id }) => unique_id === limit);
    expect(registered).toMatchObject({ entity_id, name });
  });

  test('a sonic that is gone from the account leaves Home Assistant', async () => {
    const gone = cloud.world.addSonic().id;
    const isThere = async () => (await registeredIds()).some((id) => id.includes(gone));
    expect(await settled(async () => ((await isThere()) ? [] : ['it has not come']))).toEqual([]);
    expect(await settled(registryDifferences)).toEqual([]);
    const itsEntities = (await home.entities()).filter(({ unique_id }) => unique_id.includes(gone));
    for (const { entity_id } of itsEntities) removedEntities.add(entity_id);
    cloud.world.removeSonic(gone);
    expect(await settled(async () => ((await isThere()) ? ['it is still there'] : []))).toEqual([]);
    expect(await settled(registryDifferences)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('the Energy dashboard', () => {
  test('takes the total of a sonic, which is good statistics, and its flow', async () => {
    const total = await entityId(`sonic2mqtt_${cloud.world.sonics.ids[0]}_water_total`);
    const flow = await entityId(`sonic2mqtt_${cloud.world.sonics.ids[0]}_flow`);
    // If it was there when statistics were made, which is every five minutes, a sonic that has left keeps them.
    const complaints = Object.entries(
      z.record(z.string(), z.unknown()).parse(await home.ask('recorder/validate_statistics')),
    );
    expect(complaints.filter(([entity]) => !removedEntities.has(entity))).toEqual([]);
    await home.ask('energy/save_prefs', {
      energy_sources: [
        {
          type: 'water',
          stat_energy_from: total,
          ...(version === newestVersion && { stat_rate: flow }),
          stat_cost: null,
          entity_energy_price: null,
          number_energy_price: null,
        },
      ],
    });
    const issues = z.object({ energy_sources: z.array(z.array(z.object({ type: z.string() }))) });
    const { energy_sources } = issues.parse(await home.ask('energy/validate'));
    // The first statistics come within five minutes; nothing else may be wrong.
    const types = energy_sources.flat().map(({ type }) => type);
    expect(types.filter((type) => type !== 'statistics_not_defined')).toEqual([]);
    if (!chromiumAvailable()) return;
    await takePicture({
      url: `${home.url}/energy`,
      texts: ['Water'],
      file: `${pictures}energy-${version}.png`,
      width: 1400,
      height: 1000,
    });
  });

  complainsAboutNothing();
});

describe('after a restart of Home Assistant, with all entities enabled', () => {
  let messagesBefore: number;

  beforeAll(async () => {
    for (const entity of await home.entities())
      if (entity.disabled_by !== null) await home.enable(entity.entity_id);
    messagesBefore = watcher.messages.length;
    await home.stop();
    home = await startHome();
  });

  test('the bridge announces every device again once Home Assistant says that it is there', async () => {
    const isBirth = ({ topic, text }: { topic: string; text: string }) =>
      topic === 'homeassistant/status' && text === 'online';
    await watcher.waitForMessage(isBirth, {
      what: 'the birth message',
      timeoutMs: 180_000,
      from: messagesBefore,
    });
    const birth = watcher.messages.findIndex((message, index) => index >= messagesBefore && isBirth(message));
    const announcedAgain = () =>
      watcher.messages.slice(birth).filter(({ topic }) => topic.startsWith('homeassistant/device/'));
    await waitFor(() => announcedAgain().length >= announced().length, {
      what: 'all devices to be announced again',
    });
  });

  test('every entity has a value, also those that are off by default', async () => {
    expect((await home.entities()).filter((entity) => entity.disabled_by !== null)).toEqual([]);
    expect(await settled(wrongStates)).toEqual([]);
  });

  test('a select changes a threshold', async () => {
    const litres = () => cloud.world.notifications.get(propertyId())?.high_volume_threshold_litres;
    const select = `sonic2mqtt_${propertyId()}_high_volume_threshold_litres`;
    await use(select, ['select', 'select_option', { option: '250' }], () => litres() === 250, '250');
  });

  test('a name that is changed renames the device', async () => {
    const [sonicId = ''] = cloud.world.sonics.ids;
    const name = () => cloud.world.sonics.get(sonicId)?.name;
    const text = `sonic2mqtt_${sonicId}_name`;
    for (const value of ['Main valve', 'Kitchen']) {
      await use(text, ['text', 'set_value', { value }], () => name() === value, value);
      const renamed = async () => {
        const names = (await home.devices()).map((device) => device.name);
        return names.includes(value) ? [] : [`no device is called ${value}`];
      };
      expect(await settled(renamed)).toEqual([]);
    }
  });

  complainsAboutNothing();
});

describe('while the bridge is away', () => {
  beforeAll(async () => {
    await program.stop();
  });

  test('every entity is unavailable', async () => {
    const stillThere = async () => {
      const [entities, states] = [await home.entities(), await home.states()];
      return entities
        .map(({ entity_id }) => entity_id)
        .filter((id) => states.get(id)?.state !== 'unavailable');
    };
    expect(await settled(stillThere)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('when the bridge is back', () => {
  beforeAll(() => {
    program = startBridge(cloud, broker, program.cwd);
  });

  test('every entity has its value again', async () => {
    for (const topic of ['sonic2mqtt/bridge/state', 'sonic2mqtt/bridge/cloud']) {
      await watcher.waitForTopic(topic, (text) => text === 'online');
    }
    expect(await settled(wrongStates)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('after a cleanup', () => {
  beforeAll(async () => {
    await program.stop();
    await startProgram(['cleanup'], { cwd: program.cwd }).ended();
  });

  test('nothing of the bridge is left in Home Assistant and on the broker', async () => {
    expect(await settled(registeredIds)).toEqual([]);
    const left = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/device/#']);
    expect([...left.last.keys()]).toEqual([]);
  });

  complainsAboutNothing();
});

describe('with German names', () => {
  beforeAll(async () => {
    await cloud.stop();
    // Home Assistant gives a device that comes back the ids that it had.
    cloud = new Simulator({ seed: 8, quiet: true });
    await cloud.start();
    program = startBridge(cloud, broker, temporaryFolder(), { language: 'de' });
    await waitFor(() => announced().length > 5, { what: 'the devices' });
  });

  test('Home Assistant shows them, and makes the ids of the English ones where it can', async () => {
    expect(await settled(registryDifferences)).toEqual([]);
    const devices = announced().filter(({ device }) => device.model !== 'Bridge');
    const wanted = devices.flatMap(({ components }) => Object.values(components));
    const entities = await home.entities();
    const made = wanted.map((component) => {
      const entity = entities.find(({ unique_id }) => unique_id === component.unique_id);
      return { name: entity?.original_name ?? null, id: entity?.entity_id };
    });
    expect(made.map(({ name }) => name)).toEqual(wanted.map(({ name }) => name));
    expect(made.map(({ name }) => name)).toContain('Wasser heute');
    // Before 2025.10 it makes them of the names that it shows.
    if (version === newestVersion) {
      expect(made.map(({ id }) => id)).toEqual(wanted.map((component) => component.default_entity_id));
    }
  });

  complainsAboutNothing();
});

// Last, as Home Assistant complains of a broker that is lost.
describe('when the broker dies without a word', () => {
  test('a command that is lost with it moves no valve later', async () => {
    const [sonicId = ''] = await sonicsWithValve('open');
    const valve = await entityId(`sonic2mqtt_${sonicId}_valve`);
    const state = async () => (await home.states()).get(valve)?.state;
    const becomes = async (wanted: string) => {
      const problem = async () => ((await state()) === wanted ? [] : [`${valve} is ${await state()}`]);
      expect(await settled(problem)).toEqual([]);
    };
    await becomes('open');
    const commands = () => cloud.requests.count('command_valve');
    const before = commands();
    await broker.kill('SIGSTOP');
    await home.callService('valve', 'close_valve', valve);
    await broker.kill('SIGKILL');
    await becomes('unavailable');
    await broker.restart();
    await becomes('open');
    // What Home Assistant sends again, it sends before this.
    await home.callService('valve', 'open_valve', valve);
    await waitFor(() => commands() > before, { what: 'the command' });
    expect(commands() - before).toBe(1);
  });
});
