import { describe, expect, it } from 'vitest';
import type { IncidentType } from '../../src/model/records.ts';
import { bridgeOf } from '../../src/model/shard.ts';
import type { BridgeProcess } from '../simulation/bridgeProcess.ts';
import { Home, hourMs, minuteMs, newDisk, type Sections, secondMs } from './home.ts';

type Kind = 'properties' | 'signals' | 'sonics';

const discoveryTopic = /^homeassistant\/device\/sonic2mqtt_(.+)\/config$/;
const namesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => (count === 1 ? 'bridge' : `bridge_${index}`));

/** Five properties with something in each, shared by several bridges. No bridge is started yet. */
class SharedHome extends Home {
  readonly #disks = [newDisk(), newDisk(), newDisk()];

  constructor(begins = '2026-03-02T09:00:00Z') {
    // By their ids, two bridges have three and two of these properties. Three bridges have two, two and one.
    super({ begins, cloud: { seed: 4, properties: 5, signals: 6, sonics: 8 } });
    for (const id of this.world.incidents.ids) this.world.closeIncident(id);
  }

  /** Starts the bridge of that index, one of so many, on the disk that it had before. */
  startOne(index: number, count: number, changes: Sections = {}): BridgeProcess {
    const config = {
      mqtt: { client_id: `sonic2mqtt_${index}` },
      shard: { index, count },
      stale_after: '5m',
      ...changes,
    };
    const bridge = this.anotherBridge(config, { disk: this.#disks[index] ?? newDisk() });
    bridge.start();
    return bridge;
  }

  /** Starts all of so many bridges, and lets them show everything. */
  async startAll(count: number): Promise<BridgeProcess[]> {
    const machines = namesOf(count).map((_, index) => this.startOne(index, count));
    await this.pass(minuteMs);
    return machines;
  }

  async stopAll(machines: readonly BridgeProcess[]): Promise<void> {
    for (const bridge of machines) await this.stop(bridge);
  }

  get ids(): readonly string[] {
    return [...this.world.properties.ids, ...this.world.signals.ids, ...this.world.sonics.ids];
  }

  /** The name of the bridge to which a device belongs. */
  ownerOf(id: string, count: number): string {
    const { properties, sonics } = this.world;
    const property = properties.has(id) ? id : this.world.propertyOf(id);
    return namesOf(count)[bridgeOf(property ?? sonics.get(id)?.signal_id ?? id, count)] ?? '';
  }

  idsOf(bridge: string, count: number, kind: Kind): readonly string[] {
    return this.world[kind].ids.filter((id) => this.ownerOf(id, count) === bridge);
  }

  oneOf(bridge: string, count: number, kind: Kind = 'sonics'): string {
    const [id] = this.idsOf(bridge, count, kind);
    if (id === undefined) throw new Error(`no ${kind} belong to ${bridge}`);
    return id;
  }

  /** What Home Assistant has: each device, and the bridge on which all of its availability depends. */
  get shown(): Record<string, string> {
    const rows = [...this.broker.retained].flatMap(([topic, payload]) => {
      const id = discoveryTopic.exec(topic)?.[1];
      if (id === undefined) return [];
      const topics: string[] = JSON.parse(payload).availability.map((each: { topic: string }) => each.topic);
      const bridges = topics.map((each) => each.split('/')[1] ?? '').filter((name) => /^bridge/.test(name));
      return [[id, [...new Set(bridges)].join(' and ')]];
    });
    return Object.fromEntries(rows);
  }

  /** Holds that each device of the account depends on its own bridge, and that nothing else is shown. */
  expectShared(count: number, bridges = namesOf(count)): void {
    const devices = this.ids.map((id) => [id, this.ownerOf(id, count)]);
    const own = bridges.map((name) => [name, name]);
    expect(this.shown).toEqual(Object.fromEntries([...devices, ...own]));
  }

  /** Holds that nothing was deleted of a device that the account still has. */
  expectNothingDeleted(): void {
    const deleted = this.messages.filter(
      ({ topic, payload }) => payload === '' && this.ids.some((id) => topic.includes(id)),
    );
    expect(deleted.map(({ topic }) => topic)).toEqual([]);
  }

  /** The topics at which the broker keeps something of a bridge. */
  topicsOf(bridge: string): readonly string[] {
    return [...this.broker.retained.keys()].filter((topic) => topic.startsWith(`sonic2mqtt/${bridge}/`));
  }

  /** The events of any bridge, as its name and the event. */
  told(event: string): { readonly bridge: string; readonly id: unknown }[] {
    return this.messages
      .map(({ topic, payload }) => [/^sonic2mqtt\/(bridge\w*)\/event$/.exec(topic)?.[1], payload] as const)
      .flatMap(([bridge, payload]) => (bridge ? [{ bridge, ...JSON.parse(payload) }] : []))
      .filter((each) => each.event === event);
  }

  /** Publishes a command and lets it be carried out: the bridges that tell how it ended, and what they say. */
  async command(
    path: string,
    payload: string,
  ): Promise<readonly [bridge: string, status: string, reason: string][]> {
    const from = this.messages.length;
    this.broker.publish(`sonic2mqtt/${path}`, payload, false);
    await this.pass(20 * secondMs);
    return this.messages.slice(from).flatMap(({ topic, payload: text }) => {
      const [, bridge = '', leaf] = topic.split('/');
      if (leaf !== 'event') return [];
      const { event, topic: of, status, reason } = JSON.parse(text);
      return event === 'command' && of === `sonic2mqtt/${path}` ? [[bridge, status, reason] as const] : [];
    }) as [string, string, string][];
  }

  closeValve(sonicId: string) {
    return this.command(`sonic/${sonicId}/valve/set`, 'CLOSE');
  }

  totalOf(sonicId: string): number {
    const { total } = this.json(`sonic/${sonicId}/usage`);
    expect(total).toBeGreaterThan(0);
    return total;
  }

  /** How often an incident was announced at a sonic. */
  announcements(sonicId: string, incidentId: string): number {
    return this.published(`sonic/${sonicId}/incident`).filter(({ payload }) => payload.includes(incidentId))
      .length;
  }
}

const type: IncidentType = 'low_battery_level';

describe('three bridges that share an account and a broker', () => {
  const names = namesOf(3);

  it('show each device once, under a bridge device of their own, and count what is theirs', async () => {
    const home = new SharedHome();
    await home.startAll(3);
    home.expectShared(3);
    expect(new Set(Object.values(home.shown)).size).toBe(3);
    expect(home.topicsOf('bridge')).toEqual([]);
    home.expectNothingDeleted();
    const deviceNames = names.map((name) => {
      const { device, state_topic, components } = home.discovery(name);
      expect(device.identifiers).toEqual([`sonic2mqtt_${name}`]);
      const { unique_id, command_topic } = components.select_log_level;
      expect([unique_id, command_topic, state_topic]).toEqual([
        `sonic2mqtt_${name}_log_level`,
        `sonic2mqtt/${name}/log_level/set`,
        `sonic2mqtt/${name}/homeassistant`,
      ]);
      const property = home.oneOf(name, 3, 'properties');
      expect(home.discovery(property).device.via_device).toBe(`sonic2mqtt_${name}`);
      expect(home.text(`${name}/state`)).toBe('online');
      expect(home.json(`${name}/health`).status).toBe('ok');
      const counts = (['properties', 'signals', 'sonics'] as const).map((kind) => [
        kind,
        home.idsOf(name, 3, kind).length,
      ]);
      expect(home.json(`${name}/info`).counts).toEqual({ ...Object.fromEntries(counts), open_incidents: 0 });
      return device.name;
    });
    expect(new Set(deviceNames).size).toBe(3);

    // Each announces its own part again when Home Assistant starts.
    const from = home.messages.length;
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(minuteMs);
    const again = home.messages.slice(from).filter(({ topic }) => discoveryTopic.test(topic));
    expect(again.map(({ topic }) => discoveryTopic.exec(topic)?.[1]).toSorted()).toEqual(
      [...home.ids, ...names].toSorted(),
    );
    home.expectShared(3);
  });

  it('carry out each command once, and refuse once what is for nobody', async () => {
    const home = new SharedHome();
    await home.startAll(3);
    for (const name of names) {
      const sonic = home.oneOf(name, 3);
      expect(await home.closeValve(sonic)).toEqual([[name, 'ok', null]]);
      expect(home.json(`sonic/${sonic}`).valve).toBe('closed');
    }
    expect(home.valveCommands).toHaveLength(3);
    const property = home.oneOf('bridge_1', 3, 'properties');
    expect(await home.command(`property/${property}/name/set`, 'Shared')).toEqual([['bridge_1', 'ok', null]]);
    expect(home.asked('patch_property')).toHaveLength(1);

    const refusers = new Set<string>();
    for (const id of ['a', 'b', 'c', 'd']) {
      const outcomes = await home.closeValve(id);
      expect(outcomes).toEqual([[expect.any(String), 'refused', `there is no valve ${id}`]]);
      refusers.add(outcomes[0]?.[0] ?? '');
    }
    expect(refusers.size).toBeGreaterThan(1);
    expect(await home.command('incident/none/action', 'resolve')).toEqual([
      [expect.any(String), 'refused', 'there is no incident none'],
    ]);
    const path = `sonic/${home.oneOf('bridge_2', 3)}/pressure_test/start`;
    const told = home.told('command').length;
    home.broker.publish(`sonic2mqtt/${path}`, 'PRESS', true);
    await home.pass(secondMs);
    expect(home.told('command').slice(told)).toMatchObject([{ bridge: 'bridge_2', status: 'refused' }]);
    expect(home.asked('start_pressure_test')).toEqual([]);
  });

  it('move by request only the valves that are theirs, and answer everything else', async () => {
    const home = new SharedHome();
    await home.startAll(3);
    const ask = async (bridge: string, operation: string, content: object) => {
      home.broker.publish(`sonic2mqtt/${bridge}/request/${operation}`, JSON.stringify(content), false);
      await home.pass(10 * secondMs);
      return JSON.parse(home.published(`${bridge}/response/${operation}`).at(-1)?.payload ?? '');
    };
    const sonic_id = home.oneOf('bridge_0', 3);
    const body = { action: 'close' };
    for (const spelled of [sonic_id, sonic_id.toUpperCase()]) {
      const message = `bridge_0 controls this valve (${spelled}). Send the request to that bridge`;
      expect(await ask('bridge_1', 'command_valve', { params: { sonic_id: spelled }, body })).toEqual({
        status: 'error',
        error: { code: 'invalid_request', message, http_status: null },
      });
    }
    expect(home.valveCommands).toEqual([]);
    expect(await ask('bridge_0', 'command_valve', { params: { sonic_id }, body })).toMatchObject({
      status: 'ok',
    });
    expect(home.valveCommands).toHaveLength(1);
    const read = await ask('bridge_1', 'read_sonic', { params: { sonic_id } });
    expect(read).toMatchObject({ status: 'ok', data: { id: sonic_id } });
  });

  it('announce an incident once, at its device, and resolve it once', async () => {
    const home = new SharedHome();
    await home.startAll(3);
    const sonic = home.oneOf('bridge_1', 3);
    const { id } = home.world.openIncident({ type, sonicId: sonic });
    await home.pass(minuteMs);
    expect(await home.command(`incident/${id}/action`, 'resolve')).toEqual([['bridge_1', 'ok', null]]);
    await home.pass(minuteMs);
    expect(home.asked('act_on_incident')).toHaveLength(1);
    expect(home.announcements(sonic, id)).toBe(1);
    for (const event of ['incident_opened', 'incident_closed']) {
      expect(home.told(event)).toMatchObject([{ bridge: 'bridge_1', id }]);
    }
    expect(home.text(`incident/${id}`)).toBeUndefined();
  });

  it('delete once what is gone from the cloud', async () => {
    const home = new SharedHome();
    await home.startAll(3);
    // Two minutes after the start each looks for what others have left on the broker.
    await home.pass(2 * minuteMs);
    const sonic = home.oneOf('bridge_2', 3);
    const from = home.messages.length;
    home.world.removeSonic(sonic);
    await home.pass(5 * minuteMs);
    home.expectShared(3);
    expect(home.told('device_removed')).toMatchObject([{ bridge: 'bridge_2', id: sonic }]);
    const emptied = home.messages
      .slice(from)
      .filter(({ topic, payload }) => payload === '' && discoveryTopic.exec(topic)?.[1] === sonic);
    expect(emptied).toHaveLength(1);
  });

  it('are unavailable one by one: what the others show stays, and nobody takes their commands', async () => {
    const home = new SharedHome();
    const machines = await home.startAll(3);
    machines[1]?.kill();
    await home.pass(secondMs);
    expect(names.map((name) => home.text(`${name}/state`))).toEqual(['online', 'offline', 'online']);
    expect(await home.closeValve(home.oneOf('bridge_1', 3))).toEqual([]);
    expect(await home.closeValve(home.oneOf('bridge_0', 3))).toEqual([['bridge_0', 'ok', null]]);
    home.expectShared(3);
  });
});

describe('the number of bridges', () => {
  /** Opens another incident at the sonic of one: only the new one is announced, by the second of two bridges. */
  async function expectOnlyNewsIsTold(home: SharedHome, sonicId: string, before: string): Promise<void> {
    const { id } = home.world.openIncident({ type: 'long_flow_alert', sonicId });
    await home.pass(2 * minuteMs);
    const told = home.told('incident_opened').filter(({ bridge }) => bridge !== 'bridge');
    expect(told).toMatchObject([{ bridge: 'bridge_1', id }]);
    expect(home.text(`incident/${before}`)).toBeDefined();
    expect(home.announcements(sonicId, before)).toBe(1);
    expect(home.announcements(sonicId, id)).toBe(1);
  }

  it('grows from one to two: what the first had goes over, and nothing of it is deleted', async () => {
    // The next bridges read no day of February, which the first has counted.
    const home = new SharedHome('2026-03-31T22:30:00Z');
    const { world } = home;
    const sonicId = home.oneOf('bridge_1', 2);
    const alone = await home.startAll(1);
    home.expectShared(1);
    const incident = world.openIncident({ type, sonicId });
    await home.pass(minuteMs);
    expect(home.told('incident_opened')).toMatchObject([{ bridge: 'bridge', id: incident.id }]);
    const totals = world.sonics.ids.map((id) => home.totalOf(id));
    await home.stopAll(alone);
    await home.pass(2 * hourMs);
    const two = await home.startAll(2);
    home.expectShared(2);
    await home.pass(20 * minuteMs);
    expect(home.topicsOf('bridge')).toEqual([]);
    for (const [index, id] of world.sonics.ids.entries()) {
      expect(home.totalOf(id)).toBeGreaterThanOrEqual(totals[index] ?? 0);
    }
    await expectOnlyNewsIsTold(home, sonicId, incident.id);
    // The disk of the new bridge remembers it, too.
    await home.stopAll(two);
    home.broker.retained.clear();
    await home.startAll(2);
    expect(home.announcements(sonicId, incident.id)).toBe(1);
    home.expectNothingDeleted();
  });

  it('grows from two to three, whichever is restarted first', async () => {
    const home = new SharedHome();
    const [first, second] = await home.startAll(2);
    await home.stop(second);
    for (const index of [1, 2]) {
      home.startOne(index, 3);
      await home.pass(minuteMs);
    }
    await home.stop(first);
    home.startOne(0, 3);
    await home.pass(minuteMs);
    home.expectShared(3);
    // Only the bridge that came has got anything.
    for (const id of home.world.properties.ids) {
      expect([home.ownerOf(id, 2), 'bridge_2']).toContain(home.ownerOf(id, 3));
    }
    home.expectNothingDeleted();
  });

  it('grows where the new bridge comes last: what waits for it is unavailable, and there when it comes', async () => {
    const home = new SharedHome();
    const two = await home.startAll(2);
    const sonic = home.oneOf('bridge_2', 3);
    const index = namesOf(2).indexOf(home.ownerOf(sonic, 2));
    await home.stop(two[index]);
    home.startOne(index, 3);
    await home.pass(minuteMs);
    expect(home.text(`sonic/${sonic}/availability`)).toBe('online');
    await home.pass(10 * minuteMs);
    expect(home.text(`sonic/${sonic}/availability`)).toBe('offline');
    await home.stop(two[1 - index]);
    for (const each of [1 - index, 2]) home.startOne(each, 3);
    await home.pass(minuteMs);
    expect(home.text(`sonic/${sonic}/availability`)).toBe('online');
    home.expectShared(3);
    home.expectNothingDeleted();
  });

  it('shrinks from three to two: only the device of the bridge that went goes, once it has stopped', async () => {
    const home = new SharedHome();
    const three = await home.startAll(3);
    for (const index of [0, 1]) {
      await home.stop(three[index]);
      home.startOne(index, 2);
      await home.pass(5 * minuteMs);
    }
    home.expectShared(2, namesOf(3));
    expect(home.topicsOf('bridge_2')).toHaveLength(6);
    await home.stop(three[2]);
    await home.pass(5 * minuteMs);
    expect(home.topicsOf('bridge_2')).toEqual([]);
    home.expectShared(2);
    home.expectNothingDeleted();
  });

  it('shrinks at once, down to one, which has everything and tidies up', async () => {
    const home = new SharedHome();
    await home.stopAll(await home.startAll(3));
    const two = await home.startAll(2);
    await home.pass(5 * minuteMs);
    expect(home.topicsOf('bridge_2')).toEqual([]);
    await home.stopAll(two);
    await home.startAll(1);
    await home.pass(5 * minuteMs);
    expect(namesOf(3).flatMap((name) => home.topicsOf(name))).toEqual([]);
    home.expectShared(1);
    home.expectNothingDeleted();
  });

  it('changes without announcing again what was announced, although each has a new disk', async () => {
    const home = new SharedHome();
    const sonicId = home.oneOf('bridge_1', 2);
    const incident = home.world.openIncident({ type, sonicId });
    // A disk that neither of the two has.
    const alone = home.anotherBridge({});
    alone.start();
    await home.pass(minuteMs);
    await home.stop(alone);
    await home.startAll(2);
    home.expectShared(2);
    await expectOnlyNewsIsTold(home, sonicId, incident.id);
  });
});

describe('a device that moves from the part of one bridge to that of another', () => {
  const hasLeft = (home: SharedHome, bridge: string, id: string) =>
    home.told('device_removed').some((event) => event.bridge === bridge && event.id === id);

  it('goes over as it is, with its water and its open incident, and is never deleted', async () => {
    const home = new SharedHome();
    const { world } = home;
    await home.startAll(2);
    const sonic = home.oneOf('bridge_0', 2);
    const signal = home.oneOf('bridge_1', 2, 'signals');
    const { id } = world.openIncident({ type, sonicId: sonic });
    await home.pass(minuteMs);
    expect(home.announcements(sonic, id)).toBe(1);
    const before = home.totalOf(sonic);
    world.sonics.change(sonic, { signal_id: signal });
    await home.pass(20 * minuteMs);
    home.expectShared(2);
    expect(hasLeft(home, 'bridge_0', sonic)).toBe(true);
    const { signal_id: shownAt, property_id: property } = home.json(`sonic/${sonic}`);
    expect([shownAt, property]).toEqual([signal, world.propertyOf(signal)]);
    expect(home.json(`property/${property}/incidents`).open_count).toBe(1);
    expect(home.totalOf(sonic)).toBeGreaterThanOrEqual(before);
    expect(home.text(`sonic/${sonic}/availability`)).toBe('online');
    expect(home.text(`incident/${id}`)).toBeDefined();
    world.closeIncident(id);
    await home.pass(minuteMs);
    expect(home.told('incident_closed')).toMatchObject([{ bridge: 'bridge_1', id }]);
    expect(home.announcements(sonic, id)).toBe(1);
    home.expectNothingDeleted();
  });

  it('moves with its signal, once each bridge has read where that is', async () => {
    const home = new SharedHome();
    const { world } = home;
    await home.startAll(2);
    const signal = home.oneOf('bridge_1', 2, 'signals');
    const sonics = world.sonicIdsOf(signal);
    expect(sonics.length).toBeGreaterThan(0);
    const property = home.oneOf('bridge_0', 2, 'properties');
    world.moveToProperty(signal, property);
    for (const name of namesOf(2)) home.broker.publish(`sonic2mqtt/${name}/refresh`, 'PRESS', false);
    await home.pass(10 * minuteMs);
    home.expectShared(2);
    for (const id of [signal, ...sonics]) expect(hasLeft(home, 'bridge_1', id), id).toBe(true);
    for (const path of [`signal/${signal}`, ...sonics.map((id) => `sonic/${id}`)]) {
      expect(home.json(path).property_id).toBe(property);
    }
    home.expectNothingDeleted();
  });

  it('is unavailable while nobody takes it over, and comes back when somebody does', async () => {
    const home = new SharedHome();
    const [, second] = await home.startAll(2);
    const sonic = home.oneOf('bridge_0', 2);
    const isAvailable = () => home.entity(sonic, 'valve_valve').isAvailable;
    expect(isAvailable()).toBe(true);
    await home.stop(second);
    home.world.sonics.change(sonic, { signal_id: home.oneOf('bridge_1', 2, 'signals') });
    await home.pass(20 * minuteMs);
    expect(isAvailable()).toBe(false);
    expect(home.text(`sonic/${sonic}/availability`)).toBe('offline');
    home.startOne(1, 2);
    await home.pass(minuteMs);
    expect(isAvailable()).toBe(true);
    home.expectShared(2);
    home.expectNothingDeleted();
  });

  it('goes when it leaves the account, although it was left to a bridge that is away', async () => {
    const home = new SharedHome();
    const [first, second] = await home.startAll(2);
    const sonic = home.oneOf('bridge_1', 2);
    await home.stop(first);
    home.world.sonics.change(sonic, { signal_id: home.oneOf('bridge_0', 2, 'signals') });
    await home.pass(5 * minuteMs);
    expect(hasLeft(home, 'bridge_1', sonic)).toBe(true);
    home.world.removeSonic(sonic);
    await home.stop(second);
    home.startOne(1, 2);
    await home.pass(5 * minuteMs);
    expect(home.shown).not.toHaveProperty(sonic);
    home.startOne(0, 2);
    await home.pass(minuteMs);
    home.expectShared(2);
  });

  it('is shown by the bridge of its own hash where it is in no property', async () => {
    const home = new SharedHome();
    const signal = home.oneOf('bridge_0', 2, 'signals');
    home.world.moveToProperty(signal, undefined);
    const owner = namesOf(2)[bridgeOf(signal, 2)];
    await home.startAll(2);
    home.expectShared(2);
    for (const id of [signal, ...home.world.sonicIdsOf(signal)]) {
      const announced = home.messages.filter(({ topic }) => discoveryTopic.exec(topic)?.[1] === id);
      expect(announced).toMatchObject([{ payload: expect.stringContaining(`sonic2mqtt/${owner}/state`) }]);
    }
    expect(home.json(`signal/${signal}`).property_id).toBeNull();
  });
});

describe('a filter of properties', () => {
  it('comes before the shares, and is not wrong if another bridge has what it names', async () => {
    const home = new SharedHome();
    const { world } = home;
    const chosen = [0, 2].map((index) => world.properties.ids[index] ?? '');
    const [first = '', second = ''] = chosen;
    expect(home.ownerOf(first, 2)).not.toBe(home.ownerOf(second, 2));
    const properties = [first, world.properties.get(second)?.name ?? ''];
    home.startOne(0, 2, { filters: { properties } });
    home.startOne(1, 2, { filters: { properties: [...properties, 'Nowhere'] } });
    await home.pass(minuteMs);
    const isChosen = (id: string) => chosen.includes(world.propertyOf(id) ?? id);
    const owners = home.ids.filter(isChosen).map((id) => [id, home.ownerOf(id, 2)]);
    expect(home.shown).toEqual({
      ...Object.fromEntries(owners),
      bridge_0: 'bridge_0',
      bridge_1: 'bridge_1',
    });
    expect(home.json('bridge_0/health')).toMatchObject({ status: 'ok', reason: null });
    expect(home.json('bridge_1/health').reason).toContain(
      'filters.properties: the account has no property Nowhere',
    );
    // The bridge whose it would be refuses it.
    const left = world.sonics.ids.find((id) => !isChosen(id)) ?? '';
    expect(await home.closeValve(left)).toEqual([
      [home.ownerOf(left, 2), 'refused', `there is no valve ${left}`],
    ]);
  });
});

describe('two bridges that were given one base topic by mistake', () => {
  const words = 'Another bridge uses the topic sonic2mqtt/bridge. Valve commands are rejected.';
  const warnings = (home: Home, text: string) =>
    home.lines.filter((line) => line.text.includes(text) && line.text.startsWith('warn: ')).length;

  it('for two accounts delete nothing of each other’s, and both say so', async () => {
    const home = new Home({ cloud: { seed: 1 } });
    const simulator = home.anotherAccount({ seed: 2, properties: 1, signals: 1, sonics: 1 });
    const [holiday = ''] = simulator.world.thingIds;
    await home.start();
    const second = home.anotherBridge({ mqtt: { client_id: 'second' } }, { simulator });
    second.start();
    await home.pass(minuteMs);
    expect(warnings(home, words)).toBe(2);
    expect(home.json('bridge/health').reason).toContain(words);

    // Each publishes all of its own again, and reads what the broker has retained.
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(10 * minuteMs);
    await home.restart();
    await home.pass(10 * minuteMs);
    expect(warnings(home, words)).toBeGreaterThan(2);
    const deleted = home.messages.filter(
      ({ topic, payload }) => payload === '' && (topic.includes(home.sonicId) || topic.includes(holiday)),
    );
    expect(deleted.map(({ topic }) => topic)).toEqual([]);
    expect(Object.keys(home.json('bridge/info').counts)).toContain('sonics');
    for (const id of [home.sonicId, holiday]) expect(home.discovery(id)).not.toBeNull();
  });

  it('for one account move no valve and say why, until one of them has gone', async () => {
    const home = new SharedHome();
    const [sonic = ''] = home.world.sonics.ids;
    const first = home.startOne(0, 1);
    await home.pass(minuteMs);
    const second = home.startOne(0, 1, { mqtt: { client_id: 'second' } });
    await home.pass(minuteMs);
    const refused = ['bridge', 'refused', expect.stringContaining(words)];
    expect(await home.closeValve(sonic)).toEqual([refused, refused]);
    const request = { params: { thing_id: sonic }, body: { source: 'manual' } };
    expect(await home.command('bridge/request/start_pressure_test', JSON.stringify(request))).toEqual([
      refused,
      refused,
    ]);

    // The broker publishes the last will of the one, which the other contradicts.
    const from = home.messages.length;
    second.kill();
    await home.pass(minuteMs);
    const states = home.messages.slice(from).filter(({ topic }) => topic === 'sonic2mqtt/bridge/state');
    expect(states.map(({ payload }) => payload)).toEqual(['offline', 'online']);
    expect(home.linesFrom(home.time.now - minuteMs)).toContainEqual(
      expect.stringContaining('Everything works'),
    );
    expect(await home.closeValve(sonic)).toEqual([['bridge', 'ok', null]]);

    // Its own last run, whose messages the broker has retained, is in nobody's way.
    first.kill();
    home.startOne(0, 1);
    await home.pass(minuteMs);
    expect(await home.closeValve(sonic)).toEqual([['bridge', 'ok', null]]);
    expect(home.valveCommands).toHaveLength(2);
    expect(home.asked('start_pressure_test')).toEqual([]);
  });

  it('as parts of one account with the same index say so', async () => {
    const home = new SharedHome();
    for (const client_id of ['one', 'copied']) home.startOne(1, 2, { mqtt: { client_id } });
    await home.pass(minuteMs);
    const copied =
      'Another bridge uses the topic sonic2mqtt/bridge_1. Valve commands are rejected. Change mqtt.base_topic or shard.index of one';
    expect(warnings(home, copied)).toBe(2);
    home.expectNothingDeleted();
  });

  it('as one that was left running when the account was shared stop all valves, until it has gone', async () => {
    const home = new SharedHome();
    const forgotten = home.startOne(0, 1, { mqtt: { client_id: 'forgotten' } });
    await home.pass(minuteMs);
    await home.startAll(2);
    const count = 'bridge has shard.count 1, this bridge has 2. Valve commands are rejected.';
    expect(warnings(home, count)).toBe(2);
    expect(warnings(home, 'has shard.count 2, this bridge has 1')).toBe(1);
    const sonic = home.oneOf('bridge_1', 2);
    home.expectShared(2, ['bridge', 'bridge_0', 'bridge_1']);
    const outcomes = await home.closeValve(sonic);
    expect(outcomes.toSorted()).toEqual([
      ['bridge', 'refused', expect.any(String)],
      ['bridge_1', 'refused', expect.stringContaining(count)],
    ]);
    await home.stop(forgotten);
    await home.pass(minuteMs);
    for (const name of namesOf(2)) expect(home.json(`${name}/health`).status).toBe('ok');
    expect(await home.closeValve(sonic)).toEqual([['bridge_1', 'ok', null]]);
    expect(home.valveCommands).toHaveLength(1);
  });
});
