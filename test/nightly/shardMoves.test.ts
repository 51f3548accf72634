import { beforeEach, describe, expect, it, vi } from 'vitest';
import { bridgeOf } from '../../src/model/shard.ts';
import { startFakeHomeAssistant } from '../support/fakeHomeAssistant.ts';
import type { House } from '../support/house.ts';
import {
  deletions,
  eventsOf,
  idsOf,
  moveSignal,
  moveSonic,
  oneOf,
  ownerOf,
  shown,
  startShard,
  startShardHouse,
  startShards,
  untilShared,
} from '../support/shardHouse.ts';
import { waitFor } from '../support/waitFor.ts';

// Of its own accord no bridge would look at the properties again.
const schedules = { properties: '1h', signals: '1h', usage: '1s', pressure_tests: '1h' };

const names = ['bridge_0', 'bridge_1'];

// Each starts several programs.
vi.setConfig({ testTimeout: 60_000 });

describe('a device that moves from the part of one bridge to that of another', () => {
  let house: House;
  beforeEach(async () => {
    house = await startShardHouse({ config: { stale_after: '2s', schedules } });
  });
  const record = (id: string) => house.json(`sonic/${id}`);
  const hasLeft = (bridge: string, id: string) =>
    eventsOf(house, bridge, 'device_removed').some((event) => event['id'] === id);
  const untilLeft = (bridge: string, id: string) =>
    waitFor(() => hasLeft(bridge, id), { what: `${bridge} to have noticed`, timeoutMs: 10_000 });

  it('goes over as it is, with its water and its open incident, and is never deleted', async () => {
    const { world } = house.simulator;
    await startShards(house, 2);
    const sonic = oneOf(house, 'bridge_0', 2);
    const signal = oneOf(house, 'bridge_1', 2, 'signals');
    const total = () => house.json(`sonic/${sonic}/usage`)?.total;
    const untilCounted = () =>
      waitFor(() => typeof total() === 'number', { what: 'its water', timeoutMs: 10_000 });
    const incident = world.openIncident({ type: 'low_battery_level', sonicId: sonic });
    const told = () =>
      house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}/incident`);
    // The bridge's own event is earlier: that of the device waits until Home Assistant knows the device.
    await waitFor(() => told().length === 1, { what: 'the announcement', timeoutMs: 10_000 });
    await untilCounted();
    const before = total();
    moveSonic(world, sonic, signal);
    await untilShared(house, 2);
    await untilLeft('bridge_0', sonic);
    const isThere = () => record(sonic).signal_id === signal;
    await waitFor(isThere, { what: 'its record', timeoutMs: 10_000 });
    const property = record(sonic).property_id;
    expect(ownerOf(world, property, 2)).toBe('bridge_1');
    const isShown = (text: string) => JSON.parse(text).open_count === 1;
    await house.watcher.waitForTopic(`sonic2mqtt/property/${property}/incidents`, isShown, 10_000);
    await untilCounted();
    expect(total()).toBeGreaterThanOrEqual(before);
    expect(house.watcher.last.get(`sonic2mqtt/sonic/${sonic}/availability`)).toBe('online');
    expect(house.watcher.last.has(`sonic2mqtt/incident/${incident.id}`)).toBe(true);
    expect(told()).toHaveLength(1);
    world.closeIncident(incident.id);
    const isClosed = () => eventsOf(house, 'bridge_1', 'incident_closed').length === 1;
    await waitFor(isClosed, { what: 'it to close', timeoutMs: 10_000 });
    expect(eventsOf(house, 'bridge_0', 'incident_closed')).toEqual([]);
    expect(told()).toHaveLength(1);
    expect(deletions(house)).toEqual([]);
  });

  it('moves with a signal, as soon as each bridge has read where that is', async () => {
    const { world } = house.simulator;
    await startShards(house, 2);
    const signal = oneOf(house, 'bridge_1', 2, 'signals');
    const sonics = world.sonicIdsOf(signal);
    expect(sonics.length).toBeGreaterThan(0);
    const [property = ''] = idsOf(house, 'bridge_0', 2, 'properties');
    moveSignal(world, signal, property);
    for (const name of names) await house.watcher.publish(`sonic2mqtt/${name}/refresh`, 'x');
    await untilShared(house, 2);
    for (const id of [signal, ...sonics]) await untilLeft('bridge_1', id);
    const isThere = () =>
      house.json(`signal/${signal}`).property_id === property &&
      sonics.every((id) => record(id).property_id === property);
    await waitFor(isThere, { what: 'the records', timeoutMs: 10_000 });
    expect(deletions(house)).toEqual([]);
  });

  it('is unavailable where nobody takes it over, and comes back when somebody does', async () => {
    const { world } = house.simulator;
    const homeAssistant = await startFakeHomeAssistant(house.broker.url);
    const [, second] = await startShards(house, 2);
    const sonic = oneOf(house, 'bridge_0', 2);
    const device = `sonic2mqtt_${sonic}`;
    const isAvailable = () =>
      homeAssistant.devices.has(device) && homeAssistant.entity(device, 'valve_valve').isAvailable;
    await waitFor(isAvailable, { what: 'the valve', timeoutMs: 10_000 });
    await second?.stop();
    moveSonic(world, sonic, oneOf(house, 'bridge_1', 2, 'signals'));
    await waitFor(() => !isAvailable(), { what: 'it to be unavailable', timeoutMs: 10_000 });
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${sonic}/availability`, (text) => text === 'offline');
    startShard(house, 1, 2);
    await waitFor(isAvailable, { what: 'it to be back', timeoutMs: 15_000 });
    await untilShared(house, 2);
    expect(homeAssistant.complaints).toEqual([]);
    expect(deletions(house)).toEqual([]);
  });

  it('goes for good when it leaves the account, also where it was left to a bridge that is away', async () => {
    const { world } = house.simulator;
    const [first, second] = await startShards(house, 2);
    const sonic = oneOf(house, 'bridge_1', 2);
    await first?.stop();
    moveSonic(world, sonic, oneOf(house, 'bridge_0', 2, 'signals'));
    await untilLeft('bridge_1', sonic);
    world.removeSonic(sonic);
    await second?.stop();
    startShard(house, 1, 2);
    await waitFor(() => !(sonic in shown(house)), { what: 'the sonic to go', timeoutMs: 15_000 });
    startShard(house, 0, 2);
    await untilShared(house, 2);
  });
});

describe('a filter', () => {
  it('goes before the parts, and is not at fault where another bridge has what it names', async () => {
    const house = await startShardHouse();
    const { world } = house.simulator;
    const chosen = [0, 2].map((index) => world.properties.ids[index] ?? '');
    const [first = '', second = ''] = chosen;
    expect(new Set(chosen.map((id) => ownerOf(world, id, 2))).size).toBe(2);
    const properties = [first, world.properties.get(second)?.name ?? ''];
    startShard(house, 0, 2, { filters: { properties } });
    startShard(house, 1, 2, { filters: { properties: [...properties, 'Nowhere'] } });
    const isChosen = (id: string) => chosen.includes(world.propertyOf(id) ?? id);
    const wanted = [...world.properties.ids, ...world.signals.ids, ...world.sonics.ids].filter(isChosen);
    const isAllThere = () => Object.keys(shown(house)).length === wanted.length + names.length;
    await waitFor(isAllThere, { what: 'the chosen', timeoutMs: 15_000 });
    const owners = Object.fromEntries(wanted.map((id) => [id, ownerOf(world, id, 2)]));
    expect(shown(house)).toEqual({ ...owners, bridge_0: 'bridge_0', bridge_1: 'bridge_1' });
    const isWell = () => names.every((name) => house.json(`${name}/health`)?.status === 'ok');
    await waitFor(isWell, { what: 'health' });
    expect(house.json('bridge_0/health').reason ?? '').not.toContain('filters.properties');
    expect(house.json('bridge_1/health').reason).toContain(
      'filters.properties: the account has no property Nowhere',
    );
    // What is left out is refused by the bridge whose it would be.
    const left = world.sonics.ids.find((id) => !isChosen(id)) ?? '';
    await house.watcher.publish(`sonic2mqtt/sonic/${left}/valve/set`, 'CLOSE');
    const refusals = () => names.flatMap((name) => eventsOf(house, name, 'command').map(() => name));
    await waitFor(() => refusals().length > 0, { what: 'the refusal' });
    expect(refusals()).toEqual([ownerOf(world, left, 2)]);
  });
});

describe('what is in no property', () => {
  it('is shown by one bridge, that of its hash', async () => {
    const house = await startShardHouse();
    const { world } = house.simulator;
    const signal = oneOf(house, 'bridge_0', 2, 'signals');
    const list = world.signalIdsOf(world.propertyOf(signal) ?? '') as string[];
    const sonics = [...world.sonicIdsOf(signal)];
    list.splice(list.indexOf(signal), 1);
    for (const index of [0, 1]) startShard(house, index, 2);
    const all = [...world.properties.ids, ...world.signals.ids, ...world.sonics.ids];
    const isAllThere = () => Object.keys(shown(house)).length === all.length + names.length;
    await waitFor(isAllThere, { what: 'all of the account', timeoutMs: 15_000 });
    const owner = names[bridgeOf(signal, 2)];
    expect([signal, ...sonics].map((id) => shown(house)[id])).toEqual([signal, ...sonics].map(() => owner));
    expect(house.json(`signal/${signal}`).property_id).toBeNull();
  });
});
