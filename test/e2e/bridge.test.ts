import { afterAll, describe, expect, it } from 'vitest';
import { type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { startBridge } from '../support/bridge.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { idsIn, sampleCall } from '../support/operationSamples.ts';
import { waitFor } from '../support/waitFor.ts';

// The built program between a cloud and a broker over real connections. What it does there is told by the stories.

const bridge = await startBridge({
  cloud: { properties: 2, signals: 3, sonics: 12, wifiSonics: 1, valveTravelMs: 400 },
  config: { valve: { confirm_timeout: '3s', confirm_interval: '100ms' } },
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [sonic = '', other = ''] = world.sonics.ids;
const valve = `sonic/${sonic}/valve/set`;

it('a valve command is sent once, and the valve is shown closing and then closed', async () => {
  const from = mqtt.messages.length;
  expect(await bridge.command(valve, 'CLOSE')).toMatchObject({ status: 'ok', http_status: 200 });
  await bridge.untilJson(`sonic/${sonic}`, (record) => record.valve === 'closed');
  const shown = mqtt.messages.slice(from).filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
  const valves = shown.map(({ text }) => JSON.parse(text).valve);
  expect(new Set(valves.slice(valves.indexOf('closing')))).toEqual(new Set(['closing', 'closed']));
  await bridge.untilJson(`sonic/${sonic}/last_command`, ({ status }) => status === 'confirmed');
  expect(bridge.sent('command_valve').map(({ body }) => body)).toEqual([{ action: 'close' }]);
});

describe('a request', () => {
  it('is answered with what the cloud sent and no more, at QoS 1 and not retained, with its transaction', async () => {
    const answers = await watchTopics(bridge.broker.url, 'sonic2mqtt/bridge/response/#', { qos: 1 });
    const transaction = { flow: 7 };
    const { status, data, ...rest } = await bridge.request('read_sonic', {
      params: { sonic_id: other },
      transaction,
    });
    expect([status, rest]).toEqual(['ok', { transaction }]);
    expect(data).toEqual({ ...world.sonics.get(other) });
    await answers.waitForTopic('sonic2mqtt/bridge/response/read_sonic');
    expect(answers.messages).toMatchObject([{ qos: 1, retain: false }]);
  });

  it.runIf(mosquittoAvailable()).each([
    ['my/flow', 'my/flow'],
    [`sonic2mqtt/${valve}`, 'sonic2mqtt/bridge/response/list_signals'],
  ])('with MQTT 5 that wants its answer on %s has it on %s', async (responseTopic, expected) => {
    const client = await watchTopics(bridge.broker.url, '#', { protocolVersion: 5 });
    const correlationData = Buffer.from([...Array(256).keys()]);
    const from = client.messages.length;
    const properties = { responseTopic, correlationData };
    await client.publish('sonic2mqtt/bridge/request/list_signals', '{}', { properties });
    const answer = await client.waitForMessage(
      ({ topic, properties }) =>
        properties?.correlationData !== undefined && !topic.startsWith('sonic2mqtt/bridge/request/'),
      {
        ...{ what: 'the answer', from },
      },
    );
    expect(answer).toMatchObject({ topic: expected, retain: false });
    expect(answer.properties?.correlationData).toEqual(correlationData);
  });
});

it('a broker that forgets everything gets all retained state back, and nothing that is outdated', async () => {
  await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
  const kept = [...mqtt.last.keys()].filter(
    (topic) => !/\/(event|incident|status|set)$|\/re(quest|sponse)\//.test(topic),
  );
  await bridge.broker.stop();
  world.setValve(other, 'closed');
  await bridge.polls(6);
  const from = mqtt.messages.length;
  await bridge.broker.restart();
  // The recording client connects again, too. Before that, the next test would miss the end of this program.
  const after = () => mqtt.messages.slice(from);
  const isBack = () => {
    const topics = new Set(after().map(({ topic }) => topic));
    return kept.every((topic) => topics.has(topic));
  };
  await waitFor(isBack, { what: 'all retained state' });
  const records = after().filter(({ topic }) => topic === `sonic2mqtt/sonic/${other}`);
  expect(records.map(({ text }) => JSON.parse(text).valve)).toEqual(['closed']);
});

it('with the account allowed, each operation but those of the session and those that move a valve is', async () => {
  await bridge.restart({ control: { account: true } });
  /** They have topics of their own. */
  const movers = ['command_valve', 'command_wifi_valve', 'change_thing_state', 'start_pressure_test'];
  const [signal_id = ''] = world.signals.ids;
  const incident_id = world.openIncident({ type: 'high_humidity', signalId: signal_id }).id;
  const request = async (name: OperationName) => {
    const { operation: _, ...parts } = sampleCall(name);
    const known = Object.entries({ ...idsIn(world, name), incident_id });
    const inPath = known.filter(([param]) => operationRow(name).path.includes(`{${param}}`));
    return (await bridge.request(name, { ...parts, params: Object.fromEntries(inPath) })).error?.code;
  };
  const names = operationNames.filter((name) => !operationRow(name).session && !movers.includes(name));
  const codes = await Promise.all(names.map(request));
  expect(codes).not.toContain('not_permitted');
  expect(codes).not.toContain('invalid_request');
});

it.runIf(mosquittoAvailable()).each([5, 4])(
  'a valve command that is retained is refused, live and at the next start with MQTT version %i',
  async (protocol_version) => {
    const sent = bridge.sent('command_valve').length;
    const before = bridge.outcomes(valve).length;
    const outcomes = () => bridge.outcomes(valve).slice(before);
    await mqtt.publish(`sonic2mqtt/${valve}`, 'OPEN', { retain: true });
    await waitFor(() => outcomes().length === 1, { what: 'the refusal' });
    await bridge.restart({ mqtt: { protocol_version } });
    await waitFor(() => outcomes().length === 2, { what: 'the refusal after the start' });
    await mqtt.publish(`sonic2mqtt/${valve}`, '', { retain: true });
    expect(outcomes()).toMatchObject([{ status: 'refused' }, { status: 'refused' }]);
    expect(bridge.sent('command_valve')).toHaveLength(sent);
  },
);

it('a broker publishes offline for a bridge that was killed, and takes it from one that stops in time', async () => {
  const until = (state: string) => mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === state);
  await bridge.program.stop('SIGKILL');
  await until('offline');
  bridge.start();
  await until('online');
  const { code, durationMs } = await bridge.program.stop('SIGTERM');
  expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
  await until('offline');
});
