import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 2, valveTravelMs: 400 },
  config: { schedules: hourly, valve: { confirm_timeout: '3s', confirm_interval: '100ms' } },
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const [sonic = '', neighbour = ''] = cloud.world.sonics.ids;
const valve = `sonic/${sonic}/valve/set`;
const actionsSent = () => bridge.sent('command_valve').map(({ body }) => Object(body).action);

/** The outcomes and the requests for a valve since the last call. */
function sinceLast(): { statuses: string[]; actions: string[] } {
  const statuses = bridge.outcomes().map(({ status }) => status);
  const actions = actionsSent();
  const since = { statuses: statuses.slice(seen.statuses), actions: actions.slice(seen.actions) };
  seen = { statuses: statuses.length, actions: actions.length };
  return since;
}
let seen = { statuses: 0, actions: 0 };

/** Lets a movement end, so that nothing of one test is under way in the next, and opens the valve as by hand. */
async function openByHand(): Promise<void> {
  await mqtt.settle();
  await bridge.untilJson(`sonic/${sonic}`, ({ valve: shown }) => shown !== 'opening' && shown !== 'closing');
  cloud.world.setValve(sonic, 'open');
  await bridge.command('bridge/refresh', 'PRESS');
  await bridge.untilJson(`sonic/${sonic}`, (record) => record.valve === 'open');
  sinceLast();
}

afterEach(async () => {
  cloud.setFaults([]);
  await openByHand();
});

describe('a valve command', () => {
  it('is sent once, and the valve is shown closing and then closed', async () => {
    const from = mqtt.messages.length;
    expect(await bridge.command(valve, 'CLOSE')).toMatchObject({
      status: 'ok',
      reason: null,
      http_status: 200,
    });
    await bridge.untilJson(`sonic/${sonic}`, (record) => record.valve === 'closed');
    const shown = mqtt.messages.slice(from).filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
    expect([...new Set(shown.map(({ text }) => JSON.parse(text).valve))]).toEqual(['closing', 'closed']);
    await bridge.untilJson(`sonic/${sonic}/homeassistant`, (states) => states.valve_travel_time > 0);
    expect(sinceLast()).toEqual({ statuses: ['ok'], actions: ['close'] });
  });

  it('waits for the one before it, and only the newest that waits is sent', async () => {
    cloud.setFaults([fault('latency=300@command_valve')]);
    const request = JSON.stringify({ params: { thing_id: sonic }, body: { action: 'open' } });
    await mqtt.publish(`sonic2mqtt/${valve}`, 'CLOSE');
    await waitFor(() => actionsSent().length > seen.actions, { what: 'the first one to be sent' });
    await mqtt.publish('sonic2mqtt/bridge/request/change_thing_state', request);
    await mqtt.publish(`sonic2mqtt/${valve}`, 'CLOSE');
    // Another valve does not wait for this one.
    await mqtt.publish(`sonic2mqtt/sonic/${neighbour}/valve/set`, 'CLOSE');
    await mqtt.publish('sonic2mqtt/bridge/request/command_valve', '{"body":{"action":"explode"}}');
    await mqtt.publish(`sonic2mqtt/${valve}`, 'OPEN');
    await waitFor(() => bridge.outcomes().length === seen.statuses + 6, { what: 'six outcomes' });
    const { statuses, actions } = sinceLast();
    expect(statuses).toEqual(['superseded', 'refused', 'superseded', 'ok', 'ok', 'ok']);
    expect(actions).toEqual(['close', 'close', 'open']);
    expect(bridge.sent('command_valve').at(-1)?.path).toContain(sonic);
    expect(bridge.sent('change_thing_state')).toEqual([]);
    expect(bridge.answers('change_thing_state')).toMatchObject([
      { status: 'error', error: { code: 'rate_limited' } },
    ]);
  });

  it.each([
    ['error=503', { status: 'error', http_status: 503 }],
    ['reset', { status: 'error', http_status: null }],
    // Success is the status code, whatever the body.
    ['html', { status: 'ok', http_status: 200 }],
  ])('is sent once if the cloud fails with %s', async (trouble, outcome) => {
    cloud.setFaults([fault(`${trouble}@command_valve`)]);
    expect(await bridge.command(valve, 'CLOSE')).toMatchObject(outcome);
    expect(actionsSent().slice(seen.actions)).toEqual(['close']);
  });

  it('that hangs is given up in time for a newer one, which times out after request_timeout without retry', async () => {
    cloud.setFaults([fault('hang@command_valve')]);
    const startMs = performance.now();
    const before = bridge.sent('command_valve').length;
    await mqtt.publish(`sonic2mqtt/${valve}`, 'CLOSE');
    await waitFor(() => bridge.sent('command_valve').length > before, { what: 'the first one to hang' });
    await mqtt.publish(`sonic2mqtt/${valve}`, 'OPEN');
    await waitFor(() => bridge.outcomes().length === seen.statuses + 2, { what: 'both outcomes' });
    // Each has the time since it was published; the ages of both are counted from the last ping to the broker.
    expect(performance.now() - startMs).toBeLessThan(3_500);
    cloud.setFaults([]);
    await bridge.command('bridge/refresh', 'PRESS');
    const reasons = bridge
      .outcomes(valve)
      .slice(-2)
      .map(({ reason }) => reason);
    expect(reasons).toEqual([
      expect.stringMatching(/before a newer command/),
      expect.stringMatching(/without an answer/),
    ]);
    expect(sinceLast()).toEqual({ statuses: ['error', 'error', 'ok'], actions: ['close', 'open'] });
  });

  it('is sent once more after a sign-in if the session has expired', async () => {
    cloud.expireTokens();
    expect(await bridge.command(valve, 'CLOSE')).toMatchObject({ status: 'ok' });
    const sent = bridge.sent('command_valve').slice(seen.actions);
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('ends with not_confirmed if the valve does not move, and the valve is shown as the cloud has it', async () => {
    cloud.world.dropRadio(sonic);
    await mqtt.publish(`sonic2mqtt/${valve}`, 'CLOSE');
    await waitFor(() => bridge.outcomes().length === seen.statuses + 2, { what: 'both outcomes' });
    expect(bridge.outcomes().at(-1)?.reason).toBe('not_confirmed');
    await bridge.untilJson(`sonic/${sonic}`, (record) => record.valve !== 'closing');
    expect(sinceLast()).toEqual({ statuses: ['ok', 'error'], actions: ['close'] });
    expect(bridge.json(`sonic/${sonic}`).valve).not.toBe('closed');
    cloud.world.connectRadio(sonic);
  });

  it('is sent at once although other changes hang', async () => {
    cloud.setFaults([fault('hang@update_sonic')]);
    for (let count = 0; count < 6; count++) {
      const body = JSON.stringify({ params: { sonic_id: sonic }, body: { name: `Name ${count}` } });
      await mqtt.publish('sonic2mqtt/bridge/request/update_sonic', body);
    }
    await waitFor(() => bridge.sent('update_sonic').length > 2, { what: 'requests to hang' });
    expect(await bridge.command(valve, 'CLOSE')).toMatchObject({ status: 'ok' });
    await waitFor(() => bridge.outcomes('bridge/request/update_sonic').length === 6, {
      what: 'the others to end',
    });
  });
});

describe.runIf(mosquittoAvailable())('a retained command', () => {
  it.each([5, 4])('is refused, live and at the next start with MQTT version %i', async (protocol_version) => {
    await mqtt.publish(`sonic2mqtt/${valve}`, 'CLOSE', { retain: true });
    await waitFor(() => bridge.outcomes().length > seen.statuses, { what: 'the refusal' });
    await bridge.restart({ mqtt: { protocol_version } });
    await waitFor(() => bridge.outcomes().length > seen.statuses + 1, {
      what: 'the refusal after the start',
    });
    await mqtt.publish(`sonic2mqtt/${valve}`, '', { retain: true });
    const { statuses, actions } = sinceLast();
    expect(new Set(statuses)).toEqual(new Set(['refused']));
    expect(actions).toEqual([]);
  });
});

describe('the position of a valve', () => {
  it('stays during a pressure test, and is unknown for a faulty valve', async () => {
    cloud.world.setValve(sonic, 'pressure_test');
    await bridge.command('bridge/refresh', 'PRESS');
    await bridge.untilJson(`sonic/${sonic}/homeassistant`, (states) => states.pressure_test_running === 'ON');
    expect(bridge.json(`sonic/${sonic}`)).toMatchObject({ valve: 'open', valve_state: 'pressure_test' });
    cloud.world.setValve(sonic, 'faulty');
    await bridge.command('bridge/refresh', 'PRESS');
    await bridge.untilJson(`sonic/${sonic}/homeassistant`, (states) => states.valve_problem === 'ON');
    expect(bridge.json(`sonic/${sonic}`).valve).toBeNull();
    expect(sinceLast().actions).toEqual([]);
  });
});

describe('a command', () => {
  it('changes the log level, or is refused with the levels that there are', async () => {
    await bridge.command('bridge/log_level/set', 'debug');
    await bridge.untilJson('bridge/homeassistant', (states) => states.log_level === 'debug');
    expect(await bridge.command('bridge/log_level/set', 'verbose')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('debug, info'),
    });
  });
});
