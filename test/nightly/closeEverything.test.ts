import { expect, it } from 'vitest';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { waitFor } from '../support/waitFor.ts';

const fleet = { properties: 40, signals: 40, sonics: 160 };
const budget = 300;
const valves = ['command_valve'];
/** Everything else that is read valve by valve. The budget is for the valves that move. */
const onlyLists = { read_telemetry: null, read_daily_usage: null, read_pressure_tests: null, read_hub: null };

it('160 valves that are to close together are told in time though an answer takes a second, and are read within the budget', async () => {
  const bridge = await startBridge({
    cloud: fleet,
    config: {
      cloud: { request_timeout: '10s', max_requests_per_minute: budget, routes: onlyLists },
      schedules: hourly,
      valve: { confirm_interval: '2s' },
    },
  });
  const { ids } = bridge.cloud.world.sonics;
  bridge.cloud.setFaults([fault('latency=1000')]);
  const from = bridge.cloud.requests.entries.length;
  await Promise.all(ids.map((id) => bridge.mqtt.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE')));
  await waitFor(() => bridge.outcomes().length >= ids.length, { what: 'all outcomes' });
  expect(bridge.outcomes().filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(bridge.sent('command_valve')).toHaveLength(ids.length);
  bridge.cloud.setFaults([]);
  const isConfirmed = (id: string) => bridge.json(`sonic/${id}/last_command`).status === 'confirmed';
  await waitFor(() => ids.every(isConfirmed), { what: 'all valves to be read as closed', timeoutMs: 60_000 });
  const reads = bridge.cloud.requests.entries
    .slice(from)
    .filter(({ operation }) => !valves.includes(operation ?? ''));
  expect(bridge.program.stderr).not.toContain('MaxListeners');
  // Reading each of them once would be more.
  expect(reads.length).toBeLessThan(ids.length);
});
