import { expect, it, onTestFinished } from 'vitest';
import { inWords } from '../../src/homeassistant/sentences.ts';
import type { Sentence } from '../../src/texts/texts.ts';
import type { Strike } from '../simulation/virtualCloud.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { waitFor } from '../support/waitFor.ts';
import { Home, minuteMs, secondMs } from './home.ts';

// One truth on every screen: a home is brought into a situation, and all that it shows is compared, sentence by sentence.

type Act = (home: Home) => void | Promise<void>;

const wait =
  (ms: number): Act =>
  (home) =>
    home.pass(ms);
const alert =
  (type: string): Act =>
  ({ world, sonicId }) =>
    void world.openIncident({ type, sonicId });
const stand =
  (state: string): Act =>
  ({ world, sonicId }) =>
    world.setValve(sonicId, state);
const publish =
  (path: (home: Home) => string, payload: string): Act =>
  (home) =>
    home.broker.publish(`sonic2mqtt/${path(home)}`, payload, false);
const ask = (payload: string) => publish(({ sonicId }) => `sonic/${sonicId}/valve/set`, payload);
const pause = publish(({ propertyId }) => `property/${propertyId}/pause/set`, '60');
const refresh = publish(() => 'bridge/refresh', 'now');
const fail =
  (fault: ReturnType<Strike>, operation?: string): Act =>
  (home) => {
    home.strike = (request) => (operation === undefined || request.operation === operation ? fault : null);
  };
const json = { 'content-type': 'application/json' };
const frozen = { status: 422, headers: json, text: '{"error":"The valve is frozen"}' };
const forbidden = { status: 403, headers: json, text: '{}' };

const leak = [alert('water_presence_detected'), wait(minuteMs)];
const low = [alert('low_battery_level'), wait(minuteMs)];
const outage = [fail('refused'), wait(minuteMs + 5 * secondMs)];
const paused = [pause, wait(5 * secondMs)];
/** The hub is offline, and was read once since. */
const hubOnce: Act[] = [
  ({ world, signalId }) => world.signals.change(signalId, { cloud_connection: 'disconnected' }),
  async (home) => {
    const before = home.asked('list_signals').length;
    await home.until(() => home.asked('list_signals').length > before, 'a reading of the hub');
    await home.pass(2 * secondMs);
  },
];
const hubOffline = [...hubOnce, wait(32 * secondMs)];
const radioOffline: Act[] = [({ world, sonicId }) => world.dropRadio(sonicId), wait(3 * minuteMs)];
const faulty = [stand('faulty'), wait(2 * minuteMs)];
/** The cloud says for ever that the valve is closing. */
const jammed: Act[] = [
  ask('CLOSE'),
  wait(secondMs),
  ({ world, sonicId }) => world.valve(sonicId)?.stop(),
  wait(2 * minuteMs),
];
const refused = [fail(frozen, 'command_valve'), ask('CLOSE'), wait(5 * secondMs)];
const unconnected = [fail('refused', 'command_valve'), ask('CLOSE'), wait(15 * secondMs)];
const byHand = [alert('device_handle_moved'), stand('closed'), wait(2 * minuteMs)];
const byShutOff = [alert('high_volume_alert'), stand('closed'), wait(2 * minuteMs)];
const closed = [stand('closed'), wait(2 * minuteMs)];
const testing = [stand('pressure_test'), wait(2 * minuteMs)];
const otherClosed: Act[] = [
  ({ world }) => world.setValve(world.thingIds[1] ?? '', 'closed'),
  wait(2 * minuteMs),
];

const pauseSaid = 'Willow Cottage: automatic shut-off paused until 10:02.';
const faultSaid =
  'warning: Kitchen: the valve reports a fault. A valve with a fault may not move: then close it by hand. Check its power. If this repeats, contact the vendor.';
const failureSaid = 'The command to close Kitchen failed.';
const frozenSaid = 'the cloud answered 422 (the values are not accepted): The valve is frozen.';
const waterSaid = 'It is not known whether the water is on. Valves can only be closed by hand.';

/** Each with the tone of the page and the sentences that page and summary share. The times are UTC. */
const situations: [name: string, acts: readonly Act[], shown: string, sonics?: number][] = [
  ['all is well', [], 'good: All good. No leaks, water on.'],
  ['the valve is closed', closed, 'good: All good. No leaks, water off.'],
  ['a leak', leak, 'alarm: Leak at Kitchen, since 09:02. Water is on.'],
  [
    'a leak, and the valve is closed',
    [...leak, ...closed],
    'alarm: Leak at Kitchen, since 09:02. Water is off.',
  ],
  [
    'a leak, and a refused command',
    [...leak, ...refused],
    'alarm: Leak at Kitchen, since 09:02. Its valve did not close: close it by hand.',
  ],
  [
    'a leak, and the valve is jammed',
    [...leak, ...jammed],
    'alarm: Leak at Kitchen, since 09:02. Its valve did not close: close it by hand.',
  ],
  [
    'a leak, and the hub is offline',
    [...leak, ...hubOffline],
    'alarm: Leak at Kitchen, since 09:02. Its valve is offline: it can only be closed by hand.',
  ],
  [
    'a leak during a pause',
    [...paused, ...leak],
    `alarm: Leak at Kitchen, since 09:02. Water is on. ${pauseSaid}`,
  ],
  [
    'a leak before an outage',
    [...leak, ...outage],
    `alarm: Leak at Kitchen, since 09:02. No connection to the cloud. The data is from 09:02. ${waterSaid}`,
  ],
  ['a faulty valve', faulty, faultSaid],
  ['a faulty valve after a refused command', [...refused, ...faulty], `${faultSaid} ${failureSaid}`],
  ['the hub was read offline once', hubOnce, 'warning: Kitchen does not answer. Checking again.'],
  [
    'the hub is offline',
    hubOffline,
    'warning: Kitchen is offline: the valve can only be closed by hand. Not all alerts could be read.',
  ],
  [
    'the hub is offline during a pause',
    [...paused, ...hubOffline],
    `warning: Kitchen is offline: the valve can only be closed by hand. Not all alerts could be read. ${pauseSaid}`,
  ],
  [
    'the hub is offline after a refused command',
    [...refused, ...hubOffline],
    `warning: Kitchen is offline: the valve can only be closed by hand. ${failureSaid} Not all alerts could be read.`,
  ],
  [
    'the valve is offline',
    radioOffline,
    'warning: Connection to hub lost at Kitchen, since 09:02. Its valve is offline: it can only be closed by hand.',
  ],
  ['a low battery', low, 'notice: Low battery reported at Kitchen, since 09:02. Water is on.'],
  [
    'a low battery, and a refused command',
    [...low, ...refused],
    `warning: ${failureSaid} You asked at 09:03. The valve was not moved: ${frozenSaid} One more alert.`,
  ],
  [
    'an outage of a minute',
    outage,
    `unknown: No connection to the cloud. The data is from 09:01. ${waterSaid}`,
  ],
  [
    'an outage of six minutes',
    [...outage, wait(5 * minuteMs)],
    `unknown: No connection to the cloud. The data is from 09:01. ${waterSaid}`,
  ],
  [
    'an outage during a pause',
    [...paused, ...outage],
    `unknown: No connection to the cloud. The data is from 09:02. ${waterSaid} ${pauseSaid}`,
  ],
  [
    'an outage after a refused command',
    [...refused, ...outage],
    `unknown: No connection to the cloud. The data is from 09:02. ${waterSaid} ${failureSaid}`,
  ],
  [
    'the sign-in is rejected',
    [fail('denied'), wait(2 * minuteMs)],
    `unknown: The cloud rejects the sign-in. The data is from 09:01. ${waterSaid}`,
  ],
  ['a pause', paused, `notice: No leaks, water on. ${pauseSaid}`],
  [
    'the shut-off is off',
    [
      ({ world, propertyId }) => world.settings.change(propertyId, { auto_shut_off: false }),
      refresh,
      wait(minuteMs),
    ],
    'good: All good. No leaks, water on.',
  ],
  ['a command', [ask('CLOSE'), wait(2 * secondMs)], 'moving: Kitchen is closing.'],
  [
    'a jammed valve',
    jammed,
    'warning: Kitchen did not close. You asked at 09:02, the cloud did not confirm it within 90 s. Look at the valve, it may have moved. Check its battery or its power supply.',
  ],
  [
    'a refused command',
    refused,
    `warning: ${failureSaid} You asked at 09:02. The valve was not moved: ${frozenSaid}`,
  ],
  [
    'a command that the cloud may have carried out',
    [fail('error-503', 'command_valve'), ask('CLOSE'), wait(15 * secondMs)],
    `warning: ${failureSaid} You asked at 09:02. Reason: the cloud answered 503 (server error). Look at the valve, it may have moved.`,
  ],
  [
    'a command without a connection',
    unconnected,
    `warning: ${failureSaid} You asked at 09:02. The valve was not moved: connection refused by cloud.example.com.`,
  ],
  [
    'a refused command, and the valve was closed by hand',
    [...refused, ...byHand],
    'warning: Handle moved at Kitchen, at 09:02. Water is off.',
  ],
  ['the valve was closed by hand', byHand, 'warning: Handle moved at Kitchen, at 09:02. Water is off.'],
  [
    'the valve was closed by the shut-off',
    byShutOff,
    'alarm: High water use at Kitchen, since 09:02. Water is off.',
  ],
  ['a pressure test', testing, 'moving: Kitchen: a pressure test is running.'],
  [
    'a word that nobody knows',
    [stand('half_open'), wait(2 * minuteMs)],
    'unknown: Kitchen: the position of the valve is not known.',
  ],
  [
    'the alerts cannot be read',
    [fail('error-500', 'list_incidents'), wait(6 * minuteMs)],
    'unknown: Not all alerts could be read. sonic2mqtt reports a problem.',
  ],
  [
    'the valves cannot be read',
    [fail('error-500', 'list_sonics'), wait(7 * minuteMs)],
    `unknown: No new data from the cloud. The data is from 09:01. ${waterSaid}`,
  ],
  [
    'the settings are refused',
    [fail(forbidden, 'read_property_settings'), refresh, wait(minuteMs)],
    'warning: No leaks, water on. sonic2mqtt reports a problem.',
  ],
  ['one of two is closed', otherClosed, 'good: All good. No leaks, Bathroom is closed.', 2],
  [
    'a leak at one of two',
    [...otherClosed, ...leak],
    'alarm: Leak at Kitchen, since 09:04. Its valve is open.',
    2,
  ],
  [
    'one of two is jammed',
    jammed,
    'warning: Kitchen did not close. You asked at 09:02, the cloud did not confirm it within 90 s. Look at the valve, it may have moved. Check its battery or its power supply.',
    2,
  ],
  [
    'one of two is faulty, and both are offline',
    [...faulty, ...hubOffline],
    'warning: Hub Hallway hub is offline: its 2 valves cannot report a leak, and can only be closed by hand. Not all alerts could be read.',
    2,
  ],
];

/** Starts a home without an alert, with the shut-off on and a status page. */
async function aHome(sonics: number) {
  const home = new Home({ cloud: { sonics }, config: { http: { listen: '127.0.0.1:0' } } });
  for (const { id } of home.world.incidents.values()) home.world.closeIncident(id);
  for (const id of home.world.thingIds) home.world.setValve(id, 'open');
  home.world.settings.change(home.propertyId, { auto_shut_off: true });
  await home.start();
  onTestFinished(() => home.bridge.kill());
  // The listener is a real one, and takes real time.
  const url = await waitFor(
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(home.lines.map(({ text }) => text).join('\n'))?.[0],
    { what: 'the listener' },
  );
  await home.pass(minuteMs);
  return { home, url };
}

it.each<[string, readonly Act[], string, number?]>(situations)(
  'all screens say the same in this situation: %s',
  async (_, acts, golden, sonics = 1) => {
    const { home, url } = await aHome(sonics);
    for (const act of acts) await act(home);
    const { status } = JSON.parse((await httpRequest(`${url}/status.json`)).text);
    const { tone, sentences, details } = status.headline;
    const wording = { language: 'en', now: home.world.now, timezone: 'UTC' } as const;
    const shared = [...sentences, ...details].filter(
      ({ text }: Sentence) => text !== 'used_today' && text !== 'see_below',
    );
    const said = inWords(shared, { ...wording, bridge: status }, 255);
    expect(`${tone}: ${said}`).toBe(golden);

    const summary = home.entity(home.propertyId, 'sensor_summary');
    expect(summary.state, 'the summary').toBe(said);
    const isCloudShown = home.text('bridge/cloud') === 'online';
    expect(summary.isAvailable, 'whether the summary is available').toBe(isCloudShown);
    const [{ sonics: rows, hubs, shutOff }] = status.properties;
    const row = rows.find(({ name }: { name: string }) => name === home.world.sonics.get(home.sonicId)?.name);
    const entity = (id: string) => home.entity(home.sonicId, id);
    const [valve, problem, alerts, failed] = [
      'valve_valve',
      'binary_sensor_valve_problem',
      'binary_sensor_alert',
      'binary_sensor_command_failed',
    ].map(entity);
    const isDoubted = row.doubt !== null;
    // What is doubted in one is doubted in all.
    if (!valve?.isAvailable) expect(isDoubted, 'the valve on the page').toBe(true);
    if (isDoubted) expect(said).not.toMatch(/Water is o|Its valve is (open|closed)|No leaks/);
    else expect(valve?.state, 'the valve').toBe(row.valve);
    if (isDoubted || row.valve === null) expect(tone).not.toBe('good');
    expect(alerts?.state === 'ON', 'the alert').toBe(row.alerts.length > 0);
    if (alerts?.state === null) expect(said).toMatch(/Not all alerts could be read|does not answer/);
    expect(failed, 'the failed command').toMatchObject({
      state: row.failed ? 'ON' : 'OFF',
      isAvailable: true,
    });
    const { failed: words } = home.json(`sonic/${home.sonicId}/last_command`);
    const [failure = null] = /^[^.]+\./.exec(words?.text ?? '') ?? [];
    // At an alert, the sentence about its valve says it.
    if (failure !== null && !said.includes('Its valve did not close: ')) expect(said).toContain(failure);
    expect(problem?.state === 'ON', 'the problem').toBe(row.word === 'faulty');
    if (hubs[0].link === 'disconnected') expect(isDoubted, 'the valve of a hub that is offline').toBe(true);
    const until = home.entity(home.propertyId, 'sensor_paused_until').state;
    expect(shutOff?.text === 'shut_off_paused', 'the pause').toBe(
      until !== null && status.cloud.status === 'up',
    );
    if (until !== null) expect(said).toContain('automatic shut-off paused until 10:');
    const health = home.json('bridge/health');
    if (health.status !== 'ok') expect(tone).not.toBe('good');
    const warnings = home.linesFrom(0).filter((line) => line.startsWith('warn: '));
    if (health.status !== 'ok' || failure !== null) expect(warnings).not.toEqual([]);
    const ready = await httpRequest(`${url}/readyz`);
    const isStale = home.text('bridge/cloud') !== 'online';
    if (isStale) expect([ready.status, status.cloud.status]).toEqual([503, 'down']);
  },
);
