import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { House } from '../support/house.ts';
import type { RunningProgram } from '../support/program.ts';
import {
  deletions,
  deviceIds,
  eventsOf,
  idsOf,
  oneOf,
  ownerOf,
  shown,
  startShard,
  startShardHouse,
  topicsOf,
  untilShared,
} from '../support/shardHouse.ts';
import { waitFor } from '../support/waitFor.ts';

const count = 3;
const names = ['bridge_0', 'bridge_1', 'bridge_2'];

describe('three bridges that share an account and a broker', () => {
  let house: House;
  let bridges: RunningProgram[];
  const other = (name: string) => names.find((each) => each !== name) ?? '';
  const outcomes = (topic: string) =>
    names.flatMap((name) =>
      eventsOf(house, name, 'command')
        .filter((event) => event['topic'] === topic)
        .map(({ status, reason }) => ({ name, status, reason })),
    );
  /** One outcome, and no other by the time that another command after it has one from each bridge. */
  const onlyOutcome = async (topic: string) => {
    await waitFor(() => outcomes(topic).length > 0, { what: `an outcome of ${topic}`, timeoutMs: 10_000 });
    const refreshes = names.map((name) => outcomes(`sonic2mqtt/${name}/refresh`).length);
    for (const name of names) await house.watcher.publish(`sonic2mqtt/${name}/refresh`, 'x');
    const isHeard = () =>
      names.every((name, index) => outcomes(`sonic2mqtt/${name}/refresh`).length > (refreshes[index] ?? 0));
    await waitFor(isHeard, { what: 'all bridges to have heard of it', timeoutMs: 10_000 });
    expect(outcomes(topic)).toHaveLength(1);
    return outcomes(topic)[0];
  };

  beforeAll(async () => {
    house = await startShardHouse();
    bridges = names.map((_, index) => startShard(house, index, count));
    await untilShared(house, count);
  });
  afterAll(async () => {
    await Promise.all(bridges.map((bridge) => bridge.stop()));
  });

  it('show each device once, each its own part, and nothing in the place of a bridge that is alone', async () => {
    const { world } = house.simulator;
    expect(new Set(deviceIds(world).map((id) => ownerOf(world, id, count))).size).toBe(count);
    expect(topicsOf(house, 'bridge')).toEqual([]);
    for (const id of world.sonics.ids) {
      const text = await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`);
      expect(ownerOf(world, JSON.parse(text).property_id, count)).toBe(ownerOf(world, id, count));
    }
    expect(deletions(house)).toEqual([]);
  });

  it('have a device each, with entities and topics of its own', () => {
    for (const name of names) {
      const { device, state_topic, components } = JSON.parse(
        house.watcher.last.get(`homeassistant/device/sonic2mqtt_${name}/config`) ?? '',
      );
      expect(device.identifiers).toEqual([`sonic2mqtt_${name}`]);
      const { unique_id, command_topic } = components.select_log_level;
      expect([unique_id, command_topic, state_topic]).toEqual([
        `sonic2mqtt_${name}_log_level`,
        `sonic2mqtt/${name}/log_level/set`,
        `sonic2mqtt/${name}/homeassistant`,
      ]);
      const ownProperty = idsOf(house, name, count, 'properties')[0];
      const property = house.watcher.json(`homeassistant/device/sonic2mqtt_${ownProperty}/config`);
      expect(property).toMatchObject({ device: { via_device: `sonic2mqtt_${name}` } });
      expect(house.watcher.last.get(`sonic2mqtt/${name}/state`)).toBe('online');
    }
    const called = names.map((name) => house.json(`${name}/health`).status);
    expect(called).toEqual(['ok', 'ok', 'ok']);
    const devices = names.map((name) =>
      JSON.parse(house.watcher.last.get(`homeassistant/device/sonic2mqtt_${name}/config`) ?? ''),
    );
    expect(new Set(devices.map(({ device }) => device.name)).size).toBe(count);
  });

  it('count what is theirs, which together is all', () => {
    const counts = names.map((name) => house.json(`${name}/info`).counts);
    for (const [index, name] of names.entries()) {
      expect(counts[index]).toEqual({
        properties: idsOf(house, name, count, 'properties').length,
        signals: idsOf(house, name, count, 'signals').length,
        sonics: idsOf(house, name, count, 'sonics').length,
        open_incidents: 0,
      });
    }
    expect(counts.reduce((sum, { sonics }) => sum + sonics, 0)).toBe(8);
  });

  it('share the commands: one carries out each, and tells of it', async () => {
    const { requests } = house.simulator;
    for (const name of names) {
      const sonic = oneOf(house, name, count);
      const before = requests.count('command_valve');
      const topic = `sonic2mqtt/sonic/${sonic}/valve/set`;
      await house.watcher.publish(topic, 'CLOSE');
      expect(await onlyOutcome(topic)).toEqual({ name, status: 'ok', reason: null });
      await house.watcher.waitForTopic(
        `sonic2mqtt/sonic/${sonic}`,
        (text) => JSON.parse(text).valve === 'closed',
      );
      expect(requests.count('command_valve')).toBe(before + 1);
    }
    const [property = ''] = idsOf(house, 'bridge_1', count, 'properties');
    const topic = `sonic2mqtt/property/${property}/name/set`;
    await house.watcher.publish(topic, 'Shared');
    expect(await onlyOutcome(topic)).toEqual({ name: 'bridge_1', status: 'ok', reason: null });
    expect(requests.count('patch_property')).toBe(1);
  });

  it('refuse once what is for nobody, and what is retained', async () => {
    const topics = ['sonic/a', 'sonic/b', 'sonic/c', 'sonic/d'].map((path) => `sonic2mqtt/${path}/valve/set`);
    const refusers = new Set<string | undefined>();
    for (const topic of topics) {
      await house.watcher.publish(topic, 'CLOSE');
      const outcome = await onlyOutcome(topic);
      expect(outcome).toMatchObject({
        status: 'refused',
        reason: `there is no sonic ${topic.split('/')[2]}`,
      });
      refusers.add(outcome?.name);
    }
    expect(refusers.size).toBeGreaterThan(1);
    const incident = 'sonic2mqtt/incident/none/action';
    await house.watcher.publish(incident, 'resolve');
    expect(await onlyOutcome(incident)).toMatchObject({
      status: 'refused',
      reason: 'there is no incident none',
    });
    const sonic = oneOf(house, 'bridge_2', count);
    const kept = `sonic2mqtt/sonic/${sonic}/pressure_test/start`;
    const mqtt5 = { retain: true };
    await house.watcher.publish(kept, 'x', mqtt5);
    await house.watcher.publish(kept, '', mqtt5);
    await waitFor(() => outcomes(kept).length > 0, { what: 'an outcome' });
    expect(outcomes(kept).every(({ name }) => name === 'bridge_2')).toBe(true);
  });

  it('move by request only the valves that are theirs, and answer everything else', async () => {
    const ask = async (bridge: string, operation: string, content: object) => {
      const from = house.watcher.messages.length;
      await house.watcher.publish(`sonic2mqtt/${bridge}/request/${operation}`, JSON.stringify(content));
      const answer = await house.watcher.waitForMessage(
        ({ topic }) => topic === `sonic2mqtt/${bridge}/response/${operation}`,
        { what: `the answer to ${operation}`, from, timeoutMs: 10_000 },
      );
      return JSON.parse(answer.text);
    };
    const { requests } = house.simulator;
    const owner = 'bridge_0';
    const sonic_id = oneOf(house, owner, count);
    const before = requests.count('command_valve') + requests.count('change_thing_state');
    const open = { body: { action: 'open' } };
    for (const spelled of [sonic_id, sonic_id.toUpperCase()]) {
      expect(await ask(other(owner), 'command_valve', { params: { sonic_id: spelled }, ...open })).toEqual({
        status: 'error',
        error: {
          code: 'invalid_request',
          message: `only ${owner} moves the valve of sonic ${spelled}: send the request to it`,
          http_status: null,
        },
      });
    }
    expect(requests.count('command_valve') + requests.count('change_thing_state')).toBe(before);
    expect(await ask(owner, 'command_valve', { params: { sonic_id }, ...open })).toMatchObject({
      status: 'ok',
    });
    expect(requests.count('command_valve')).toBe(before + 1);
    const read = await ask(other(owner), 'read_sonic', { params: { sonic_id } });
    expect(read).toMatchObject({ status: 'ok', data: { id: sonic_id } });
  });

  it('announce an incident once, at its device, and resolve it once', async () => {
    const { world, requests } = house.simulator;
    const name = 'bridge_1';
    const sonic = oneOf(house, name, count);
    const incident = world.openIncident({ type: 'low_battery_level', sonicId: sonic });
    const announced = () =>
      house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}/incident`);
    await waitFor(() => announced().length > 0, { what: 'the announcement', timeoutMs: 10_000 });
    await house.watcher.waitForTopic(`sonic2mqtt/incident/${incident.id}`);
    await house.watcher.waitForTopic(`sonic2mqtt/${name}/info`);
    const topic = `sonic2mqtt/incident/${incident.id}/action`;
    await house.watcher.publish(topic, 'resolve');
    expect(await onlyOutcome(topic)).toEqual({ name, status: 'ok', reason: null });
    await waitFor(() => !house.watcher.last.has(`sonic2mqtt/incident/${incident.id}`), {
      what: 'it to close',
    });
    expect(requests.count('act_on_incident')).toBe(1);
    expect(announced()).toHaveLength(1);
    const told = names.flatMap((each) => eventsOf(house, each).filter(({ id }) => id === incident.id));
    expect(told.map(({ event }) => event)).toEqual(['incident_opened', 'incident_closed']);
    expect(eventsOf(house, name, 'incident_opened')).toHaveLength(1);
  });

  it('show Home Assistant all of it again when that starts, each its own', async () => {
    const from = house.watcher.messages.length;
    await house.watcher.publish('homeassistant/status', 'online');
    const announced = () =>
      house.watcher.messages.slice(from).filter(({ topic }) => topic.startsWith('homeassistant/device/'));
    const all = deviceIds(house.simulator.world).length + count;
    await waitFor(() => announced().length >= all, { what: 'all to be announced', timeoutMs: 10_000 });
    expect(new Set(announced().map(({ topic }) => topic)).size).toBe(all);
    expect(announced()).toHaveLength(all);
    await untilShared(house, count);
  });

  it('delete once what is gone from the cloud', async () => {
    const { world } = house.simulator;
    const sonic = oneOf(house, 'bridge_2', count);
    const from = house.watcher.messages.length;
    world.removeSonic(sonic);
    await waitFor(() => !(sonic in shown(house)), { what: 'the sonic to go', timeoutMs: 10_000 });
    await untilShared(house, count);
    const removed = () =>
      names.flatMap((name) => eventsOf(house, name, 'device_removed').map(({ id }) => [name, id]));
    await waitFor(() => removed().length > 0, { what: 'the event' });
    expect(removed()).toEqual([['bridge_2', sonic]]);
    const emptied = house.watcher.messages
      .slice(from)
      .filter(
        ({ topic, text }) => text === '' && topic === `homeassistant/device/sonic2mqtt_${sonic}/config`,
      );
    expect(emptied).toHaveLength(1);
  });

  it('are unavailable one by one: what the others show stays', async () => {
    const { world } = house.simulator;
    await bridges[1]?.stop('SIGKILL');
    await house.watcher.waitForTopic('sonic2mqtt/bridge_1/state', (text) => text === 'offline', 10_000);
    expect([0, 2].map((index) => house.watcher.last.get(`sonic2mqtt/bridge_${index}/state`))).toEqual([
      'online',
      'online',
    ]);
    // A command for what it has is nobody else's.
    const topic = `sonic2mqtt/sonic/${oneOf(house, 'bridge_1', count)}/valve/set`;
    const before = outcomes(topic).length;
    await house.watcher.publish(topic, 'OPEN');
    const sonic = oneOf(house, 'bridge_0', count);
    await house.watcher.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${sonic}`,
      (text) => JSON.parse(text).valve === 'closed',
    );
    expect(outcomes(topic)).toHaveLength(before);
    expect(shown(house)[world.properties.ids[0] ?? '']).toBe(
      ownerOf(world, world.properties.ids[0] ?? '', count),
    );
  });
});
