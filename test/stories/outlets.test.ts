import { expect } from 'vitest';
import { inWords } from '../../src/homeassistant/sentences.ts';
import type { Sentence } from '../../src/texts/texts.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Home, minuteMs, secondMs } from './home.ts';
import { tell } from './words.ts';

// One truth on every screen: a home is brought into a situation, and all that it shows is compared, sentence by sentence.

const publish = (home: Home, path: string, payload: string) =>
  home.broker.publish(`sonic2mqtt/${path}`, payload, false);
const close = (home: Home) => publish(home, `sonic/${home.sonicId}/valve/set`, 'CLOSE');

async function alert(home: Home, type: string): Promise<void> {
  home.world.openIncident({ type, sonicId: home.sonicId });
  await home.pass(minuteMs);
}

async function valve(home: Home, state: string): Promise<void> {
  home.world.setValve(home.sonicId, state);
  await home.pass(2 * minuteMs);
}

/** The hub is offline, and was read once since. */
async function hubOnce(home: Home): Promise<void> {
  home.world.signals.change(home.signalId, { cloud_connection: 'disconnected' });
  const before = home.asked('list_signals').length;
  await home.until(() => home.asked('list_signals').length > before, 'a reading of the hub');
  await home.pass(2 * secondMs);
}

/** The address of the page. The listener is a real one, and takes real time. */
const listens = (home: Home) =>
  waitFor(() => /http:\/\/127\.0\.0\.1:\d+/.exec(home.lines.map(({ text }) => text).join('\n'))?.[0], {
    what: 'the listener',
  });

/** What page and summary say, and with which tone, once all else that is shown agrees with it. */
async function screens(home: Home): Promise<string> {
  const url = await listens(home);
  const { status } = JSON.parse((await httpRequest(`${url}/status.json`)).text);
  const ready = await httpRequest(`${url}/readyz`);
  const { tone, sentences, details } = status.headline;
  const wording = { language: 'en', now: home.world.now, timezone: 'UTC' } as const;
  const shared = [...sentences, ...details]
    .filter(({ text }: Sentence) => text !== 'used_today')
    .map((each: Sentence): Sentence => (each.text === 'see_below' ? { text: 'see_health' } : each));
  const said = inWords(shared, { ...wording, bridge: status }, 255);
  const summary = home.entity(home.propertyId, 'sensor_summary');
  expect(summary.state, 'the summary').toBe(said);
  const isCloudShown = home.text('bridge/cloud') === 'online';
  expect(summary.isAvailable, 'whether the summary is available').toBe(isCloudShown);
  const [{ sonics: rows, hubs, shutOff, areAlertsFresh }] = status.properties;
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
  const isUnavailable = ['old', 'unreachable', 'hub_unread'].includes(row.doubt);
  if (status.cloud.status === 'up')
    expect(valve?.isAvailable, 'whether the valve is available').toBe(!isUnavailable);
  if (isDoubted) expect(said).not.toMatch(/Water is o|Its valve is (open|closed)|No leaks/);
  else expect(valve?.state, 'the valve').toBe(row.valve);
  if (isDoubted || row.valve === null) expect(tone).not.toBe('good');
  expect(alerts?.state === 'ON', 'the alert').toBe(row.alerts.length > 0);
  if (alerts?.state === null)
    expect(said).toMatch(/Not all alerts could be read|does not answer|cannot report a leak/);
  const areAlertsTold = status.cloud.status === 'up' && !said.includes('Not all alerts could be read');
  expect(areAlertsFresh, 'whether the alerts were read').toBe(areAlertsTold);
  expect(failed, 'the failed command').toMatchObject({
    state: row.failed ? 'ON' : 'OFF',
    isAvailable: true,
  });
  const { failed: words } = home.json(`sonic/${home.sonicId}/last_command`);
  const [failure = null] = /^[^.]+\./.exec(words?.text ?? '') ?? [];
  // At an alert, the sentence about its valve says it.
  if (failure !== null && !said.includes('Its valve did not close: ')) expect(said).toContain(failure);
  const leak = row.alerts.find(({ type }: { type: string }) => type === 'water_presence_detected');
  if (leak) expect(said.includes('by hand'), 'by hand').toBe(/by_hand|watch_only/.test(leak.advice));
  expect(problem?.state === 'ON', 'the problem').toBe(row.word === 'faulty');
  if (hubs[0]?.link === 'disconnected') expect(isDoubted, 'the valve of a hub that is offline').toBe(true);
  const until = home.entity(home.propertyId, 'sensor_paused_until').state;
  expect(shutOff?.text === 'shut_off_paused', 'the pause').toBe(
    until !== null && status.cloud.status === 'up',
  );
  if (until !== null) expect(said).toContain('automatic shut-off paused until 10:');
  const health = home.json('bridge/health');
  if (health.status !== 'ok') expect(tone).not.toBe('good');
  const warnings = home.linesFrom(0).filter((line) => line.startsWith('warn: '));
  if (health.status !== 'ok' || failure !== null) expect(warnings).not.toEqual([]);
  const isStale = home.text('bridge/cloud') !== 'online';
  if (isStale) expect([ready.status, status.cloud.status]).toEqual([503, 'down']);
  home.bridge.kill();
  return `${tone}: ${said}`;
}

tell(import.meta.url, {
  leak: (home) => alert(home, 'water_presence_detected'),
  low: (home) => alert(home, 'low_battery_level'),
  closed: (home) => valve(home, 'closed'),
  faulty: (home) => valve(home, 'faulty'),
  outage: async (home) => {
    home.strike = () => 'refused';
    await home.pass(minuteMs + 5 * secondMs);
  },
  paused: async (home) => {
    publish(home, `property/${home.propertyId}/pause/set`, '60');
    await home.pass(5 * secondMs);
  },
  'hub-once': hubOnce,
  'hub-gone': async (home) => {
    home.world.signals.delete(home.signalId);
    await home.pass(11 * minuteMs);
  },
  'hub-offline': async (home) => {
    await hubOnce(home);
    await home.pass(32 * secondMs);
  },
  /** The cloud says for ever that the valve is closing. */
  jammed: async (home) => {
    close(home);
    await home.pass(secondMs);
    home.world.valve(home.sonicId)?.stop();
    await home.pass(2 * minuteMs);
  },
  refused: async (home) => {
    const headers = { 'content-type': 'application/json' };
    home.strike = ({ operation }) =>
      operation === 'command_valve'
        ? { status: 422, headers, text: '{"error":"The valve is frozen"}' }
        : null;
    close(home);
    await home.pass(5 * secondMs);
  },
  listens: async (home) => void (await listens(home)),
  screens,
});
