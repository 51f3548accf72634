import { expect, it } from 'vitest';
import { Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import { startStory } from '../../../src/simulator/story.ts';
import { startCloudWithClient } from '../../support/cloudTestClient.ts';
import { FakeClock } from '../../support/fakeClock.ts';

// What the other tests, which nearly all use the simulator, take for granted or do not need.

const minuteMs = 60_000;

function simulate(options: SimulatorOptions = {}) {
  const clock = new FakeClock();
  return { clock, simulator: new Simulator({ clock, ...options }) };
}

it('a world is the same for the same seed and times, however often it is looked at, and another for another', () => {
  const worldAfter = (seed: number, steps: number) => {
    const { clock, simulator } = simulate({ seed, wifiSonics: 1 });
    for (let step = 0; step < steps; step++) {
      clock.advance((300 / steps) * minuteMs);
      expect(simulator.world.now).toBe(clock.now());
    }
    const { properties, signals, sonics, wifiSonics, incidents, thingIds } = simulator.world;
    const lists = [properties, signals, sonics, wifiSonics, incidents].map((records) => [...records]);
    return [lists, thingIds.map((id) => simulator.world.telemetry(id))];
  };
  expect(worldAfter(7, 1)).toEqual(worldAfter(7, 300));
  expect(worldAfter(8, 1)).not.toEqual(worldAfter(7, 1));
});

it('a world holds exactly as many of each as asked, in turn, with different ids and names', () => {
  const { world } = simulate({ properties: 3, signals: 5, sonics: 37, wifiSonics: 4 }).simulator;
  expect(world.properties.ids.map((id) => world.signalIdsOf(id).length)).toEqual([2, 2, 1]);
  expect(world.signals.ids.map((id) => world.sonicIdsOf(id).length)).toEqual([8, 8, 7, 7, 7]);
  expect(world.properties.ids.map((id) => world.thingIdsOf(id).length)).toEqual([8 + 7 + 2, 8 + 7 + 1, 8]);
  const all = [...world.properties.values(), ...world.signals.values(), ...world.sonics.values()];
  expect(new Set(all.map(({ id }) => id)).size).toBe(3 + 5 + 37);
  expect(new Set(all.map(({ name }) => name)).size).toBe(3 + 5 + 37);
});

it('a world starts with one open incident at its first valve', () => {
  const { incidents, thingIds } = simulate({ signals: 0, wifiSonics: 1 }).simulator.world;
  const incident = { open: true, sonic_id: thingIds[0], type: 'long_flow_alert' };
  expect([...incidents.values()]).toMatchObject([incident]);
});

it('incidents come and go, links drop and return and valves change, but not at the first sonic', () => {
  const { clock, simulator } = simulate({ wifiSonics: 2 });
  const [first = ''] = simulator.world.sonics.ids;
  const seen = new Set<string>();
  for (let minute = 0; minute < 12 * 60; minute++) {
    clock.advance(minuteMs);
    const { incidents, things, thingIds } = simulator.world;
    for (const { type, open } of incidents.values()) seen.add(`${type} ${open}`);
    for (const id of thingIds) seen.add(`valve ${things.get(id)?.valve_state}`);
    expect(things.get(first)).toMatchObject({ radio_connection: 'connected', valve_state: 'open' });
  }
  for (const type of ['radio_disconnection', 'cloud_disconnection', 'device_handle_moved']) {
    expect([...seen]).toEqual(expect.arrayContaining([`${type} true`, `${type} false`, 'valve closed']));
  }
});

it('each valve is tested at the scheduled time of its property, or reports that it was not', () => {
  // 12:00 UTC in winter; the property is in London.
  const { clock, simulator } = simulate({ properties: 1, signals: 1, sonics: 12, wifiSonics: 12 });
  const states = () => [...simulator.world.wifiSonics.values()].map(({ valve_state }) => valve_state);
  clock.advance((14 * 60 + 59) * minuteMs);
  expect(states()).not.toContain('pressure_test');
  clock.advance(2 * minuteMs);
  expect(states()).toEqual(expect.arrayContaining(['pressure_test', 'open']));
  const { world } = simulator;
  for (const id of world.thingIds) {
    const isSkipped = world.openIncidentOf('pressure_test_skipped', id) !== undefined;
    const test = { source: 'schedule', started_at: '2025-01-16T03:00:00.000Z' };
    expect(world.pressureTestsOf(id)).toMatchObject(isSkipped ? [] : [test]);
  }
  clock.advance(4 * minuteMs);
  expect(states()).not.toContain('pressure_test');
  expect([...world.incidents.values()].map(({ type }) => type)).toContain('pressure_test_failed');
});

it('a valve moves in about six seconds, obeys the newest of two commands, and waits for a lost link', () => {
  const { clock, simulator } = simulate({ quiet: true, wifiSonics: 1 });
  const { world } = simulator;
  const [sonicId = ''] = world.sonics.ids;
  const [wifiId = ''] = world.wifiSonics.ids;
  const [signalId = ''] = world.signals.ids;
  /** The states seen while so much time passes, each once in a row. */
  const statesDuring = (ms: number, id = sonicId) => {
    const states: unknown[] = [];
    for (let passed = 0; passed <= ms; passed += 100) {
      const state = simulator.world.things.get(id)?.valve_state;
      if (state !== states.at(-1)) states.push(state);
      clock.advance(100);
    }
    return states;
  };
  world.commandValve(sonicId, 'close');
  expect(statesDuring(3_000)).toEqual(['requested_closed', 'closing']);
  world.commandValve(sonicId, 'open');
  expect(statesDuring(minuteMs)).toEqual(['requested_open', 'open']);
  world.commandValve(sonicId, 'close');
  expect(statesDuring(5_500)).toEqual(['requested_closed', 'closing']);
  expect(statesDuring(minuteMs)).toEqual(['closing', 'closed']);
  world.dropRadio(sonicId);
  world.dropCloud(signalId);
  world.commandValve(sonicId, 'close');
  world.commandValve(sonicId, 'open');
  world.commandValve(wifiId, 'close');
  world.connectRadio(sonicId);
  expect(statesDuring(minuteMs, wifiId)).toEqual(['requested_closed', 'closing', 'closed']);
  expect(statesDuring(minuteMs)).toEqual(['closed']);
  world.connectCloud(signalId);
  expect(statesDuring(minuteMs)).toEqual(['requested_open', 'opening', 'open']);
});

it('the demo is quiet at first, then a tap runs, then the kitchen leaks, until its valve is closed', () => {
  const { clock, simulator } = simulate({ speed: 30, happenings: startStory });
  const [kitchen = ''] = simulator.world.thingIds;
  const shown = (ms: number) => {
    clock.advance(ms);
    const { world } = simulator;
    const flows = world.thingIds.map((id) => (world.telemetry(id)?.water_flow ?? 0) > 0);
    const open = [...world.incidents.values()].filter((incident) => incident.open);
    return [flows, open.map(({ type }) => type)];
  };
  expect(shown(19_000)).toEqual([[false, false, false, false], []]);
  expect(shown(4_000)).toEqual([[false, true, false, false], []]);
  expect(shown(20_000)).toEqual([[true, true, false, false], ['water_presence_detected']]);
  expect(shown(3_600_000)).toEqual([[true, false, false, false], ['water_presence_detected']]);
  simulator.world.commandValve(kitchen, 'close');
  expect(shown(8_000)).toEqual([[false, false, false, false], []]);
  simulator.world.commandValve(kitchen, 'open');
  // The leak is mended, and nothing else ever happens.
  expect(shown(24 * 3_600_000)).toEqual([[false, false, false, false], []]);
});

it('lists are narrowed by what they belong to, by name, by role, by words of the address and by state', async () => {
  const { world, client } = await startCloudWithClient({ wifiSonics: 3 });
  const [cottage = '', flat = ''] = world.properties.ids;
  const [hallway = '', loft = '', garage = ''] = world.signals.ids;
  const [kitchen = '', bathroom = '', , utility = ''] = world.sonics.ids;
  world.roles.set(flat, 'guest');
  const [leak] = world.incidents.ids;
  const dry = world.openIncident({ type: 'low_temperature', sonicId: kitchen }).id;
  world.closeIncident(dry);
  const cold = world.openIncident({ type: 'low_temperature', signalId: loft }).id;
  for (const [path, ids] of [
    ['sonics?name=BATH', [bathroom]],
    ['sonics_wifi?name=barn', [world.wifiSonics.ids[2]]],
    ['properties?membership_role=guest', [flat]],
    ['properties?search=2+example', [flat]],
    ['properties?name=flat', [flat]],
    ['properties?search=nowhere', []],
    [`properties/${cottage}/signals`, [hallway, garage]],
    [`signals/${hallway}/sonics`, [kitchen, utility]],
    ['incidents', [cold, dry, leak]],
    ['incidents?open=true', [cold, leak]],
    ['incidents?open=false', [dry]],
    ['incidents?type=low_temperature&open=true', [cold]],
    [`properties/${flat}/incidents`, [cold]],
  ] as const) {
    const { data } = await client.get(`/ape/v1/${path}`);
    expect([path, data.map(({ id }: { id: string }) => id)]).toEqual([path, ids]);
  }
});

it('an incident does what it offers, and nothing else', async () => {
  const { world, client } = await startCloudWithClient();
  const [id = ''] = world.incidents.ids;
  const act = async (action: string) => {
    const { status } = await client.put(`/ape/v1/incidents/${id}/action`, { action });
    return [status, world.incidents.get(id)?.state, world.incidents.get(id)?.possible_actions];
  };
  const offers = ['resolve', 'dismiss', 'snooze'];
  expect(await act('reopen')).toEqual([422, expect.anything(), offers]);
  expect(await act('resolve')).toEqual([200, 'resolved', ['reopen']]);
  expect(await act('snooze')).toEqual([422, 'resolved', ['reopen']]);
  expect(await act('reopen')).toEqual([200, expect.anything(), offers]);
  expect(await act('snooze')).toEqual([200, expect.anything(), ['resolve', 'dismiss']]);
});

it('a session begins with the right password only, ends with a new token or password, and the eleventh ends the first', async () => {
  const { simulator, client } = await startCloudWithClient();
  const statusOf = async (token: string | null) =>
    (await client.ask('GET', '/ape/v1/sonics', { token })).status;
  expect([(await client.signIn('Demo')).status, await statusOf(client.token)]).toEqual([401, 200]);
  const first = client.token;
  for (let session = 2; session <= 10; session++) await client.signIn();
  expect(await statusOf(first)).toBe(200);
  await client.signIn();
  expect([await statusOf(first), await statusOf(client.token)]).toEqual([401, 200]);
  simulator.expireTokens();
  expect(await statusOf(client.token)).toBe(401);
  // Past its end a token still renews itself, once.
  const refresh = () => client.ask('PUT', '/user-service/auth/refresh_token', { body: {} });
  const { status, text } = await refresh();
  expect([status, await statusOf(JSON.parse(text).token_details), (await refresh()).status]).toEqual([
    200, 200, 401,
  ]);
  simulator.setPassword('new');
  expect(await statusOf(JSON.parse(text).token_details)).toBe(401);
  expect([(await client.signIn()).status, (await client.signIn('new')).status]).toEqual([401, 200]);
});
