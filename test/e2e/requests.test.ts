import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { sampleCall } from '../support/operationSamples.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 3, wifiSonics: 1, valveTravelMs: 400 },
  config: { schedules: hourly, cloud: { routes: { read_hub: null } } },
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [sonic_id = '', other = ''] = world.sonics.ids;
const [property_id = ''] = world.properties.ids;
const [signal_id = ''] = world.signals.ids;

/** A good request, with those of these ids that its path has. */
function goodRequest(name: OperationName, ids: Readonly<Record<string, unknown>>) {
  const { operation: _, ...parts } = sampleCall(name);
  const params = Object.entries(ids).filter(([param]) => operationRow(name).path.includes(`{${param}}`));
  return { ...parts, params: Object.fromEntries(params) };
}

afterEach(() => cloud.setFaults([]));

describe('a request', () => {
  it('for a list is answered with the first page of the cloud, and with its transaction', async () => {
    const { status, data, transaction } = await bridge.request('list_sonics', { transaction: { flow: 7 } });
    expect({ status, transaction }).toEqual({ status: 'ok', transaction: { flow: 7 } });
    expect(data.data.map(({ id }: { id: string }) => id)).toEqual(world.sonics.ids);
    expect(data).toMatchObject({ page_number: 1, total_entries: 3, total_pages: 1 });
  });

  it('for a record is answered with what the cloud sent and no more, and the bridge shows it too', async () => {
    world.setValve(other, 'closed');
    const { data } = await bridge.request('read_sonic', { params: { sonic_id: other } });
    expect(data).toEqual({ ...world.sonics.get(other) });
    await bridge.untilJson(`sonic/${other}`, (record) => record.valve === 'closed');
  });

  it('for a change is sent once as it is, and its answer is shown at once', async () => {
    const body = { name: 'Attic, left' };
    expect(await bridge.request('update_signal', { params: { signal_id }, body })).toMatchObject({
      status: 'ok',
      data: body,
    });
    expect(bridge.sent('update_signal')).toMatchObject([{ status: 200, body }]);
    await bridge.untilJson(`signal/${signal_id}`, (record) => record.name === body.name);
    const push = { params: { property_id }, body: { push_enabled: true } };
    await bridge.request('update_customer_notifications', push);
    // The cloud shows this nowhere: only the answer to the change tells it.
    await bridge.untilJson(`property/${property_id}/homeassistant`, (states) => states.push === 'ON');
    expect(bridge.outcomes().at(-1)).toMatchObject({ status: 'ok', reason: null, http_status: 200 });
  });

  it('for a valve moves it, shows it moving, and is confirmed by reading it', async () => {
    const from = mqtt.messages.length;
    const close = { params: { sonic_id }, body: { action: 'close' } };
    expect(await bridge.request('command_valve', close)).toMatchObject({ status: 'ok' });
    await bridge.untilJson(`sonic/${sonic_id}`, (record) => record.valve === 'closed');
    const shown = mqtt.messages.slice(from).filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic_id}`);
    expect([...new Set(shown.map(({ text }) => JSON.parse(text).valve))]).toEqual(['closing', 'closed']);
    expect(bridge.sent('command_valve')).toHaveLength(1);
  });

  it.each<[string, OperationName | string, object | string, string]>([
    ['that is not JSON', 'update_sonic', '{"params":{', 'invalid_request'],
    ['for an unknown operation', 'list_sonic', {}, 'unknown_operation'],
    ['for a session', 'sign_out', {}, 'not_permitted'],
    [
      'for the account, which control forbids by default',
      'create_property',
      sampleCall('create_property'),
      'not_permitted',
    ],
    [
      'for a route that the configuration switches off',
      'read_hub',
      { params: { hub_id: 'x' } },
      'unsupported',
    ],
  ])('%s is refused and not sent', async (_, operation, content, code) => {
    const parts = typeof content === 'string' ? content : { ...content, operation: undefined };
    const before = cloud.requests.count();
    const { error } = await bridge.request(operation, parts);
    expect(error).toEqual({ code, message: expect.stringMatching(/./), http_status: null });
    await waitFor(() => bridge.outcomes(`bridge/request/${operation}`).length > 0, { what: 'the event' });
    expect(bridge.outcomes(`bridge/request/${operation}`)).toMatchObject([
      { status: expect.stringMatching(/^(refused|error)$/), reason: error?.message, http_status: null },
    ]);
    expect(cloud.requests.count()).toBe(before);
  });

  it.each<[string, OperationName, string, number | null]>([
    ['error=422', 'update_sonic', 'validation_failed', 422],
    ['reset', 'update_sonic', 'cloud_unavailable', null],
    ['hang', 'update_sonic', 'timeout', null],
    ['error=404', 'read_user', 'unsupported', 404],
  ])(
    'that the cloud answers with %s fails with the code for it',
    async (trouble, name, code, http_status) => {
      cloud.setFaults([fault(`${trouble}@${name}`)]);
      const before = bridge.sent(name).length;
      const request = goodRequest(name, { sonic_id: 'x', user_id: 'x' });
      const { status, error } = await bridge.request(name, request);
      expect({ status, ...error }).toMatchObject({ status: 'error', code, http_status });
      expect(bridge.sent(name)).toHaveLength(before + 1);
    },
  );

  it('for what the cloud turned out not to offer is not sent again, and bridge/info says so', async () => {
    // The case before this one has found out that read_user is not offered.
    await bridge.untilJson('bridge/info', ({ operations }) => operations.read_user === 'unavailable');
    const before = cloud.requests.count();
    const { error } = await bridge.request('read_user', { params: { user_id: 'me' } });
    expect(error).toMatchObject({ code: 'unsupported', http_status: null });
    expect(cloud.requests.count()).toBe(before);
  });

  it('is answered at QoS 1 and not retained', async () => {
    const answers = await watchTopics(bridge.broker.url, 'sonic2mqtt/bridge/response/#', { qos: 1 });
    expect(answers.messages).toEqual([]);
    await bridge.request('read_property', { params: { property_id } });
    await answers.waitForTopic('sonic2mqtt/bridge/response/read_property');
    expect(answers.messages).toMatchObject([{ qos: 1, retain: false }]);
  });

  it.runIf(mosquittoAvailable())(
    'with MQTT 5 is answered where it says, unless that is a topic of ours',
    async () => {
      const client = await watchTopics(bridge.broker.url, '#', { protocolVersion: 5 });
      const correlationData = Buffer.from([...Array(256).keys()]);
      for (const [responseTopic, expected] of [
        ['my/flow', 'my/flow'],
        [`sonic2mqtt/sonic/${sonic_id}/valve/set`, 'sonic2mqtt/bridge/response/list_signals'],
      ] as const) {
        const from = client.messages.length;
        const properties = { responseTopic, correlationData };
        await client.publish('sonic2mqtt/bridge/request/list_signals', '{}', { properties });
        const answer = await client.waitForMessage(({ text }) => text.startsWith('{"status"'), {
          what: 'it',
          from,
        });
        expect(answer).toMatchObject({ topic: expected, retain: false });
        expect(answer.properties?.correlationData).toEqual(correlationData);
      }
    },
  );

  it('whose answer is too large for a message is answered without the data', async () => {
    for (const id of world.sonics.ids) world.sonics.change(id, { name: 'long '.repeat(20_000) });
    expect(await bridge.request('list_sonics')).toMatchObject({ status: 'ok', data: null, truncated: true });
  });
});

it('with the account allowed, no operation but those of the session is refused', async () => {
  await bridge.restart({ control: { account: true }, cloud: { routes: {} } });
  const ids = {
    incident_id: world.openIncident({ type: 'high_humidity', signalId: signal_id }).id,
    user_id: world.users.ids[0],
    hub_id: signal_id,
    ...{ property_id, signal_id, sonic_id, thing_id: other },
  };
  const wifi = { sonic_id: world.wifiSonics.ids[0] };
  for (const name of operationNames.filter((each) => !operationRow(each).session)) {
    const answer = await bridge.request(name, goodRequest(name, name.includes('wifi') ? wifi : ids));
    expect([name, answer.error?.code]).not.toEqual([name, 'not_permitted']);
    expect([name, answer.error?.code]).not.toEqual([name, 'invalid_request']);
  }
});

describe('too many requests', () => {
  it('are answered with rate_limited, and a valve command is sent all the same', async () => {
    await bridge.restart({ cloud: { max_requests_per_minute: 40, request_timeout: '10s' } });
    const before = bridge.answers('update_sonic').length;
    for (let transaction = 0; transaction < 100; transaction++) {
      const request = { params: { sonic_id }, body: { name: `n${transaction}` }, transaction };
      void mqtt.publish('sonic2mqtt/bridge/request/update_sonic', JSON.stringify(request));
    }
    await waitFor(() => bridge.answers('update_sonic').length === before + 100, { what: 'all answers' });
    const codes = bridge
      .answers('update_sonic')
      .slice(before)
      .map(({ status, error }) => error?.code ?? status);
    expect(new Set(codes)).toEqual(new Set(['ok', 'rate_limited']));
    expect(await bridge.command(`sonic/${sonic_id}/valve/set`, 'OPEN')).toMatchObject({ status: 'ok' });
  });

  it('do not keep the bridge from stopping, and are answered', async () => {
    await bridge.restart({ cloud: { request_timeout: '60s' } });
    cloud.setFaults([fault('hang@update_signal')]);
    const [before, sent] = [bridge.answers('update_signal').length, bridge.sent('update_signal').length];
    for (let count = 0; count < 6; count++) {
      const request = JSON.stringify({ params: { signal_id }, body: { name: 'late' } });
      await mqtt.publish('sonic2mqtt/bridge/request/update_signal', request);
    }
    await waitFor(() => bridge.sent('update_signal').length > sent + 2, { what: 'requests to hang' });
    // It is answered at once, and so after all six have come.
    await mqtt.publish('sonic2mqtt/bridge/request/no_such_operation', '{}');
    await waitFor(() => bridge.answers('no_such_operation').length > 0, { what: 'the last of them' });
    const { code, durationMs } = await bridge.program.stop();
    expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
    await waitFor(() => bridge.answers('update_signal').length === before + 6, { what: 'the answers' });
    const messages = bridge
      .answers('update_signal')
      .slice(before)
      .map(({ error }) => error?.message);
    expect(new Set(messages)).toEqual(
      new Set([
        'sonic2mqtt was stopped',
        'sonic2mqtt stopped before the cloud answered. The command may still be carried out',
      ]),
    );
  });
});
