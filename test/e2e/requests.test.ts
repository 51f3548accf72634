import { afterAll, describe, expect, it } from 'vitest';
import { type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { hourly, startBridge } from '../support/bridge.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { sampleCall } from '../support/operationSamples.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 3, wifiSonics: 1, valveTravelMs: 400 },
  config: { schedules: hourly },
});
afterAll(() => bridge.close());
const { world } = bridge.cloud;
const [sonic_id = '', other = ''] = world.sonics.ids;
const [property_id = ''] = world.properties.ids;
const [signal_id = ''] = world.signals.ids;

/** The operations that move a valve have topics of their own. */
const movers: ReadonlySet<OperationName> = new Set([
  'command_valve',
  'command_wifi_valve',
  'change_thing_state',
  'start_pressure_test',
]);

/** A good request, with those of these ids that its path has. */
function goodRequest(name: OperationName, ids: Readonly<Record<string, unknown>>) {
  const { operation: _, ...parts } = sampleCall(name);
  const params = Object.entries(ids).filter(([param]) => operationRow(name).path.includes(`{${param}}`));
  return { ...parts, params: Object.fromEntries(params) };
}

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
    expect(bridge.outcomes().at(-1)).toMatchObject({ status: 'ok', reason: null, http_status: 200 });
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
});

it('with the account allowed, only operations of the session and those that move a valve are refused', async () => {
  await bridge.restart({ control: { account: true } });
  const ids = {
    incident_id: world.openIncident({ type: 'high_humidity', signalId: signal_id }).id,
    user_id: world.users.ids[0],
    hub_id: signal_id,
    ...{ property_id, signal_id, sonic_id, thing_id: other },
  };
  const wifi = { sonic_id: world.wifiSonics.ids[0] };
  const names = operationNames.filter((each) => !operationRow(each).session && !movers.has(each));
  const codes = await Promise.all(
    names.map(async (name) => {
      const { error } = await bridge.request(name, goodRequest(name, name.includes('wifi') ? wifi : ids));
      return error?.code;
    }),
  );
  expect(codes).not.toContain('not_permitted');
  expect(codes).not.toContain('invalid_request');
});
