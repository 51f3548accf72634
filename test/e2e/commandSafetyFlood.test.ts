import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type CommandOutcome, fault, hourly, type TestBridge } from '../support/bridge.ts';
import { fence, outcomes, type SafetyCommand, startBridgeForCommands } from '../support/commandTable.ts';
import { waitFor } from '../support/waitFor.ts';

const calm = { schedules: hourly, cloud: { request_timeout: '20s' } };
const answerMs = 40;
const eachTick = 10;
const tickMs = 10;
// Each look reads thousands of events, in the process that is the cloud too.
const intervalMs = 250;

/** Publishes a thousand a second for three seconds, and then one command to the last sonic; answers what became of it. */
async function flood(
  bridge: TestBridge,
  command: (index: number) => SafetyCommand,
  quiet: SafetyCommand,
): Promise<CommandOutcome | undefined> {
  const published: Promise<void>[] = [];
  const publish = ({ topic, payload }: SafetyCommand) => published.push(bridge.mqtt.publish(topic, payload));
  for (let index = 0; index < count; index++) {
    publish(command(index));
    if (index === count / 2) publish(quiet);
    if (index % eachTick === eachTick - 1) await pause(tickMs);
  }
  await Promise.all(published);
  return waitFor(() => outcomes(bridge).find(({ topic }) => topic === quiet.topic), {
    what: 'the outcome of the quiet command',
    intervalMs,
  });
}

const count = 3_000;

/** How often each status was told for these topics. */
function tally(bridge: TestBridge, isMeant: (topic: string) => boolean): Record<string, number> {
  const statuses = outcomes(bridge).filter(({ topic }) => isMeant(topic));
  return Object.fromEntries(
    [...new Set(statuses.map(({ status }) => status))].map((word) => [
      word,
      statuses.filter(({ status }) => status === word).length,
    ]),
  );
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const valveOf = (id: string) => `sonic2mqtt/sonic/${id}/valve/set`;

describe('a thousand commands a second', () => {
  it('to one valve are sent one at a time, the last one last, each with its outcome; another valve obeys at once', async () => {
    const bridge = await startBridgeForCommands({ config: calm });
    const [id = '', ...others] = bridge.cloud.world.sonics.ids;
    const other = valveOf(others.at(-1) ?? '');
    bridge.cloud.setFaults([fault(`latency=${answerMs}@command_valve`)]);
    const startedAt = performance.now();
    const words = ['OPEN', 'CLOSE', 'close', '{"action":"open"}'];
    const quiet = await flood(
      bridge,
      (index) => ({ topic: valveOf(id), payload: index === count - 1 ? 'CLOSE' : (words[index % 4] ?? '') }),
      { topic: other, payload: 'CLOSE' },
    );
    expect(quiet).toEqual({ topic: other, status: 'ok', reason: null, http_status: 200 });
    await waitFor(() => sum(Object.values(tally(bridge, (topic) => topic === valveOf(id)))) >= count, {
      what: 'all outcomes',
      intervalMs,
    });
    await fence(bridge);
    const { ok = 0, superseded = 0, ...rest } = tally(bridge, (topic) => topic === valveOf(id));
    const all = bridge.changesSent();
    const sent = all.filter(({ path }) => path.includes(id));
    // It was asked in the middle of the flood, and did not wait for its end.
    expect(all.findIndex(({ path }) => !path.includes(id))).toBeLessThan(all.length - 1);
    expect(rest).toEqual({});
    expect(ok + superseded).toBe(count);
    expect(sent).toHaveLength(ok);
    // Each is answered so late, and the next waits for it.
    expect(ok).toBeLessThan(2 + (performance.now() - startedAt) / answerMs);
    expect(sent.at(-1)?.body).toEqual({ action: 'close' });
    await bridge.mqtt.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve === 'closed',
      20_000,
    );
    expect(bridge.cloud.world.valve(id)?.settled).toBe('closed');
  });

  it('to valves, settings, names and requests keep a bound at the cloud, and each has its outcome', async () => {
    const bridge = await startBridgeForCommands({ config: calm });
    const { world } = bridge.cloud;
    const [property = ''] = world.properties.ids;
    const [signal = ''] = world.signals.ids;
    const ids = world.sonics.ids.slice(0, -1);
    const other = valveOf(world.sonics.ids.at(-1) ?? '');
    bridge.cloud.setFaults([fault(`latency=${answerMs}`)]);
    const makers: readonly ((turn: number) => SafetyCommand)[] = [
      (turn) => ({
        topic: valveOf(ids[turn % ids.length] ?? ''),
        payload: turn % 2 === 0 ? 'OPEN' : 'CLOSE',
      }),
      (turn) => ({
        topic: `sonic2mqtt/property/${property}/settings/auto_shut_off/set`,
        payload: turn % 2 === 0 ? 'ON' : 'OFF',
      }),
      (turn) => ({ topic: `sonic2mqtt/signal/${signal}/name/set`, payload: `Name ${turn}` }),
      (turn) => ({
        topic: 'sonic2mqtt/bridge/request/patch_sonic',
        payload: JSON.stringify({ params: { sonic_id: ids[0] }, body: { name: `Name ${turn}` } }),
      }),
      () => ({ topic: 'sonic2mqtt/bridge/refresh', payload: 'now' }),
    ];
    const before = bridge.cloud.requests.count();
    const startedAt = performance.now();
    const quiet = await flood(
      bridge,
      (index) => (makers[index % makers.length] ?? makers[0])?.(Math.floor(index / makers.length)) as never,
      { topic: other, payload: 'CLOSE' },
    );
    expect(quiet).toEqual({ topic: other, status: 'ok', reason: null, http_status: 200 });
    const dropped = () => Number(/answers; dropped: (\d+)/.exec(bridge.program.output)?.[1] ?? 0);
    await waitFor(() => outcomes(bridge).length >= count + 1, {
      what: 'all outcomes',
      intervalMs,
    });
    await fence(bridge);
    expect(outcomes(bridge)).toHaveLength(count + 1);
    expect(dropped()).toBe(0);
    // Only what waits behind urgent commands may run out of time, and says that it was not sent.
    for (const { status, reason } of outcomes(bridge)) {
      if (status === 'error') expect(reason).toMatch(/it was not sent$|before the cloud could be asked$/);
    }
    // Four at a time, each answered so late.
    const mostRequests = 4 * (2 + (performance.now() - startedAt) / answerMs);
    expect(bridge.cloud.requests.count() - before).toBeLessThan(mostRequests);
    const settings = bridge.changesSent().filter(({ operation }) => operation === 'update_property_settings');
    expect(settings.at(-1)?.body).toEqual({ auto_shut_off: false });
    expect(world.settings.get(property)?.auto_shut_off).toBe(false);
    expect(world.signals.get(signal)?.name).toBe('Name 599');
    await bridge.mqtt.waitForTopic(`sonic2mqtt/signal/${signal}`, (text) => text.includes('"Name 599"'));
  });
});
