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
const [sonic = ''] = cloud.world.sonics.ids;
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
