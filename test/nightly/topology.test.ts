import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../src/simulator/world.ts';
import { propertyOf, untruths } from '../support/entityTruths.ts';
import { type FakeHomeAssistant, startFakeHomeAssistant } from '../support/fakeHomeAssistant.ts';
import { fault, type House, quick, startHouse } from '../support/house.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

const schedules = { ...quick, usage: '400ms', pressure_tests: '400ms' };

interface Both {
  readonly house: House;
  readonly homeAssistant: FakeHomeAssistant;
}

/** A house with two properties, and a Home Assistant that was there before the bridge. */
async function startBoth(options: NonNullable<Parameters<typeof startHouse>[0]> = {}): Promise<Both> {
  const house = await startHouse({
    cloud: { properties: 2, signals: 3, sonics: 4, ...options.cloud },
    config: { schedules, ...options.config },
    isStarted: false,
  });
  const homeAssistant = await startFakeHomeAssistant(house.broker.url);
  house.startBridge();
  return { house, homeAssistant };
}

async function end({ house, homeAssistant }: Both): Promise<void> {
  await house.bridge.stop();
  await homeAssistant.close();
}

const identifier = (id: string | null | undefined) => `sonic2mqtt_${id}`;
const idPattern = /[0-9a-f]{8}-[0-9a-f-]{27}/;

/** Takes a signal to another property, with all that hangs on it. */
function moveSignal(world: World, signalId: string, propertyId: string): void {
  // Of the world's own lists, which only it has to leave as they are.
  const [before, after] = [propertyOf(world, signalId) ?? '', propertyId].map(
    (id) => world.signalIdsOf(id) as string[],
  );
  before?.splice(before.indexOf(signalId), 1);
  after?.push(signalId);
}

/** Takes a sonic to another signal. */
function moveSonic(world: World, sonicId: string, signalId: string): void {
  const from = world.sonics.get(sonicId)?.signal_id ?? '';
  const [before, after] = [from, signalId].map((id) => world.sonicIdsOf(id) as string[]);
  before?.splice(before.indexOf(sonicId), 1);
  after?.push(sonicId);
  world.sonics.change(sonicId, { signal_id: signalId });
}

/** Takes a signal without sonics away. */
function removeSignal(world: World, signalId: string): void {
  const siblings = world.signalIdsOf(propertyOf(world, signalId) ?? '') as string[];
  siblings.splice(siblings.indexOf(signalId), 1);
  world.signals.delete(signalId);
}

/** What hangs on what in the shown properties: each device's parent and name, and its property where it tells of one. */
function devicesOf(world: World, shown: readonly string[]): Record<string, object> {
  const isShown = (id: string) => shown.includes(propertyOf(world, id) ?? '');
  const rows = [
    ['sonic2mqtt_bridge', { parent: undefined, name: 'sonic2mqtt', property: undefined }],
    ...[...world.properties.values()]
      .filter(({ id }) => shown.includes(id))
      .map(({ id, name }) => [identifier(id), { parent: 'sonic2mqtt_bridge', name, property: undefined }]),
    ...[...world.signals.values()]
      .filter(({ id }) => isShown(id))
      .map(({ id, name }) => {
        const property = propertyOf(world, id);
        return [identifier(id), { parent: identifier(property), name, property }];
      }),
    ...[...world.sonics.values()]
      .filter(({ id }) => isShown(id))
      .map(({ id, name, signal_id: signalId }) => [
        identifier(id),
        { parent: identifier(signalId), name, property: propertyOf(world, id) },
      ]),
  ];
  return Object.fromEntries(rows);
}

function devicesShown({ house, homeAssistant }: Both): Record<string, object> {
  const rows = [...homeAssistant.devices].map(([device, { about }]) => {
    const id = device.slice('sonic2mqtt_'.length);
    const record = house.json(`signal/${id}`) ?? house.json(`sonic/${id}`);
    return [device, { parent: about['via_device'], name: about['name'], property: record?.property_id }];
  });
  return Object.fromEntries(rows);
}

/** Waits until Home Assistant has exactly these properties, all that is in them, and shows what the cloud has. */
async function untilShown(both: Both, shown?: readonly string[]): Promise<void> {
  const { house, homeAssistant } = both;
  const look = () => ({
    wanted: devicesOf(house.simulator.world, shown ?? house.simulator.world.properties.ids),
    found: devicesShown(both),
    wrong: untruths(house, homeAssistant.entities()),
  });
  // Water runs all the time: what counts is one moment.
  let seen = look();
  const isShown = () => {
    seen = look();
    return isDeepStrictEqual(seen.found, seen.wanted) && seen.wrong.length === 0;
  };
  // What is different says more than a wait in vain.
  await waitFor(isShown, { what: 'the house as it is', timeoutMs: 10_000 }).catch(() => undefined);
  expect(seen.found).toEqual(seen.wanted);
  expect(seen.wrong).toEqual([]);
  const known = Object.keys(seen.wanted).map((device) => device.slice('sonic2mqtt_'.length));
  // Another client is told all that is retained, and nothing else.
  const retained = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/device/#']);
  await retained.close();
  const strangers = [...retained.last.keys()].filter((topic) => {
    const id = idPattern.exec(topic)?.[0];
    return id !== undefined && !topic.startsWith('sonic2mqtt/incident/') && !known.includes(id);
  });
  expect(strangers).toEqual([]);
  expect(homeAssistant.complaints).toEqual([]);
}

/** Waits until that property shows so many open incidents. */
function waitForIncidents({ house }: Both, propertyId: string, count: number): Promise<string> {
  const isSo = (text: string) => JSON.parse(text).open_count === count;
  return house.watcher.waitForTopic(`sonic2mqtt/property/${propertyId}/incidents`, isSo, 4_000);
}

describe('a house in which things come, move and go', () => {
  let both: Both;
  let world: World;
  beforeAll(async () => {
    both = await startBoth();
    ({ world } = both.house.simulator);
    // It would hold up each look until it was announced.
    for (const id of world.incidents.ids) world.closeIncident(id);
  });
  afterAll(() => end(both));

  const count = () => both.homeAssistant.entities().length;
  const happened = (event: string) => both.house.events(event).map(({ kind, id }) => `${kind} ${id}`);
  const untilHappened = (event: string, times: number) =>
    waitFor(() => happened(event).length >= times, { what: `${times} times ${event}` });

  it('is shown as property, signal and sonic, each below the one above it', async () => {
    await untilShown(both);
    expect(both.homeAssistant.devices.size).toBe(1 + 2 + 3 + 4);
  });

  it('shows what is new, below what it belongs to', async () => {
    const property = world.addProperty();
    const signal = world.addSignal(property.id);
    const [first = ''] = world.signals.ids;
    const sonics = [world.addSonic(signal.id), world.addSonic(first)];
    await untilShown(both);
    await untilHappened('device_added', 4);
    expect(happened('device_added').toSorted()).toEqual(
      [`property ${property.id}`, `signal ${signal.id}`, ...sonics.map(({ id }) => `sonic ${id}`)].toSorted(),
    );
  });

  it('calls things what the cloud calls them, and knows them all the same', async () => {
    const entities = count();
    for (const records of [world.properties, world.signals, world.sonics]) {
      const [id = ''] = records.ids;
      records.change(id, { name: `Renamed ${id.slice(0, 4)}` });
    }
    await untilShown(both);
    expect(count()).toBe(entities);
  });

  it('follows a signal to another property and back, with its sonics, and has no entity twice', async () => {
    const entities = count();
    const added = happened('device_added');
    const [to = '', from = ''] = world.properties.ids;
    const [signal = ''] = world.signalIdsOf(from);
    expect(world.sonicIdsOf(signal)).not.toEqual([]);
    for (const property of [to, from]) {
      moveSignal(world, signal, property);
      await untilShown(both);
      expect(propertyOf(world, signal)).toBe(property);
    }
    expect(count()).toBe(entities);
    expect(happened('device_removed')).toEqual([]);
    expect(happened('device_added')).toEqual(added);
  });

  it('follows a sonic to the signal of another property, whose link then is its own', async () => {
    const entities = count();
    const [, sonic = ''] = world.sonics.ids;
    const here = world.sonics.get(sonic)?.signal_id ?? '';
    const there = world.signals.ids.find((id) => propertyOf(world, id) !== propertyOf(world, here)) ?? '';
    moveSonic(world, sonic, there);
    await untilShown(both);
    expect(count()).toBe(entities);
    expect(happened('device_removed')).toEqual([]);
    const valve = () => both.homeAssistant.entity(identifier(sonic), 'valve_valve');
    world.signals.change(here, { cloud_connection: 'disconnected' });
    await both.homeAssistant.untilShown(identifier(here), 'binary_sensor_cloud_connection', 'OFF');
    expect(valve().isAvailable).toBe(true);
    world.signals.change(there, { cloud_connection: 'disconnected' });
    await waitFor(() => !valve().isAvailable, { what: 'the sonic to be out of reach' });
    for (const id of [here, there]) world.signals.change(id, { cloud_connection: 'connected' });
    await untilShown(both);
  });

  it('forgets what two complete readings have missed, with all its topics; its open incident stays', async () => {
    const { requests } = both.house.simulator;
    const [sonic = ''] = world.sonics.ids;
    const signal = world.sonics.get(sonic)?.signal_id ?? '';
    const incident = world.openIncident({ type: 'low_battery_level', sonicId: sonic });
    await both.homeAssistant.untilShown(identifier(sonic), 'sensor_open_incidents', 1);
    const before = requests.count('list_sonics');
    world.removeSonic(sonic);
    await waitFor(() => !both.homeAssistant.devices.has(identifier(sonic)), {
      what: 'the sonic to go',
      intervalMs: 1,
    });
    expect(requests.count('list_sonics')).toBeGreaterThanOrEqual(before + 2);
    // Nobody has closed it: it is an incident of its signal now.
    await both.homeAssistant.untilShown(identifier(signal), 'sensor_open_incidents', 1);
    await untilShown(both);
    world.closeIncident(incident.id);

    const bare = world.addSignal();
    await untilShown(both);
    removeSignal(world, bare.id);
    await untilShown(both);
    await untilHappened('device_removed', 2);
    expect(happened('device_removed')).toEqual([`sonic ${sonic}`, `signal ${bare.id}`]);
  });

  it('forgets all of a property that the account has left, and nothing else', async () => {
    const [left = '', ...kept] = world.properties.ids;
    const before = happened('device_removed');
    const gone = [
      `property ${left}`,
      ...world.signalIdsOf(left).map((id) => `signal ${id}`),
      ...world.thingIdsOf(left).map((id) => `sonic ${id}`),
    ];
    world.leaveProperty(left);
    await untilShown(both, kept);
    await untilHappened('device_removed', before.length + gone.length);
    expect(happened('device_removed').slice(before.length).toSorted()).toEqual(gone.toSorted());
  });
});

describe('open incidents', () => {
  it('go with a signal, and with a sonic, to its new property', async () => {
    const both = await startBoth();
    const { world } = both.house.simulator;
    const [from = '', to = ''] = world.properties.ids;
    const signal = world.signalIdsOf(from)[0] ?? '';
    await waitForIncidents(both, from, 1);
    moveSignal(world, signal, to);
    await waitForIncidents(both, to, 1);
    await waitForIncidents(both, from, 0);
    const back = world.signalIdsOf(from)[0] ?? '';
    moveSonic(world, world.sonics.ids[0] ?? '', back);
    await waitForIncidents(both, from, 1);
    await waitForIncidents(both, to, 0);
  });
});

describe('a selection of properties', () => {
  it('by name or id shows no other, and what is taken there or away comes and goes', async () => {
    const both = await startBoth();
    const { world } = both.house.simulator;
    for (const id of world.incidents.ids) world.closeIncident(id);
    const [chosen = '', other = ''] = world.properties.ids;
    await untilShown(both);
    await both.house.bridge.stop();
    both.house.startBridge({ filters: { properties: [world.properties.get(chosen)?.name ?? ''] } });
    await untilShown(both, [chosen]);

    const [signal = ''] = world.signalIdsOf(other);
    moveSignal(world, signal, chosen);
    await untilShown(both, [chosen]);
    expect(both.homeAssistant.devices.has(identifier(signal))).toBe(true);
    moveSignal(world, signal, other);
    await untilShown(both, [chosen]);
    expect(both.homeAssistant.devices.has(identifier(signal))).toBe(false);

    await both.house.bridge.stop();
    both.house.startBridge({ filters: { properties: [other] } });
    await untilShown(both, [other]);
  });

  it('by a name that is changed from Home Assistant shows the property all the same, and says so in time', {
    timeout: 60_000,
  }, async () => {
    const both = await startBoth();
    const { house } = both;
    const { world, requests } = house.simulator;
    const [chosen = ''] = world.properties.ids;
    const before = world.properties.get(chosen)?.name ?? '';
    await untilShown(both);
    await house.bridge.stop();
    house.startBridge({ filters: { properties: [before] } });
    await untilShown(both, [chosen]);
    const shown = house.watcher.messages.length;
    const deleted = () => house.watcher.messages.slice(shown).filter(({ text }) => text === '');

    await house.watcher.publish(`sonic2mqtt/property/${chosen}/name/set`, 'Cottage');
    const words = `filters.properties: the account has no property ${before} any more: before the next start write its new name there, Cottage, or its id`;
    await house.bridge.waitForOutput(new RegExp(`Not all is well: ${words}`), 10_000);
    const somePolls = async () => {
      const polled = requests.count('list_properties');
      await waitFor(() => requests.count('list_properties') > polled + 3, {
        what: 'some polls',
        timeoutMs: 10_000,
      });
    };
    // Some seconds after its first announcement.
    const named = () => both.homeAssistant.devices.get(identifier(chosen))?.about['name'];
    await waitFor(() => named() === 'Cottage', { what: 'the new name', timeoutMs: 10_000 });
    await somePolls();
    expect(devicesShown(both)).toEqual(devicesOf(world, [chosen]));

    await house.bridge.stop();
    house.startBridge({ filters: { properties: [before] } });
    await house.bridge.waitForOutput(/no property of the account is selected by filters.properties/, 10_000);
    // What nobody wants would be gone by then.
    await somePolls();
    await house.bridge.stop();
    house.startBridge({ filters: { properties: ['Cottage'] } });
    await house.bridge.waitForOutput(/Found properties: 1, /, 10_000);
    await untilShown(both, [chosen]);
    expect(deleted().map(({ topic }) => topic)).toEqual([]);
  });

  it('deletes nothing, and announces nothing twice, while the cloud does not say what is in them', {
    timeout: 60_000,
  }, async () => {
    const both = await startBoth();
    const { house, homeAssistant } = both;
    const { world } = house.simulator;
    for (const id of world.incidents.ids) world.closeIncident(id);
    const [chosen = ''] = world.properties.ids;
    const [sonic = ''] = world.sonicIdsOf(world.signalIdsOf(chosen)[0] ?? '');
    const told = (id: string) => house.events('incident_opened').filter((event) => event['id'] === id).length;
    const untilTold = (id: string) =>
      waitFor(() => told(id) > 0, { what: 'the incident', timeoutMs: 15_000 });
    const filters = { properties: [chosen] };
    await house.bridge.stop();
    house.startBridge({ filters });
    const leak = world.openIncident({ type: 'high_volume_alert', sonicId: sonic });
    await untilTold(leak.id);
    await untilShown(both, [chosen]);
    await house.bridge.stop();

    house.simulator.setFaults([fault('error=403@list_property_signals')]);
    const gone = `sonic2mqtt/sonic/${chosen.replace(/^./, 'f')}`;
    await house.watcher.publish(gone, '{}', { retain: true });
    await waitFor(() => house.watcher.last.has(gone), { what: 'what is gone to be there' });
    const from = house.watcher.messages.length;
    house.startBridge({ filters, stale_after: '1s' });
    // What is in no list of the account is deleted, and nothing else.
    const isDeleted = () => !house.watcher.last.has(gone);
    await waitFor(isDeleted, { what: 'what is gone to be deleted', timeoutMs: 15_000 });
    const availability = `sonic2mqtt/sonic/${sonic}/availability`;
    await house.watcher.waitForTopic(availability, (text) => text === 'offline', 15_000);
    expect(house.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: `the cloud does not say which signals (hubs) are in ${world.properties.get(chosen)?.name}`,
    });
    const deleted = house.watcher.messages.slice(from).filter(({ text }) => text === '');
    expect(deleted.map(({ topic }) => topic)).toEqual([gone]);

    house.simulator.setFaults([]);
    const next = world.openIncident({ type: 'long_flow_alert', sonicId: sonic });
    await untilTold(next.id);
    await untilShown(both, [chosen]);
    expect(told(leak.id)).toBe(1);
    expect(homeAssistant.devices.has(identifier(sonic))).toBe(true);
  });
});
