import { describe, expect, it } from 'vitest';
import type { Strike } from '../simulation/virtualCloud.ts';
import { Home, hourMs, minuteMs, secondMs, startedHome } from './home.ts';

// What an earlier run has left on the broker is not the present. It is offline, or unknown, until this run has read it.

/** A home in which a valve is open and dry, all of it shown, and then the bridge stops. */
async function stoppedHome(config: ConstructorParameters<typeof Home>[0] = {}): Promise<Home> {
  const home = new Home(config);
  for (const { id } of home.world.incidents.values()) home.world.closeIncident(id);
  home.world.setValve(home.sonicId, 'open');
  await home.start();
  await home.pass(3 * minuteMs);
  expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });
  expect(home.entity(home.sonicId, leak)).toMatchObject({ state: 'OFF', isAvailable: true });
  expect(home.json(`sonic/${home.sonicId}/telemetry`).probed_at).not.toBeNull();
  expect(home.json(`sonic/${home.sonicId}/usage`).today).not.toBeNull();
  await home.stop();
  return home;
}

const leak = 'binary_sensor_incident_water_presence_detected';

const everything = [
  'binary_sensor_problem',
  'sensor_open_incidents',
  'switch_auto_shut_off',
  'switch_active',
  'binary_sensor_cloud_connection',
  'sensor_wifi_rssi',
  'valve_valve',
  leak,
  'binary_sensor_radio_connection',
  'sensor_water_today',
  'sensor_battery',
];

/** Whether Home Assistant shows this as the present. */
function isShown(home: Home, id: string, component: string): boolean {
  const { isAvailable, state } = home.entity(id, component);
  return isAvailable && state !== null && state !== '';
}

/** What of a property, its hub and its valve is shown as the present. */
function shownOf(home: Home): string[] {
  const { propertyId, signalId, sonicId } = home;
  const wanted: readonly (readonly [id: string, component: string])[] = [
    [propertyId, 'binary_sensor_problem'],
    [propertyId, 'sensor_open_incidents'],
    [propertyId, 'switch_auto_shut_off'],
    [propertyId, 'switch_active'],
    [signalId, 'binary_sensor_cloud_connection'],
    [signalId, 'sensor_wifi_rssi'],
    [sonicId, 'valve_valve'],
    [sonicId, leak],
    [sonicId, 'binary_sensor_radio_connection'],
    [sonicId, 'sensor_water_today'],
    [sonicId, 'sensor_battery'],
  ];
  return wanted.filter(([id, component]) => isShown(home, id, component)).map(([, component]) => component);
}

/** The values below a topic that are not null, but for ids. */
function valuesAt(home: Home, path: string): string[] {
  return Object.entries(home.json(path)).flatMap(([key, value]) =>
    value === null || key === 'id' || (Array.isArray(value) && value.length === 0) ? [] : [key],
  );
}

/** The availability of the hub and the valve. */
function linksOf(home: Home) {
  return [`signal/${home.signalId}`, `sonic/${home.sonicId}`].map((path) =>
    home.text(`${path}/availability`),
  );
}

describe('after a restart', () => {
  it('nothing is available before the bridge is, although the cloud does not answer at all', async () => {
    const home = await stoppedHome();
    const { propertyId, sonicId } = home;
    const total = home.json(`sonic/${sonicId}/usage`).total;
    const restarted = home.time.now;
    home.strike = () => 'hang-before';
    home.bridge.start();
    await home.pass(20 * secondMs);
    expect(linksOf(home)).toEqual(['offline', 'offline']);
    const taken = home.messages
      .filter(({ at }) => at >= restarted)
      .map(({ topic, payload }) => [topic, payload]);
    const firstOnline = taken.findIndex(
      ([topic, payload]) => topic === 'sonic2mqtt/bridge/state' && payload === 'online',
    );
    const offline = taken.findIndex(([topic]) => topic === `sonic2mqtt/sonic/${sonicId}/availability`);
    expect(offline).toBeGreaterThanOrEqual(0);
    expect(firstOnline).toBeGreaterThan(offline);
    expect(shownOf(home)).toEqual([]);
    expect(valuesAt(home, `property/${propertyId}`)).toEqual([]);
    expect(valuesAt(home, `property/${propertyId}/settings`)).toEqual([]);
    expect(valuesAt(home, `property/${propertyId}/notifications`)).toEqual([]);
    expect(valuesAt(home, `sonic/${sonicId}/telemetry`)).toEqual([]);
    // The sum stands.
    expect(home.json(`sonic/${sonicId}/usage`)).toMatchObject({
      today: null,
      yesterday: null,
      month: null,
      total,
    });
    // What may be there stays in Home Assistant.
    expect(home.discovery(sonicId)).not.toBeNull();
    home.strike = () => null;
    await home.pass(2 * minuteMs);
    expect(shownOf(home)).toEqual(everything);
  });

  it('a property that was renamed under its filter is not shown as it was', async () => {
    const config = { filters: { properties: ['My house'] } };
    const home = new Home({ cloud: { properties: 1, sonics: 2 }, config });
    const [, second = ''] = home.world.sonics.ids;
    home.world.properties.change(home.propertyId, { name: 'My house' });
    home.world.setValve(home.sonicId, 'open');
    const { id: lasting } = home.world.openIncident({ type: 'legionella_risk', sonicId: home.sonicId });
    const { id: passing } = home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
    await home.start();
    await home.pass(3 * minuteMs);
    expect(shownOf(home)).toEqual(everything);
    await home.stop();
    home.world.properties.change(home.propertyId, { name: 'Our house' });
    home.world.setValve(home.sonicId, 'closed');
    home.world.openIncident({ type: 'water_presence_detected', sonicId: home.sonicId });
    await home.start();
    expect(shownOf(home)).toEqual([]);
    expect(linksOf(home)).toEqual(['offline', 'offline']);
    await home.pass(2 * hourMs);
    home.world.closeIncident(passing);
    home.world.removeSonic(second);
    await home.pass(3 * minuteMs);
    expect([home.discovery(second), home.text(`sonic/${second}`)]).toEqual([null, undefined]);
    expect([lasting, passing].map((id) => home.text(`incident/${id}`) !== undefined)).toEqual([true, false]);
    expect(shownOf(home)).toEqual([]);
    // Once the name is corrected everything is as it was.
    expect(home.discovery(home.sonicId)).not.toBeNull();
    expect(home.json('bridge/health').reason).toMatch(/filters\.properties matches no property/);
    await home.stop();
    await home.startWith({ filters: { properties: ['Our house'] } });
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'closed', isAvailable: true });
    expect(home.entity(home.sonicId, leak)).toMatchObject({ state: 'ON', isAvailable: true });
  });

  it('what the filter no longer selects is offline before it is removed', async () => {
    const home = await stoppedHome({ cloud: { properties: 2, signals: 2, sonics: 2 } });
    const [, other = ''] = home.world.properties.ids;
    const restarted = home.time.now;
    await home.startWith({ filters: { properties: [other] } });
    await home.pass(3 * minuteMs);
    const said = home
      .published(`sonic/${home.sonicId}/availability`)
      .filter(({ at }) => at >= restarted)
      .map(({ payload }) => payload);
    expect(said).toEqual(['offline', '']);
    expect(home.discovery(home.sonicId)).toBeNull();
    expect(home.linesFrom(restarted).filter((line) => line.includes('Deleted'))).toEqual([
      expect.stringMatching(
        /^info: Deleted \d+ retained messages of removed devices, or of properties outside filters\.properties$/,
      ),
    ]);
  });

  const second: Strike = ({ operation, target }) =>
    operation === 'list_sonics' && /page=2/.test(target) ? 'error-500' : null;
  const each =
    (wanted: string): Strike =>
    ({ operation }) =>
      operation === wanted ? 'error-500' : null;

  it('the valves of a page that fails are offline, and their leaks unknown, at their property too', async () => {
    const home = new Home({ cloud: { sonics: 6, signals: 1, pageSize: 3 } });
    for (const id of home.world.incidents.ids) home.world.closeIncident(id);
    await home.start();
    await home.pass(4 * minuteMs);
    const ids = home.world.sonics.ids;
    expect(ids.filter((id) => isShown(home, id, 'valve_valve')).length).toBe(6);
    await home.stop();
    home.strike = second;
    await home.start();
    await home.pass(minuteMs);
    const pages = home.asked('list_sonics').filter(({ target }) => /page=2/.test(target));
    expect(pages.at(-1)?.status).not.toBe(200);
    const online = ids.filter((id) => home.text(`sonic/${id}/availability`) === 'online');
    expect(online.length).toBeGreaterThan(0);
    expect(online.length).toBeLessThan(6);
    for (const id of ids) expect(isShown(home, id, leak)).toBe(online.includes(id));
    const problem = () => home.entity(home.propertyId, 'binary_sensor_problem').state;
    expect(problem()).toBeNull();
    home.strike = () => null;
    await home.pass(2 * minuteMs);
    expect(problem()).toBe('OFF');
    expect(ids.filter((id) => isShown(home, id, 'valve_valve')).length).toBe(6);
  });

  it.each([
    [
      'list_properties',
      ['binary_sensor_problem', 'sensor_open_incidents', 'switch_auto_shut_off', 'switch_active'],
    ],
    ['list_property_signals', ['binary_sensor_problem', 'sensor_open_incidents']],
    ['read_property_settings', ['switch_auto_shut_off']],
    [
      'list_signals',
      [
        ...['binary_sensor_cloud_connection', 'sensor_wifi_rssi', 'valve_valve', 'sensor_flow'],
        ...['sensor_water_today', 'sensor_battery'],
      ],
    ],
    ['read_telemetry', ['sensor_flow']],
    ['read_daily_usage', ['sensor_water_today']],
    ['list_incidents', ['binary_sensor_problem', 'sensor_open_incidents', leak]],
  ] as const)('and a list that fails (%s) nothing is shown that it tells of', async (operation, hidden) => {
    const home = await stoppedHome();
    home.strike = each(operation);
    await home.start();
    await home.pass(minuteMs);
    expect(home.asked(operation).at(-1)?.status).not.toBe(200);
    const all = [...shownOf(home), ...(isShown(home, home.sonicId, 'sensor_flow') ? ['sensor_flow'] : [])];
    for (const component of hidden) expect(all).not.toContain(component);
    home.strike = () => null;
    await home.pass(10 * minuteMs);
    expect(shownOf(home)).toEqual(everything);
  });
});

describe('in a run', () => {
  it('what was read too long ago of a property is unknown', async () => {
    const home = await startedHome({ config: { schedules: { properties: '10m' } } });
    await home.pass(2 * minuteMs);
    expect(isShown(home, home.propertyId, 'switch_active')).toBe(true);
    home.strike = ({ operation }) => (operation === 'list_properties' ? 'error-500' : null);
    await home.pass(40 * minuteMs);
    expect(isShown(home, home.propertyId, 'switch_active')).toBe(false);
    expect(valuesAt(home, `property/${home.propertyId}`)).toEqual([]);
    home.strike = () => null;
    await home.pass(20 * minuteMs);
    expect(isShown(home, home.propertyId, 'switch_active')).toBe(true);
  });

  it('a hub that was read too long ago makes its valves unavailable', async () => {
    const home = await startedHome();
    home.strike = ({ operation }) =>
      /^(list_signals|read_signal)$/.test(operation ?? '') ? 'error-500' : null;
    await home.pass(30 * minuteMs);
    expect(linksOf(home)).toEqual(['offline', 'offline']);
    home.strike = () => null;
    await home.pass(10 * minuteMs);
    expect(linksOf(home)).toEqual(['online', 'online']);
  });

  it('a reconnection sets nothing offline that was read', async () => {
    const home = await startedHome();
    await home.pass(3 * minuteMs);
    const from = home.time.now;
    home.broker.cut();
    await home.pass(3 * minuteMs);
    const offline = home.messages.filter(
      ({ at, topic, payload }) => at >= from && /availability$/.test(topic) && payload !== 'online',
    );
    expect(offline).toEqual([]);
    expect(shownOf(home)).toEqual(everything);
  });

  it('a hub is not connected beside its own open incident, and is back with its valves as that closes', async () => {
    const home = new Home();
    const { signalId, sonicId } = home;
    await home.start();
    await home.pass(3 * minuteMs);
    home.world.dropCloud(signalId);
    const incident = 'binary_sensor_incident_cloud_disconnection';
    await home.until(() => home.entity(signalId, incident).state === 'ON', 'the incident');
    expect(home.entity(signalId, 'binary_sensor_cloud_connection').state).not.toBe('ON');
    expect(linksOf(home)).toEqual(['offline', 'offline']);
    await home.pass(5 * secondMs);
    expect(home.entity(signalId, 'binary_sensor_cloud_connection').state).toBe('OFF');
    expect(linksOf(home)).toEqual(['offline', 'offline']);
    await home.pass(10 * minuteMs);
    home.world.connectCloud(signalId);
    await home.until(() => home.entity(signalId, incident).state === 'OFF', 'its end');
    await home.pass(5 * secondMs);
    expect(linksOf(home)).toEqual(['online', 'online']);
    expect(home.entity(sonicId, 'valve_valve').isAvailable).toBe(true);
  });

  it('a hub is believed that is connected by a later reading, although its incident stays open', async () => {
    const home = new Home();
    const { signalId } = home;
    home.world.openIncident({ type: 'cloud_disconnection', signalId });
    home.bridge.start();
    await home.pass(10 * secondMs);
    expect(home.entity(signalId, 'binary_sensor_incident_cloud_disconnection').state).toBe('ON');
    expect(home.entity(signalId, 'binary_sensor_cloud_connection').state).toBe('ON');
    expect(linksOf(home)).toEqual(['online', 'online']);
  });
});
