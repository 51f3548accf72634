import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { boundsOf } from '../oracle/bounds.ts';
import { Oracle } from '../oracle/oracle.ts';
import { bridgeConfig } from './bridgeProcess.ts';
import { VirtualBroker } from './virtualBroker.ts';
import type { SeenRequest } from './virtualCloud.ts';
import { VirtualTime } from './virtualTime.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

type Asked =
  | 'list_incidents'
  | 'read_incident'
  | 'list_sonics'
  | 'command_valve'
  | 'sign_in'
  | 'read_daily_usage'
  | 'read_telemetry';

/**
 * A cloud, a broker and an oracle, without a bridge. The test publishes true and false messages in place of a
 * bridge, and checks which of them the oracle reports.
 */
class Stage {
  readonly time = new VirtualTime();
  readonly simulator = new Simulator({
    clock: {
      now: () => this.time.now,
      monotonic: () => this.time.now,
      after: this.time.after.bind(this.time),
    },
    quiet: true,
    properties: 1,
    signals: 1,
    sonics: 1,
  });
  readonly oracle: Oracle;
  readonly broker: VirtualBroker;
  readonly sonicId = this.simulator.world.thingIds[0] ?? '';
  readonly signalId = this.simulator.world.signals.ids[0] ?? '';
  readonly propertyId = this.simulator.world.properties.ids[0] ?? '';
  #numbers = 0;

  constructor(config: Parameters<typeof bridgeConfig>[0] = {}) {
    const taps = { current: null as Oracle['broker'] | null };
    this.broker = new VirtualBroker(this.time, Math.random, {
      handedOver: () => {},
      taken: (...message) => taps.current?.taken(...message),
      delivered: (...message) => taps.current?.delivered(...message),
      linked: () => {},
    });
    this.oracle = new Oracle({
      ...{ time: this.time, epochMs: 0, simulator: this.simulator },
      retained: this.broker.retained,
      bounds: boundsOf(configSchema.parse(bridgeConfig(config))),
    });
    taps.current = this.oracle.broker;
    // A simulator starts with an open incident.
    for (const id of this.simulator.world.incidents.ids) this.simulator.world.closeIncident(id);
    this.oracle.broker.linked(true);
    this.oracle.runBegan();
  }

  say(path: string, content: string | object): void {
    const payload = typeof content === 'string' ? content : JSON.stringify(content);
    this.broker.take(path.startsWith('homeassistant/') ? path : `sonic2mqtt/${path}`, payload, true);
  }

  /** Announces the valve with these entities, all of them available. */
  announce(...componentIds: readonly string[]): void {
    this.announceDevice('sonic', ...componentIds);
  }

  announceDevice(kind: 'property' | 'signal' | 'sonic', ...componentIds: readonly string[]): void {
    const id = this[`${kind}Id`];
    const components = componentIds.map((componentId) => {
      const [, platform, key] = /^(binary_sensor|sensor|switch|text|valve)_(.+)$/.exec(componentId) ?? [];
      return [componentId, { platform, unique_id: componentId, value_template: `{{ value_json.${key} }}` }];
    });
    for (const path of ['bridge/state', 'bridge/cloud', `sonic/${this.sonicId}/availability`])
      this.say(path, 'online');
    this.say(`homeassistant/device/sonic2mqtt_${id}/config`, {
      availability: [{ topic: 'sonic2mqtt/bridge/state' }, { topic: 'sonic2mqtt/bridge/cloud' }],
      state_topic: `sonic2mqtt/${kind}/${id}/homeassistant`,
      components: Object.fromEntries(components),
    });
  }

  show(states: object): void {
    this.say(`sonic/${this.sonicId}/homeassistant`, states);
  }

  /** Sends a request, as a bridge would, and answers it at once. */
  ask(operation: Asked, body = '', status = 200, incidentId = ''): void {
    const params = { sonic_id: this.sonicId, thing_id: this.sonicId, incident_id: incidentId };
    const request: SeenRequest = {
      ...{ origin: '', method: operation === 'command_valve' ? 'PUT' : 'GET', target: '/', operation },
      ...{ params, body, number: ++this.#numbers },
    };
    const { world } = this.simulator;
    const records =
      operation === 'list_incidents' ? [...world.incidents.values()] : [...world.sonics.values()];
    const list = { data: records, total_pages: 1, total_entries: records.length };
    const text = JSON.stringify(operation === 'read_daily_usage' ? world.usage(this.sonicId) : list);
    const answer = { status, headers: {}, text };
    this.oracle.asked(request);
    this.oracle.cloud.sent(request);
    this.oracle.cloud.processed(request, answer);
    this.oracle.cloud.answered(request, answer);
    this.oracle.cloud.ended?.(request);
  }

  move(action: string): void {
    this.ask('command_valve', JSON.stringify({ action }));
  }

  deliver(payload: string, { isFlagged = false, ageMs = 0 as number | null } = {}): void {
    const publishedAt = ageMs === null ? null : this.time.now - ageMs;
    this.oracle.broker.delivered(
      `sonic2mqtt/sonic/${this.sonicId}/valve/set`,
      payload,
      isFlagged,
      publishedAt,
    );
  }

  async pass(ms: number): Promise<void> {
    await this.time.runUntil(this.time.now + ms);
  }

  /** Waits until details must have been read again after an outage. */
  async settle(): Promise<void> {
    await this.pass(7 * minuteMs);
  }

  /** The violations about the valve's state, without those about its availability. */
  get violationsOfStates(): readonly string[] {
    return this.violations.filter((words) => !words.includes('/availability '));
  }

  get violations(): readonly string[] {
    return this.oracle.violations;
  }
}

describe('shown is true', () => {
  it('takes what is so, and what was so a short time ago', async () => {
    const stage = new Stage();
    stage.announce('valve_valve');
    stage.show({ valve: 'open' });
    stage.simulator.world.setValve(stage.sonicId, 'closed');
    await stage.pass(4 * minuteMs);
    stage.show({ valve: 'closed' });
    await stage.pass(60 * minuteMs);
    expect(stage.violations).toEqual([]);
  });

  it('finds what never was so, at once', () => {
    const stage = new Stage();
    stage.announce('valve_valve', 'sensor_battery');
    stage.show({ valve: 'closed', battery: 'low' });
    expect(stage.violations).toHaveLength(2);
  });

  it('finds what has not been so for too long, without any message', async () => {
    const stage = new Stage();
    stage.announce('valve_valve');
    stage.show({ valve: 'open' });
    stage.simulator.world.setValve(stage.sonicId, 'closed');
    await stage.pass(8 * minuteMs);
    expect(stage.violations).toHaveLength(1);
  });

  it('takes what is unknown or unavailable, and looks again when it is available', async () => {
    const stage = new Stage();
    stage.announce('valve_valve', 'sensor_battery');
    stage.say('bridge/cloud', 'offline');
    stage.show({ valve: 'closed', battery: null });
    expect(stage.violations).toEqual([]);
    stage.say('bridge/cloud', 'online');
    expect(stage.violations).toHaveLength(1);
  });

  it('finds an offline valve whose leak sensor says that it is dry', async () => {
    const stage = new Stage();
    stage.announce('binary_sensor_incident_water_presence_detected');
    stage.simulator.world.dropRadio(stage.sonicId);
    await stage.pass(9 * minuteMs);
    stage.show({ incident_water_presence_detected: 'OFF' });
    expect(stage.violations).toHaveLength(1);
  });

  it.each<[string, 'property' | 'signal' | 'sonic', string, (stage: Stage) => string | number]>([
    ['position', 'sonic', 'valve_valve', () => 'closed'],
    ['state', 'sonic', 'sensor_valve_state', () => 'faulty'],
    ['leak', 'sonic', 'binary_sensor_incident_water_presence_detected', () => 'ON'],
    ['number of incidents', 'sonic', 'sensor_open_incidents', () => 1],
    ['problem', 'property', 'binary_sensor_problem', () => 'ON'],
    ['alert', 'sonic', 'binary_sensor_alert', () => 'ON'],
    ['leak in a summary', 'property', 'sensor_summary', () => 'Leak at Kitchen, since 07:41. Water is on.'],
    ['water in a summary', 'property', 'sensor_summary', () => 'All good. No leaks, water off.'],
    [
      'rest',
      'sonic',
      'sensor_water_at_rest',
      ({ simulator: { world }, sonicId }) => {
        world.openIncident({ type: 'long_flow_alert', sonicId });
        return new Date((world.telemetry(sonicId)?.probed_at ?? 0) * 1_000).toISOString();
      },
    ],
    [
      'result of a test',
      'sonic',
      'sensor_pressure_test_result',
      ({ simulator: { world }, sonicId }) => {
        world.addPressureTest(sonicId, {});
        return 'failed';
      },
    ],
    ['radio link', 'sonic', 'binary_sensor_radio_connection', () => 'OFF'],
    ['radio strength', 'sonic', 'sensor_radio_rssi', () => -1],
    ['cloud link', 'signal', 'binary_sensor_cloud_connection', () => 'OFF'],
    ['Wi-Fi strength', 'signal', 'sensor_wifi_rssi', () => 1],
    ['battery', 'sonic', 'binary_sensor_battery_low', () => 'ON'],
    [
      'setting',
      'property',
      'switch_auto_shut_off',
      ({ simulator: { world }, propertyId }) =>
        world.settings.get(propertyId)?.auto_shut_off ? 'OFF' : 'ON',
    ],
    ['setting in words', 'property', 'text_timezone', () => 'Nowhere/Else'],
    ['measurement', 'sonic', 'sensor_flow', () => 999],
    ['name', 'sonic', 'text_name', () => 'Nobody’s'],
    ['name', 'property', 'text_name', () => 'Nobody’s'],
  ])('finds a false %s (%s)', async (_words, kind, componentId, lie) => {
    const stage = new Stage();
    stage.announceDevice(kind, componentId);
    await stage.settle();
    const [, key = ''] = /^(?:binary_sensor|sensor|switch|text|valve)_(.+)$/.exec(componentId) ?? [];
    stage.say(`${kind}/${stage[`${kind}Id`]}/homeassistant`, { [key]: lie(stage) });
    expect(stage.violations).toHaveLength(1);
  });

  it('finds a leak that is open, and said to be none for too long', async () => {
    const stage = new Stage();
    stage.announce('binary_sensor_incident_water_presence_detected');
    stage.show({ incident_water_presence_detected: 'OFF' });
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    await stage.pass(9 * minuteMs);
    expect(stage.violations).toHaveLength(1);
  });

  it('finds a summary of a property, and an alert of a valve, that have missed a leak for too long', async () => {
    const stage = new Stage();
    stage.announce('binary_sensor_alert');
    stage.announceDevice('property', 'sensor_summary');
    stage.show({ alert: 'OFF' });
    stage.say(`property/${stage.propertyId}/homeassistant`, { summary: 'All good. No leaks, water on.' });
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    await stage.pass(9 * minuteMs);
    expect(stage.violations).toHaveLength(2);
  });

  it.each([
    ['shows it while the cloud is asked for it by itself', true, 'ON', 1, 0],
    ['counts it besides a new one while the cloud is asked for it by itself', true, null, 2, 0],
    ['counts more than that', true, null, 3, 1],
    ['shows it and asks for none', false, 'ON', 1, 1],
  ])(
    'knows of an incident that closed in an outage, where the bridge %s',
    async (...[, asks, word, open, count]) => {
      const stage = new Stage();
      const { simulator } = stage;
      stage.announce('binary_sensor_incident_legionella_risk', 'sensor_open_incidents');
      const { id } = simulator.world.openIncident({ type: 'legionella_risk', sonicId: stage.sonicId });
      stage.say('bridge/cloud', 'offline');
      await stage.pass(minuteMs);
      simulator.world.closeIncident(id);
      await stage.pass(60 * minuteMs);
      if (open > 1) simulator.world.openIncident({ type: 'high_volume_alert', sonicId: stage.sonicId });
      stage.ask('list_incidents');
      if (asks) stage.ask('read_incident', '', 503, id);
      stage.show({ incident_legionella_risk: word, open_incidents: word === null ? open : null });
      stage.say('bridge/cloud', 'online');
      expect(stage.violations).toEqual(Array(count).fill(expect.anything()));
      for (let minute = 0; minute < 3; minute++) {
        await stage.pass(minuteMs);
        stage.ask('list_incidents');
        if (asks) stage.ask('read_incident', '', 503, id);
      }
      expect(stage.violations.length).toBeGreaterThan(count);
    },
  );

  it.each([
    ['does not answer for alone', 503, 0],
    ['has told', 404, 1],
  ])(
    'knows of an incident that closed, which the cloud %s: %i, until the third list',
    async (...[, status, count]) => {
      const stage = new Stage({ schedules: { incidents: '20m', sonics: '2h' } });
      stage.announce('binary_sensor_alert');
      const { id } = stage.simulator.world.openIncident({ type: 'legionella_risk', sonicId: stage.sonicId });
      stage.show({ alert: 'ON' });
      await stage.pass(minuteMs);
      stage.simulator.world.closeIncident(id);
      await stage.pass(20 * minuteMs);
      stage.ask('list_incidents');
      stage.ask('read_incident', '', status, id);
      await stage.pass(20 * minuteMs);
      stage.ask('list_incidents');
      await stage.pass(19 * minuteMs);
      expect(stage.violationsOfStates).toHaveLength(count);
      stage.ask('list_incidents');
      await stage.pass(5 * minuteMs);
      expect(stage.violationsOfStates).not.toEqual([]);
    },
  );

  it.each([
    ['low_battery_level', 1],
    ['device_handle_moved', 1],
    ['radio_disconnection', 0],
  ])('finds that an offline valve says that %s is not open: %i', async (type, count) => {
    const stage = new Stage();
    stage.announce(`binary_sensor_incident_${type}`);
    stage.simulator.world.changeSonic(stage.sonicId, { radio_connection: 'disconnected' });
    await stage.pass(15 * minuteMs);
    stage.show({ [`incident_${type}`]: 'OFF' });
    expect(stage.violationsOfStates).toHaveLength(count);
  });

  it('finds that nothing is open at an offline valve and in its property', async () => {
    const stage = new Stage();
    stage.announce('sensor_open_incidents');
    stage.announceDevice('property', 'binary_sensor_problem', 'sensor_open_incidents');
    stage.simulator.world.changeSonic(stage.sonicId, { radio_connection: 'disconnected' });
    await stage.pass(130 * minuteMs);
    stage.show({ open_incidents: 0 });
    stage.say(`property/${stage.propertyId}/homeassistant`, { problem: 'OFF', open_incidents: 0 });
    expect(stage.violationsOfStates).toHaveLength(3);
  });

  it.each([
    ['with a filter, which cannot select it', ['Willow Cottage'], 0],
    ['without a filter', [], 1],
  ])(
    'knows of an offline valve on Wi-Fi whose property nobody can tell, %s',
    async (_, properties, count) => {
      const stage = new Stage({ filters: { properties } });
      const { world } = stage.simulator;
      world.addProperty();
      const { id } = world.addWifiSonic(stage.propertyId);
      world.changeSonic(id, { radio_connection: 'disconnected' });
      stage.announceDevice('property', 'binary_sensor_problem');
      await stage.pass(130 * minuteMs);
      stage.say(`property/${stage.propertyId}/homeassistant`, { problem: 'OFF' });
      expect(stage.violationsOfStates).toHaveLength(count);
    },
  );

  it('finds water of today that the cloud never told of, and takes what it did', async () => {
    const stage = new Stage();
    stage.announce('sensor_water_today');
    await stage.settle();
    stage.ask('read_daily_usage');
    const today = stage.simulator.world.usage(stage.sonicId).daily.at(-1)?.liters ?? 0;
    stage.show({ water_today: today });
    expect(stage.violations).toEqual([]);
    stage.show({ water_today: today + 1 });
    expect(stage.violations).toHaveLength(1);
  });

  it('finds a total that falls, unless the cloud has taken litres back', () => {
    const stage = new Stage();
    const total = (water: number) => stage.say(`sonic/${stage.sonicId}/usage`, { total: water });
    for (const water of [100, null as never, 101.5]) total(water);
    expect(stage.violations).toEqual([]);
    total(101.4);
    expect(stage.violations).toHaveLength(1);
    const told = (liters: number) =>
      stage.oracle.cloud.answered(
        {
          ...{ origin: '', method: 'GET', target: '/', operation: 'read_daily_usage' },
          ...{ params: { thing_id: stage.sonicId }, body: '', number: 0 },
        },
        { status: 200, headers: {}, text: JSON.stringify({ daily: [{ date: '1969-12-31', liters }] }) },
      );
    for (const liters of [20, 8]) told(liters);
    total(90);
    expect(stage.violations).toHaveLength(1);
  });

  it.each([
    ['a position', '', { valve: 'closed' }],
    ['a link', '', { radio_connection: 'disconnected' }],
    ['a number of incidents', '/incidents', { open_count: 2 }],
    ['a measurement', '/telemetry', { flow_l_min: 999 }],
  ])('finds %s of no valve on a raw topic', async (_words, path, document) => {
    const stage = new Stage();
    stage.announce();
    await stage.settle();
    stage.say(`sonic/${stage.sonicId}${path}`, document);
    expect(stage.violations).toHaveLength(1);
  });

  it('finds a hub that is said to be reachable for too long', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say(`signal/${stage.signalId}/availability`, 'online');
    stage.simulator.world.signals.change(stage.signalId, { cloud_connection: 'disconnected' });
    await stage.pass(14 * minuteMs);
    expect(stage.violations.join()).toContain(`signal/${stage.signalId}/availability`);
  });

  it('takes no word of anybody else for the bridge’s', () => {
    const stage = new Stage();
    stage.announce();
    stage.broker.forge(`sonic2mqtt/sonic/${stage.sonicId}`, '{"valve":"closed"}');
    stage.oracle.forged(`sonic2mqtt/sonic/${stage.sonicId}`);
    stage.oracle.judgeAll();
    expect(stage.violations).toEqual([]);
  });

  it('finds the same on raw topics', () => {
    const stage = new Stage();
    stage.announce();
    stage.say(`sonic/${stage.sonicId}`, {
      valve: 'closed',
      name: stage.simulator.world.things.get(stage.sonicId)?.name,
    });
    expect(stage.violations).toHaveLength(1);
  });
});

describe('a leak is heard', () => {
  const sensors = ['binary_sensor_incident_water_presence_detected', 'sensor_open_incidents'] as const;

  it.each([
    ['ON', 'ok', 0],
    ['OFF', 'degraded', 1],
    [null, 'degraded', 0],
    [null, 'ok', 1],
  ])('where the list was read: leak %s, health %s', async (word, status, count) => {
    const stage = new Stage();
    stage.announce(...sensors);
    stage.say('bridge/health', { status });
    stage.show({ incident_water_presence_detected: word, open_incidents: null });
    await stage.pass(40 * secondMs);
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    await stage.pass(secondMs);
    stage.ask('list_incidents');
    const before = stage.violations.length;
    await stage.pass(66 * secondMs);
    expect(stage.violations.slice(before)).toHaveLength(count);
  });

  it.each([
    ['before health is not ok any more', ['ON', 'ok'], [null, 'ok'], [null, 'degraded'], 0],
    ['after health is ok again', [null, 'degraded'], [null, 'ok'], ['ON', 'ok'], 0],
    ['and nothing follows', [null, 'degraded'], [null, 'ok'], [null, 'ok'], 1],
    ['and a denial follows', ['ON', 'ok'], [null, 'ok'], ['OFF', 'ok'], 1],
    ['as a denial', ['ON', 'ok'], ['OFF', 'degraded'], ['ON', 'ok'], 1],
  ])('although it is looked at as the sensor changes, a moment %s', async (_, first, then, last, count) => {
    const stage = new Stage();
    const say = ([word, status]: readonly (string | null)[]) => {
      stage.say('bridge/health', { status });
      stage.show({ incident_water_presence_detected: word, open_incidents: null });
    };
    stage.announce(...sensors);
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    say(first);
    await stage.pass(40 * secondMs);
    stage.ask('list_incidents');
    await stage.pass(59_990);
    const before = stage.violations.length;
    say(then);
    await stage.pass(20);
    say(last);
    await stage.pass(6 * secondMs);
    expect(stage.violations.slice(before).filter((words) => words.includes(' is open at '))).toHaveLength(
      count,
    );
  });

  it.each([
    [20, 1],
    [2, 0],
  ])(
    'unless a second bridge began %i s ago, of whose words the broker has the first',
    async (seconds, count) => {
      const stage = new Stage();
      stage.announce(...sensors);
      stage.say('bridge/health', { status: 'ok' });
      stage.show({ incident_water_presence_detected: null, open_incidents: null });
      await stage.pass(40 * secondMs);
      stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
      await stage.pass(secondMs);
      stage.ask('list_incidents');
      await stage.pass((60 - seconds) * secondMs);
      stage.oracle.bridges = 2;
      await stage.pass((seconds + 6) * secondMs);
      expect(stage.violations).toHaveLength(count);
    },
  );

  it.each([
    ['has just come into a property of the filter, since that is read more rarely', 30, 0],
    ['has been in a property of the filter for long', 130, 1],
  ])('at a signal that %s', async (_words, minutes, count) => {
    const stage = new Stage({ filters: { properties: ['Selected'] } });
    const { simulator } = stage;
    const other = simulator.world.addProperty().id;
    simulator.world.properties.change(stage.propertyId, { name: 'Selected' });
    simulator.world.moveToProperty(stage.signalId, other);
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    await stage.pass(10 * minuteMs);
    simulator.world.moveToProperty(stage.signalId, stage.propertyId);
    await stage.pass(minutes * minuteMs);
    simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    await stage.pass(secondMs);
    stage.ask('list_incidents');
    await stage.pass(66 * secondMs);
    expect(stage.violations.filter((words) => words.includes('is not known'))).toHaveLength(count);
  });

  it.each([
    ['ok', 1, 0],
    ['ok', 0, 1],
    ['ok', null, 1],
    ['degraded', null, 0],
  ])('on topics alone: health %s, open incidents %s', async (status, count, found) => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status });
    await stage.pass(40 * secondMs);
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    stage.say(`sonic/${stage.sonicId}/incidents`, { open_count: count });
    await stage.pass(secondMs);
    stage.ask('list_incidents');
    const before = stage.violations.length;
    await stage.pass(66 * secondMs);
    expect(stage.violations.slice(before)).toHaveLength(found);
  });

  it('in its property too', async () => {
    const stage = new Stage();
    stage.announce(...sensors);
    stage.announceDevice('property', 'binary_sensor_problem');
    stage.show({ incident_water_presence_detected: 'OFF', open_incidents: 0 });
    stage.say(`property/${stage.propertyId}/homeassistant`, { problem: 'OFF' });
    await stage.pass(40 * secondMs);
    stage.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: stage.sonicId });
    stage.show({ incident_water_presence_detected: 'ON', open_incidents: 1 });
    await stage.pass(secondMs);
    stage.ask('list_incidents');
    await stage.pass(66 * secondMs);
    expect(stage.violations).toEqual([expect.stringContaining('binary_sensor_problem shows OFF')]);
  });
});

describe('moved is wanted', () => {
  it('takes a request with a message of its own', () => {
    const stage = new Stage();
    stage.deliver('CLOSE');
    stage.move('close');
    expect(stage.violations).toEqual([]);
  });

  it.each<[string, (stage: Stage) => void | Promise<void>]>([
    ['nobody asked for', () => {}],
    ['an empty message asked for', (stage) => stage.deliver('')],
    ['a retained message asked for', (stage) => stage.deliver('CLOSE', { isFlagged: true })],
    ['the memory of the broker asked for', (stage) => stage.deliver('CLOSE', { ageMs: null })],
    ['was asked for the other way', (stage) => stage.deliver('OPEN')],
    ['was asked for too long ago', (stage) => stage.deliver('CLOSE', { ageMs: 11 * secondMs })],
    [
      'a newer wish has overtaken',
      async (stage) => {
        stage.deliver('CLOSE');
        await stage.pass(secondMs);
        stage.deliver('OPEN');
        await stage.pass(secondMs);
      },
    ],
    [
      'was sent before',
      (stage) => {
        stage.deliver('CLOSE');
        stage.move('close');
      },
    ],
  ])('finds one that %s', async (_, prepare) => {
    const stage = new Stage();
    await prepare(stage);
    stage.move('close');
    expect(stage.violations).toHaveLength(1);
  });
});

describe('what is told of commands and movements is true', () => {
  const movement = { valve: 'closed', at: '1970-01-01T00:00:00.000Z', topic: null, incident_id: null };

  it.each([
    ['movement', { ...movement, by: 'command', topic: 'sonic2mqtt/sonic/x/valve/set' }],
    ['movement', { ...movement, by: 'by_hand', incident_id: 'none' }],
    ['movement', { ...movement, by: 'automatic_shut_off', incident_id: 'none' }],
    ['last_command', { action: 'close', status: 'confirmed', failed: null }],
  ])('finds a false %s: %o', (path, document) => {
    const stage = new Stage();
    stage.announce();
    stage.say(`sonic/${stage.sonicId}/${path}`, document);
    expect(stage.violations).toHaveLength(1);
  });

  it('finds a command that is under way for ever', async () => {
    const stage = new Stage();
    stage.announce();
    await stage.pass(minuteMs);
    stage.say(`sonic/${stage.sonicId}/last_command`, { action: 'close', status: 'sent', failed: null });
    await stage.pass(10 * minuteMs);
    expect(stage.violations.filter((words) => words.includes('still under way'))).toHaveLength(1);
  });
});

describe('health is true', () => {
  const listsEvery = async (
    stage: Stage,
    ms: number,
    lists: readonly ('list_incidents' | 'list_sonics')[],
  ) => {
    for (let passed = 0; passed < ms; passed += 30 * secondMs) {
      for (const list of lists) stage.ask(list);
      await stage.pass(30 * secondMs);
    }
  };

  it('may be ok while the lists are read and the broker takes everything', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    await listsEvery(stage, 20 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toEqual([]);
  });

  it('is not ok while a list is not read', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    await listsEvery(stage, 20 * minuteMs, ['list_sonics']);
    expect(stage.violations.some((words) => words.startsWith('health is ok although list_incidents'))).toBe(
      true,
    );
    expect(stage.violations.some((words) => words.startsWith('list_incidents was not asked for'))).toBe(true);
  });

  it('is not ok while the broker refuses a message', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    stage.oracle.broker.refused?.(`sonic2mqtt/sonic/${stage.sonicId}`, true, '{}');
    await listsEvery(stage, 4 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toHaveLength(1);
  });

  it('is not ok while no measurement is read', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    for (let minute = 0; minute < 12; minute++) {
      stage.ask('read_telemetry', '', 500);
      await listsEvery(stage, minuteMs, ['list_incidents', 'list_sonics']);
    }
    expect(stage.violations).toEqual([expect.stringContaining('no measurement was read')]);
  });

  it('is not ok while another bridge announces a device', async () => {
    const stage = new Stage();
    stage.announce();
    stage.say('bridge/health', { status: 'ok' });
    stage.say(`sonic/${stage.sonicId}`, {});
    stage.say(`homeassistant/device/sonic2mqtt_${stage.sonicId}/config`, {
      availability: [{ topic: 'trial/bridge/state' }],
      state_topic: `trial/sonic/${stage.sonicId}/homeassistant`,
      components: { valve_valve: { platform: 'valve', value_template: '{{ value_json.valve }}' } },
    });
    await listsEvery(stage, 5 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(stage.violations).toHaveLength(1);
  });
});
