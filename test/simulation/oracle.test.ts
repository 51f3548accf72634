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
class OracleBench {
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
  it('accepts a value that is true, or was a short time ago', async () => {
    const bench = new OracleBench();
    bench.announce('valve_valve');
    bench.show({ valve: 'open' });
    bench.simulator.world.setValve(bench.sonicId, 'closed');
    await bench.pass(4 * minuteMs);
    bench.show({ valve: 'closed' });
    await bench.pass(60 * minuteMs);
    expect(bench.violations).toEqual([]);
  });

  it('reports a value that was never true, at once', () => {
    const bench = new OracleBench();
    bench.announce('valve_valve', 'sensor_battery');
    bench.show({ valve: 'closed', battery: 'low' });
    expect(bench.violations).toHaveLength(2);
  });

  it('reports a value that has not been true for too long, without a new message', async () => {
    const bench = new OracleBench();
    bench.announce('valve_valve');
    bench.show({ valve: 'open' });
    bench.simulator.world.setValve(bench.sonicId, 'closed');
    await bench.pass(8 * minuteMs);
    expect(bench.violations).toHaveLength(1);
  });

  it('accepts unknown and unavailable values, and checks again once they are available', async () => {
    const bench = new OracleBench();
    bench.announce('valve_valve', 'sensor_battery');
    bench.say('bridge/cloud', 'offline');
    bench.show({ valve: 'closed', battery: null });
    expect(bench.violations).toEqual([]);
    bench.say('bridge/cloud', 'online');
    expect(bench.violations).toHaveLength(1);
  });

  it.each<[string, 'property' | 'signal' | 'sonic', string, (bench: OracleBench) => string | number]>([
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
  ])('reports a false %s (%s)', async (_words, kind, componentId, lie) => {
    const bench = new OracleBench();
    bench.announceDevice(kind, componentId);
    await bench.settle();
    const [, key = ''] = /^(?:binary_sensor|sensor|switch|text|valve)_(.+)$/.exec(componentId) ?? [];
    bench.say(`${kind}/${bench[`${kind}Id`]}/homeassistant`, { [key]: lie(bench) });
    expect(bench.violations).toHaveLength(1);
  });

  it.each<[string, string, (bench: OracleBench) => void]>([
    ['valve', 'valve_problem', ({ simulator, sonicId }) => simulator.world.setValve(sonicId, 'sideways')],
    [
      'valve',
      'pressure_test_running',
      ({ simulator, sonicId }) => simulator.world.setValve(sonicId, 'sideways'),
    ],
    [
      'battery',
      'battery_low',
      ({ simulator, sonicId }) => simulator.world.changeSonic(sonicId, { battery: 'solar' }),
    ],
    [
      'battery',
      'external_power',
      ({ simulator, sonicId }) => simulator.world.changeSonic(sonicId, { battery: 'solar' }),
    ],
  ])('reports an unknown word of the %s that is shown as no (%s)', async (_words, key, change) => {
    const bench = new OracleBench();
    bench.announce(`binary_sensor_${key}`);
    change(bench);
    await bench.pass(9 * minuteMs);
    bench.show({ [key]: 'OFF' });
    expect(bench.violations).toHaveLength(1);
    bench.show({ [key]: null });
    await bench.pass(9 * minuteMs);
    expect(bench.violations).toHaveLength(1);
  });

  it('reports a summary of a property, and an alert and a sensor of a valve that miss a leak for too long', async () => {
    const bench = new OracleBench();
    bench.announce('binary_sensor_alert', 'binary_sensor_incident_water_presence_detected');
    bench.announceDevice('property', 'sensor_summary');
    bench.show({ alert: 'OFF', incident_water_presence_detected: 'OFF' });
    bench.say(`property/${bench.propertyId}/homeassistant`, { summary: 'All good. No leaks, water on.' });
    bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    await bench.pass(9 * minuteMs);
    expect(bench.violations).toHaveLength(3);
  });

  it.each([
    ['shows it while it reads the incident by itself', true, 'ON', 1, 0],
    ['counts it and a new one while it reads the incident by itself', true, null, 2, 0],
    ['counts one incident too many', true, null, 3, 1],
    ['shows it without reading it by itself', false, 'ON', 1, 1],
  ])('judges an incident that closed in an outage: the bridge %s', async (...[, asks, word, open, count]) => {
    const bench = new OracleBench();
    const { simulator } = bench;
    bench.announce('binary_sensor_incident_legionella_risk', 'sensor_open_incidents');
    const { id } = simulator.world.openIncident({ type: 'legionella_risk', sonicId: bench.sonicId });
    bench.say('bridge/cloud', 'offline');
    await bench.pass(minuteMs);
    simulator.world.closeIncident(id);
    await bench.pass(60 * minuteMs);
    if (open > 1) simulator.world.openIncident({ type: 'high_volume_alert', sonicId: bench.sonicId });
    bench.ask('list_incidents');
    if (asks) bench.ask('read_incident', '', 503, id);
    bench.show({ incident_legionella_risk: word, open_incidents: word === null ? open : null });
    bench.say('bridge/cloud', 'online');
    expect(bench.violations).toEqual(Array(count).fill(expect.anything()));
    for (let minute = 0; minute < 3; minute++) {
      await bench.pass(minuteMs);
      bench.ask('list_incidents');
      if (asks) bench.ask('read_incident', '', 503, id);
    }
    expect(bench.violations.length).toBeGreaterThan(count);
  });

  it.each([
    ['does not answer for it', 503, 0],
    ['has reported it as gone', 404, 1],
  ])(
    'allows a closed incident until the third list if the cloud %s: status %i',
    async (...[, status, count]) => {
      const bench = new OracleBench({ schedules: { incidents: '20m', sonics: '2h' } });
      bench.announce('binary_sensor_alert');
      const { id } = bench.simulator.world.openIncident({ type: 'legionella_risk', sonicId: bench.sonicId });
      bench.show({ alert: 'ON' });
      await bench.pass(minuteMs);
      bench.simulator.world.closeIncident(id);
      await bench.pass(20 * minuteMs);
      bench.ask('list_incidents');
      bench.ask('read_incident', '', status, id);
      await bench.pass(20 * minuteMs);
      bench.ask('list_incidents');
      await bench.pass(19 * minuteMs);
      expect(bench.violationsOfStates).toHaveLength(count);
      bench.ask('list_incidents');
      // It is read by itself once more.
      if (count === 0) bench.oracle.judgeAll();
      expect(bench.violationsOfStates).toHaveLength(count);
      await bench.pass(5 * minuteMs);
      expect(bench.violationsOfStates).not.toEqual([]);
    },
  );

  it.each([
    ['water_presence_detected', 1],
    ['low_battery_level', 1],
    ['device_handle_moved', 1],
    ['radio_disconnection', 0],
  ])('reports an offline valve that shows no %s: %i violations', async (type, count) => {
    const bench = new OracleBench();
    bench.announce(`binary_sensor_incident_${type}`);
    bench.simulator.world.changeSonic(bench.sonicId, { radio_connection: 'disconnected' });
    await bench.pass(15 * minuteMs);
    bench.show({ [`incident_${type}`]: 'OFF' });
    expect(bench.violationsOfStates).toHaveLength(count);
  });

  it('reports an offline valve and its property that show no incident', async () => {
    const bench = new OracleBench();
    bench.announce('sensor_open_incidents');
    bench.announceDevice('property', 'binary_sensor_problem', 'sensor_open_incidents');
    bench.simulator.world.changeSonic(bench.sonicId, { radio_connection: 'disconnected' });
    await bench.pass(130 * minuteMs);
    bench.show({ open_incidents: 0 });
    bench.say(`property/${bench.propertyId}/homeassistant`, { problem: 'OFF', open_incidents: 0 });
    expect(bench.violationsOfStates).toHaveLength(3);
  });

  it.each([
    ['with a filter, which cannot select it', ['Willow Cottage'], 0],
    ['without a filter', [], 1],
  ])('judges a property with an offline valve on Wi-Fi, %s', async (_, properties, count) => {
    const bench = new OracleBench({ filters: { properties } });
    const { world } = bench.simulator;
    world.addProperty();
    const { id } = world.addWifiSonic(bench.propertyId);
    world.changeSonic(id, { radio_connection: 'disconnected' });
    bench.announceDevice('property', 'binary_sensor_problem');
    await bench.pass(130 * minuteMs);
    bench.say(`property/${bench.propertyId}/homeassistant`, { problem: 'OFF' });
    expect(bench.violationsOfStates).toHaveLength(count);
  });

  it('reports water of today that the cloud never reported, and accepts the reported one', async () => {
    const bench = new OracleBench();
    bench.announce('sensor_water_today');
    await bench.settle();
    bench.ask('read_daily_usage');
    const today = bench.simulator.world.usage(bench.sonicId).daily.at(-1)?.liters ?? 0;
    bench.show({ water_today: today });
    expect(bench.violations).toEqual([]);
    bench.show({ water_today: today + 1 });
    expect(bench.violations).toHaveLength(1);
  });

  it('reports a total that falls, unless the cloud has reduced the usage', () => {
    const bench = new OracleBench();
    const total = (water: number) => bench.say(`sonic/${bench.sonicId}/usage`, { total: water });
    for (const water of [100, null as never, 101.5]) total(water);
    expect(bench.violations).toEqual([]);
    total(101.4);
    expect(bench.violations).toHaveLength(1);
    const told = (liters: number) =>
      bench.oracle.cloud.answered(
        {
          ...{ origin: '', method: 'GET', target: '/', operation: 'read_daily_usage' },
          ...{ params: { thing_id: bench.sonicId }, body: '', number: 0 },
        },
        { status: 200, headers: {}, text: JSON.stringify({ daily: [{ date: '1969-12-31', liters }] }) },
      );
    for (const liters of [20, 8]) told(liters);
    total(90);
    expect(bench.violations).toHaveLength(1);
  });

  it.each([
    ['a position', '', { valve: 'closed' }],
    ['a link', '', { radio_connection: 'disconnected' }],
    ['a number of incidents', '/incidents', { open_count: 2 }],
    ['a measurement', '/telemetry', { flow_l_min: 999 }],
  ])('reports %s on a raw topic that no valve had', async (_words, path, document) => {
    const bench = new OracleBench();
    bench.announce();
    await bench.settle();
    bench.say(`sonic/${bench.sonicId}${path}`, document);
    expect(bench.violations).toHaveLength(1);
  });

  it('reports a hub that is shown as reachable for too long', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say(`signal/${bench.signalId}/availability`, 'online');
    bench.simulator.world.signals.change(bench.signalId, { cloud_connection: 'disconnected' });
    await bench.pass(14 * minuteMs);
    expect(bench.violations.join()).toContain(`signal/${bench.signalId}/availability`);
  });
});

describe('a leak is heard', () => {
  const sensors = ['binary_sensor_incident_water_presence_detected', 'sensor_open_incidents'] as const;

  it.each([
    ['ON', 'ok', 0],
    ['OFF', 'degraded', 1],
    [null, 'degraded', 0],
    [null, 'ok', 1],
  ])('after the list was read: leak %s, health %s', async (word, status, count) => {
    const bench = new OracleBench();
    bench.announce(...sensors);
    bench.say('bridge/health', { status });
    bench.show({ incident_water_presence_detected: word, open_incidents: null });
    await bench.pass(40 * secondMs);
    bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    await bench.pass(secondMs);
    bench.ask('list_incidents');
    const before = bench.violations.length;
    await bench.pass(66 * secondMs);
    expect(bench.violations.slice(before)).toHaveLength(count);
  });

  it.each([
    ['before health is not ok any more', ['ON', 'ok'], [null, 'ok'], [null, 'degraded'], 0],
    ['after health is ok again', [null, 'degraded'], [null, 'ok'], ['ON', 'ok'], 0],
    ['and nothing follows', [null, 'degraded'], [null, 'ok'], [null, 'ok'], 1],
    ['and a denial follows', ['ON', 'ok'], [null, 'ok'], ['OFF', 'ok'], 1],
    ['as a denial', ['ON', 'ok'], ['OFF', 'degraded'], ['ON', 'ok'], 1],
  ])('although it is checked while the sensor changes, a moment %s', async (_, first, then, last, count) => {
    const bench = new OracleBench();
    const say = ([word, status]: readonly (string | null)[]) => {
      bench.say('bridge/health', { status });
      bench.show({ incident_water_presence_detected: word, open_incidents: null });
    };
    bench.announce(...sensors);
    bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    say(first);
    await bench.pass(40 * secondMs);
    bench.ask('list_incidents');
    await bench.pass(59_990);
    const before = bench.violations.length;
    say(then);
    await bench.pass(20);
    say(last);
    await bench.pass(6 * secondMs);
    expect(bench.violations.slice(before).filter((words) => words.includes(' is open at '))).toHaveLength(
      count,
    );
  });

  it.each([
    [20, 1],
    [2, 0],
  ])(
    'unless a second bridge, which began %i s ago, has just published its first messages',
    async (seconds, count) => {
      const bench = new OracleBench();
      bench.announce(...sensors);
      bench.say('bridge/health', { status: 'ok' });
      bench.show({ incident_water_presence_detected: null, open_incidents: null });
      await bench.pass(40 * secondMs);
      bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
      await bench.pass(secondMs);
      bench.ask('list_incidents');
      await bench.pass((60 - seconds) * secondMs);
      bench.oracle.bridges = 2;
      await bench.pass((seconds + 6) * secondMs);
      expect(bench.violations).toHaveLength(count);
    },
  );

  it.each([
    ['has just moved into a selected property, which the bridge does not know yet', 30, 0],
    ['has been in a selected property for long', 130, 1],
  ])('at a hub that %s', async (_words, minutes, count) => {
    const bench = new OracleBench({ filters: { properties: ['Selected'] } });
    const { simulator } = bench;
    const other = simulator.world.addProperty().id;
    simulator.world.properties.change(bench.propertyId, { name: 'Selected' });
    simulator.world.moveToProperty(bench.signalId, other);
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    await bench.pass(10 * minuteMs);
    simulator.world.moveToProperty(bench.signalId, bench.propertyId);
    await bench.pass(minutes * minuteMs);
    simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    await bench.pass(secondMs);
    bench.ask('list_incidents');
    await bench.pass(66 * secondMs);
    expect(bench.violations.filter((words) => words.includes('is not known'))).toHaveLength(count);
  });

  it.each([
    ['ok', 1, 0],
    ['ok', 0, 1],
    ['ok', null, 1],
    ['degraded', null, 0],
  ])('without discovery: health %s, open incidents %s', async (status, count, found) => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status });
    await bench.pass(40 * secondMs);
    bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    bench.say(`sonic/${bench.sonicId}/incidents`, { open_count: count });
    await bench.pass(secondMs);
    bench.ask('list_incidents');
    const before = bench.violations.length;
    await bench.pass(66 * secondMs);
    expect(bench.violations.slice(before)).toHaveLength(found);
  });

  it('in its property too', async () => {
    const bench = new OracleBench();
    bench.announce(...sensors);
    bench.announceDevice('property', 'binary_sensor_problem');
    bench.show({ incident_water_presence_detected: 'OFF', open_incidents: 0 });
    bench.say(`property/${bench.propertyId}/homeassistant`, { problem: 'OFF' });
    await bench.pass(40 * secondMs);
    bench.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: bench.sonicId });
    bench.show({ incident_water_presence_detected: 'ON', open_incidents: 1 });
    await bench.pass(secondMs);
    bench.ask('list_incidents');
    await bench.pass(66 * secondMs);
    expect(bench.violations).toEqual([expect.stringContaining('binary_sensor_problem shows OFF')]);
  });
});

describe('moved is wanted', () => {
  it('accepts a request with a message of its own', () => {
    const bench = new OracleBench();
    bench.deliver('CLOSE');
    bench.move('close');
    expect(bench.violations).toEqual([]);
  });

  it.each<[string, (bench: OracleBench) => void | Promise<void>]>([
    ['nobody asked for', () => {}],
    ['an empty message asked for', (bench) => bench.deliver('')],
    ['a retained message asked for', (bench) => bench.deliver('CLOSE', { isFlagged: true })],
    ['a stored message asked for', (bench) => bench.deliver('CLOSE', { ageMs: null })],
    ['was asked for in the other direction', (bench) => bench.deliver('OPEN')],
    ['was asked for too long ago', (bench) => bench.deliver('CLOSE', { ageMs: 11 * secondMs })],
    [
      'a newer command has replaced',
      async (bench) => {
        bench.deliver('CLOSE');
        await bench.pass(secondMs);
        bench.deliver('OPEN');
        await bench.pass(secondMs);
      },
    ],
    [
      'was sent before',
      (bench) => {
        bench.deliver('CLOSE');
        bench.move('close');
      },
    ],
  ])('reports a request that %s', async (_, prepare) => {
    const bench = new OracleBench();
    await prepare(bench);
    bench.move('close');
    expect(bench.violations).toHaveLength(1);
  });
});

describe('what is shown of commands and movements is true', () => {
  const movement = { valve: 'closed', at: '1970-01-01T00:00:00.000Z', topic: null, incident_id: null };

  it.each([
    ['movement', { ...movement, by: 'command', topic: 'sonic2mqtt/sonic/x/valve/set' }],
    ['movement', { ...movement, by: 'by_hand', incident_id: 'none' }],
    ['movement', { ...movement, by: 'automatic_shut_off', incident_id: 'none' }],
    ['last_command', { action: 'close', status: 'confirmed', failed: null }],
  ])('reports a false %s: %o', (path, document) => {
    const bench = new OracleBench();
    bench.announce();
    bench.say(`sonic/${bench.sonicId}/${path}`, document);
    expect(bench.violations).toHaveLength(1);
  });

  it('reports a command that is under way forever', async () => {
    const bench = new OracleBench();
    bench.announce();
    await bench.pass(minuteMs);
    bench.say(`sonic/${bench.sonicId}/last_command`, { action: 'close', status: 'sent', failed: null });
    await bench.pass(10 * minuteMs);
    expect(bench.violations.filter((words) => words.includes('still under way'))).toHaveLength(1);
  });
});

describe('health is true', () => {
  const listsEvery = async (
    bench: OracleBench,
    ms: number,
    lists: readonly ('list_incidents' | 'list_sonics')[],
  ) => {
    for (let passed = 0; passed < ms; passed += 30 * secondMs) {
      for (const list of lists) bench.ask(list);
      await bench.pass(30 * secondMs);
    }
  };

  it('may be ok while the lists are read and the broker accepts everything', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    await listsEvery(bench, 20 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(bench.violations).toEqual([]);
  });

  it('is not ok while a list is not read', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    await listsEvery(bench, 20 * minuteMs, ['list_sonics']);
    expect(bench.violations.some((words) => words.startsWith('health is ok although list_incidents'))).toBe(
      true,
    );
    expect(bench.violations.some((words) => words.startsWith('list_incidents was not asked for'))).toBe(true);
  });

  it('is not ok while the broker refuses a message', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    bench.oracle.broker.refused?.(`sonic2mqtt/sonic/${bench.sonicId}`, true, '{}');
    await listsEvery(bench, 4 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(bench.violations).toHaveLength(1);
  });

  it('is not ok while no measurement is read', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    for (let minute = 0; minute < 12; minute++) {
      bench.ask('read_telemetry', '', 500);
      await listsEvery(bench, minuteMs, ['list_incidents', 'list_sonics']);
    }
    expect(bench.violations).toEqual([expect.stringContaining('no measurement was read')]);
  });

  it('is not ok while another bridge announces all devices', async () => {
    const bench = new OracleBench();
    bench.announce();
    bench.say('bridge/health', { status: 'ok' });
    bench.say(`sonic/${bench.sonicId}`, {});
    bench.say(`homeassistant/device/sonic2mqtt_${bench.sonicId}/config`, {
      availability: [{ topic: 'trial/bridge/state' }],
      state_topic: `trial/sonic/${bench.sonicId}/homeassistant`,
      components: { valve_valve: { platform: 'valve', value_template: '{{ value_json.valve }}' } },
    });
    await listsEvery(bench, 5 * minuteMs, ['list_incidents', 'list_sonics']);
    expect(bench.violations).toHaveLength(1);
  });
});
