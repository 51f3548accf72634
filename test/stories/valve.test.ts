import { describe, expect, it } from 'vitest';
import { operationRow } from '../../src/cloud/operations.ts';
import { runNightlyTests } from '../../src/simulator/pressureTests.ts';
import { between, seededRandom } from '../../src/simulator/random.ts';
import { dayMs, Home, hourMs, leisurely, minuteMs, secondMs, startedHome } from './home.ts';

/** All that the valve was shown as, in order, in its record and in Home Assistant. */
function shownValves(home: Home): (string | null)[] {
  const { sonicId } = home;
  return [`sonic/${sonicId}`, `sonic/${sonicId}/homeassistant`].flatMap((path) =>
    home.published(path).map(({ payload }) => JSON.parse(payload).valve),
  );
}

describe('1: after a scheduled pressure test the water stays off', () => {
  const schedules = { ...leisurely, sonics: '8m', incidents: '1h', telemetry: '6h' };
  const config = { schedules, cloud: { routes: { list_wifi_sonics: null } } };

  it('in two nights of tests the valve is never shown closed, never moved, and open after each', async () => {
    // The clocks change before the second test.
    const home = new Home({
      begins: '2026-03-28T00:00:00Z',
      cloud: { pressureTestMs: 20 * minuteMs },
      config,
    });
    const { world, sonicId } = home;
    world.settings.change(home.propertyId, {
      pressure_tests_enabled: true,
      pressure_tests_schedule: '03:00:00',
      timezone: 'Europe/Berlin',
    });
    runNightlyTests(world, seededRandom(7));
    await home.start();
    for (let night = 1; night <= 2; night++) {
      const dawn = (night - 1) * dayMs + 4 * hourMs;
      if (night === 1) {
        // The bridge starts in the middle of a test, and has not seen what was before.
        await home.pass(2 * hourMs + 2 * minuteMs - (home.time.now % dayMs));
        await home.restart();
        expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve: null, valve_state: 'pressure_test' });
        expect(home.entity(sonicId, 'valve_valve').state).toBeNull();
      }
      if (night === 2) {
        // The cloud is lost in the middle of one, and is back after it.
        await home.stop();
        await home.pass(dayMs - home.time.now);
        await home.start();
        await home.pass(hourMs + 9 * minuteMs - (home.time.now % dayMs));
        expect(home.entity(sonicId, 'binary_sensor_pressure_test_running').state).toBe('ON');
        home.strike = () => 'error-503';
        await home.pass(hourMs);
        home.strike = () => null;
      }
      await home.pass(dawn - home.time.now);
      expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve: 'open', valve_state: 'open' });
      expect(home.entity(sonicId, 'valve_valve').state).toBe('open');
      expect(home.entity(sonicId, 'binary_sensor_pressure_test_running').state).toBe('OFF');
    }
    const states = home.published(`sonic/${sonicId}`).map(({ payload }) => JSON.parse(payload).valve_state);
    const seen = states.filter((state, index) => state === 'pressure_test' && states[index - 1] === 'open');
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(new Set(shownValves(home))).toEqual(new Set(['open', null]));
    expect(home.valveCommands).toEqual([]);
  });

  it('a valve that its owner has closed is shown closed through a test, and is not opened by anybody', async () => {
    const home = new Home({ cloud: { pressureTestMs: 20 * minuteMs }, config });
    const { world, sonicId } = home;
    await home.start();
    world.setValve(sonicId, 'closed');
    await home.pass(10 * minuteMs);
    world.setValve(sonicId, 'pressure_test');
    await home.pass(10 * minuteMs);
    expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve: 'closed', valve_state: 'pressure_test' });
    world.setValve(sonicId, 'closed');
    await home.pass(10 * minuteMs);
    expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve: 'closed', valve_state: 'closed' });
    expect(home.valveCommands).toEqual([]);
  });
});

describe("2: the valve is shown closed when the vendor's cloud is lost, and alarms go off", () => {
  // cloudFaults.test.ts shows that for each kind of outage.
  it('no value changes, all becomes unavailable', async () => {
    const home = await startedHome();
    const isState = (topic: string) => !/\/bridge\/|\/availability$/.test(topic);
    const known = () =>
      [...home.broker.retained]
        .filter(([topic]) => isState(topic))
        // The summary says that there is no connection.
        .map(([topic, payload]) => [topic, payload.replace(/"summary":"[^"]*"/, '')])
        .toSorted();
    const before = known();
    home.strike = () => 'truncated';
    await home.pass(20 * minuteMs);
    expect(known()).toEqual(before);
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: false });
    expect(new Set(shownValves(home))).toEqual(new Set(['open']));
    home.strike = () => null;
    await home.pass(40 * minuteMs);
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });
  });
});

describe('3: the valve is moved in the phone app, and Home Assistant never follows', () => {
  it('it follows within the minute of the schedule, each time', async () => {
    const home = new Home();
    const { sonicId } = home;
    await home.start();
    const random = seededRandom(3);
    for (let move = 0; move < 4; move++) {
      await home.pass(between(random, 60, 900) * secondMs);
      const [action, target] = move % 2 === 0 ? (['close', 'closed'] as const) : (['open', 'open'] as const);
      const movedAt = home.time.now;
      home.world.commandValve(sonicId, action);
      // A minute until it is read, and the six seconds that it moves.
      await home.pass(67 * secondMs);
      expect(home.entity(sonicId, 'valve_valve').state, `move ${move} at ${movedAt}`).toBe(target);
    }
    expect(home.valveCommands).toEqual([]);
  });
});

describe('11: a retained command is replayed at each restart, and something moves', () => {
  it.each([5, 4])('with MQTT %i it is refused each time, which is said with the remedy', async (version) => {
    const home = new Home({ config: { mqtt: { protocol_version: version } } });
    const { sonicId } = home;
    const topic = `sonic2mqtt/sonic/${sonicId}/valve/set`;
    home.broker.retained.set(topic, 'CLOSE');
    home.broker.retained.set(`sonic2mqtt/sonic/${sonicId}/pressure_test/start`, 'PRESS');
    await home.start();
    for (let round = 0; round < 5; round++) {
      await home.restart();
      home.broker.cut();
      await home.pass(minuteMs);
      home.broker.publish('homeassistant/status', 'online', false);
      await home.pass(minuteMs);
    }
    expect(home.valveCommands).toEqual([]);
    expect(home.asked('start_pressure_test')).toEqual([]);
    const outcomes = home.events('command').filter((event) => event['topic'] === topic);
    expect(outcomes.length).toBeGreaterThan(10);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'refused', reason: expect.stringMatching(/retain/) });
    }
    expect(home.lines.map(({ text }) => text).join('\n')).toMatch(/clear/i);
    // As somebody does who follows it.
    home.broker.publish(topic, '', true);
    await home.restart();
    home.broker.publish(topic, 'CLOSE', false);
    await home.pass(minuteMs);
    expect(home.valveCommands).toHaveLength(1);
  });
});

describe('25: water is one tap from "all switches off", and a missing field removes the valve', () => {
  it('the valve is a valve, and nothing else in Home Assistant commands it', async () => {
    const home = await startedHome({ cloud: { wifiSonics: 1 } });
    const commanding: string[] = [];
    for (const [topic, payload] of home.broker.retained) {
      if (!topic.startsWith('homeassistant/')) continue;
      for (const component of Object.values<Record<string, unknown>>(JSON.parse(payload).components)) {
        if (String(component['command_topic']).endsWith('/valve/set')) {
          commanding.push(String(component['platform']));
        }
      }
    }
    expect(commanding).toEqual(['valve', 'valve']);
  });

  it('control of valves can be forbidden: then the entity takes no command, and whatever may move one is refused', async () => {
    const home = new Home({ config: { control: { valves: false } } });
    const { broker, world, sonicId, propertyId } = home;
    const { id } = world.openIncident({ type: 'high_volume_alert', sonicId });
    world.incidents.change(id, { possible_actions: ['close_valve', 'reopen', 'snooze', 'resolve'] });
    await home.start();
    expect(home.discovery(sonicId).components['valve_valve']).not.toHaveProperty('command_topic');
    expect(home.discovery(sonicId).components).not.toHaveProperty('button_pressure_test_start');
    const body = { action: 'close_valve' };
    const ofIncident = { property_id: propertyId, incident_id: id };
    const forbidden: readonly (readonly [path: string, payload: string | object])[] = [
      [`sonic/${sonicId}/valve/set`, 'CLOSE'],
      [`sonic/${sonicId}/pressure_test/start`, 'PRESS'],
      [`sonic/${sonicId}/incidents/action`, 'close_valve'],
      [`property/${propertyId}/incidents/action`, 'Close_Valve'],
      [`incident/${id}/action`, 'close_valve'],
      ['bridge/request/act_on_incident', { params: { incident_id: id }, body }],
      ['bridge/request/act_on_property_incident', { params: ofIncident, body }],
    ];
    for (const [path, payload] of forbidden) {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      broker.publish(`sonic2mqtt/${path}`, text, false);
    }
    await home.pass(minuteMs);
    const reason = 'not permitted: control.valves is off in the configuration';
    // The way there takes some of them longer than others.
    const told = home.events('command').map(({ topic, status, reason }) => [topic, status, reason]);
    expect(told.toSorted()).toEqual(
      forbidden.map(([path]) => [`sonic2mqtt/${path}`, 'refused', reason]).toSorted(),
    );
    expect(home.requests.filter(({ operation }) => operation && operationRow(operation).control)).toEqual([]);
    // What is known to move none is carried out.
    broker.publish(`sonic2mqtt/sonic/${sonicId}/incidents/action`, 'snooze', false);
    await home.pass(minuteMs);
    expect(home.events('command').at(-1)).toMatchObject({ status: 'ok' });
  });

  it('a sonic of which fields are missing keeps all of its entities, which are unknown', async () => {
    const home = new Home();
    const { sonicId, world } = home;
    await home.start();
    // Not those of the limits, which some sonics do not have.
    const entities = Object.keys(home.discovery(sonicId).components).filter(
      (id) => !/auto_shut_off/.test(id),
    );
    const { id, signal_id } = home.world.sonics.get(sonicId) ?? {};
    world.sonics.set(sonicId, { id, signal_id, radio_connection: 'connected' } as never);
    await home.pass(2 * minuteMs);
    expect(Object.keys(home.json(`sonic/${sonicId}`))).toContain('valve_state');
    expect(Object.keys(home.discovery(sonicId).components)).toEqual(expect.arrayContaining(entities));
    expect(home.entity(sonicId, 'valve_valve')).toEqual({
      platform: 'valve',
      state: null,
      isAvailable: true,
    });
    expect(home.entity(sonicId, 'sensor_battery').state).toBeNull();
  });
});

describe('what moves a valve and is no command to it', () => {
  /** The requests that move water, in order. */
  const moves = (home: Home) =>
    home.requests
      .filter(({ operation }) =>
        /^(command_valve|act_on_incident|start_pressure_test)$/.test(operation ?? ''),
      )
      .map(({ operation, body }) => `${operation} ${JSON.parse(body).action ?? ''}`.trim());
  const last = (home: Home) => home.events('command').map(({ status }) => status);

  it('is not sent after a newer command: a pressure test that has waited', async () => {
    const home = await startedHome();
    home.strike = ({ operation }) => (/^(patch|update)_sonic$/.test(operation ?? '') ? 'hang-before' : null);
    const publish = (path: string, payload: string) =>
      home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/${path}`, payload, false);
    publish('name/set', 'Kitchen');
    await home.pass(5 * secondMs);
    publish('pressure_test/start', 'PRESS');
    await home.pass(secondMs);
    publish('valve/set', 'OPEN');
    await home.pass(20 * secondMs);
    expect(moves(home)).toEqual(['command_valve open']);
    expect(last(home)).toContain('superseded');
    // It is sent if it is the newer one.
    home.strike = () => null;
    publish('valve/set', 'OPEN');
    publish('pressure_test/start', 'PRESS');
    await home.pass(20 * secondMs);
    expect(moves(home).at(-1)).toBe('start_pressure_test');
  });

  it.each([
    ['at its topic', (id: string) => [`incident/${id}/action`, 'open_valve']],
    [
      'by a request',
      (id: string) => [
        'bridge/request/act_on_incident',
        JSON.stringify({ params: { incident_id: id }, body: { action: 'open_valve' } }),
      ],
    ],
  ])('is not sent after a newer command: an action of an incident, %s', async (_, wish) => {
    const home = new Home();
    const { id } = home.world.openIncident({ type: 'high_volume_alert', sonicId: home.sonicId });
    home.world.incidents.change(id, { possible_actions: ['resolve', 'snooze', 'open_valve'] });
    await home.start();
    home.strike = ({ operation, body }) =>
      operation === 'read_signal' || body.includes('snooze') ? 'hang-before' : null;
    // What was asked before holds it up: an action of the same incident, and four requests.
    home.broker.publish(`sonic2mqtt/incident/${id}/action`, 'snooze', false);
    const reading = JSON.stringify({ params: { signal_id: home.signalId } });
    for (let count = 0; count < 4; count += 1)
      home.broker.publish('sonic2mqtt/bridge/request/read_signal', reading, false);
    await home.pass(4 * secondMs);
    const [path = '', payload = ''] = wish(id);
    home.broker.publish(`sonic2mqtt/${path}`, payload, false);
    await home.pass(500);
    home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
    await home.pass(30 * secondMs);
    expect(moves(home)).not.toContain('act_on_incident open_valve');
    expect(last(home)).toContain('superseded');
  });
});
