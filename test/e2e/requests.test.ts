import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  isOperationName,
  type OperationName,
  operationNames,
  operationRow,
  type ParamsOf,
} from '../../src/cloud/operations.ts';
import { fault, type House, startHouse } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { sampleCall } from '../support/operationSamples.ts';
import { answersTo, request } from '../support/requester.ts';
import { waitFor } from '../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());

/** Polls that do not disturb what a test counts. */
const hourly = { sonics: '1h', incidents: '1h', telemetry: '1h', signals: '1h', properties: '1h' };

/** A house whose bridge shows all its devices. */
async function shownHouse(options: Parameters<typeof startHouse>[0] = {}): Promise<House> {
  const house = await startHouse(options);
  for (const id of house.simulator.world.sonics.ids) {
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`, () => true, 10_000);
  }
  return house;
}

const close = async (house: House) => {
  await house.bridge.stop();
  await house.watcher.close();
  await house.broker.stop();
  await house.simulator.stop();
};

/** The events of commands to this operation's topic. */
const outcomes = (house: House, operation: string) =>
  house
    .events('command')
    .filter(({ topic }) => topic === `sonic2mqtt/bridge/request/${operation}`)
    .map(({ status, reason, http_status }) => ({ status, reason, http_status }));

/** What the simulated cloud was asked of an operation. */
const asked = ({ simulator }: House, name: OperationName) =>
  simulator.requests.entries.filter(({ operation }) => operation === name);

const sonicId = ({ simulator }: House, index = 0) => simulator.world.sonics.ids[index] ?? '';

describe('every operation', () => {
  let house: House;
  beforeAll(async () => {
    house = await shownHouse({
      cloud: { wifiSonics: 1 },
      config: { schedules: hourly, control: { account: true } },
    });
  });
  afterAll(() => close(house));

  /** Which record each operation is asked of; an operation without one does not compile. */
  function paramsIn({ simulator: { world } }: House): { readonly [Name in OperationName]: ParamsOf<Name> } {
    const [property_id = ''] = world.properties.ids;
    const [signal_id = ''] = world.signals.ids;
    const [sonic_id = '', thing_id = '', otherThing = ''] = world.sonics.ids;
    const [wifi = ''] = world.wifiSonics.ids;
    const [user_id = ''] = world.users.ids;
    const property = { property_id };
    const signal = { signal_id };
    const sonic = { sonic_id };
    const incidentOf = (type: string) => world.openIncident({ type, signalId: signal_id }).id;
    const owner = world.propertyOf(signal_id) ?? '';
    return {
      sign_in: {},
      refresh_token: {},
      validate_token: {},
      sign_out: {},
      list_incidents: {},
      read_incident: { incident_id: incidentOf('high_humidity') },
      act_on_incident: { incident_id: incidentOf('low_temperature') },
      list_property_incidents: property,
      act_on_property_incident: { property_id: owner, incident_id: incidentOf('high_temperature') },
      list_properties: {},
      read_property: property,
      update_property: property,
      patch_property: property,
      read_notification_settings: property,
      update_notification_settings: property,
      read_property_settings: property,
      update_property_settings: property,
      list_property_signals: property,
      list_signals: {},
      read_signal: signal,
      update_signal: signal,
      patch_signal: signal,
      list_signal_sonics: signal,
      list_sonics: {},
      read_sonic: sonic,
      update_sonic: sonic,
      patch_sonic: sonic,
      command_valve: sonic,
      change_thing_state: { thing_id },
      create_property: {},
      update_customer_property: property,
      update_property_configuration: property,
      update_user: { user_id },
      create_invitation: property,
      update_customer_notifications: property,
      start_pressure_test: { thing_id: otherThing },
      read_pressure_tests: { thing_id },
      read_daily_usage: { thing_id },
      read_appliance_categories: {},
      read_hub: { hub_id: signal_id },
      read_user: { user_id },
      read_telemetry: sonic,
      list_wifi_sonics: {},
      read_wifi_sonic: { sonic_id: wifi },
      command_wifi_valve: { sonic_id: wifi },
      read_wifi_telemetry: { sonic_id: wifi },
    };
  }

  it.each(operationNames)('%s can be asked for, and its answer is the word of the cloud', async (name) => {
    const { operation: _, ...parts } = sampleCall(name, paramsIn(house)[name] as never);
    const before = asked(house, name).length;
    const transaction = { flow: name };
    const answer = await request(house, name, { ...parts, transaction });
    expect(answer.transaction).toEqual(transaction);
    const { reply, session } = operationRow(name);
    if (session) {
      expect(answer).toMatchObject({ status: 'error', error: { code: 'not_permitted', http_status: null } });
      expect(outcomes(house, name)).toMatchObject([{ status: 'refused' }]);
      expect(asked(house, name)).toHaveLength(before);
      return;
    }
    expect(answer).toMatchObject({ status: 'ok' });
    expect(outcomes(house, name)).toEqual([{ status: 'ok', reason: null, http_status: 200 }]);
    // What changes something was sent once, as it was asked for; a poll may have read the same.
    const sent = asked(house, name).slice(before);
    const { body = null } = parts as { body?: unknown };
    expect(sent).toContainEqual(expect.objectContaining({ status: 200, body }));
    if (operationRow(name).retry === 'never') expect(sent).toHaveLength(1);
    if (reply.kind === 'page') {
      expect(Object.keys(answer.data)).toEqual([
        'data',
        'page_number',
        'page_size',
        'total_entries',
        'total_pages',
      ]);
      expect(answer.data.page_size).toBe(10);
    } else if (reply.kind === 'record') expect(answer.data).toBeTypeOf('object');
    else expect(answer.data === null || answer.data.status === 'ok').toBe(true);
  });

  it('shows records with all that the cloud says of them', async () => {
    const id = sonicId(house);
    const { data } = await request(house, 'read_sonic', { params: { sonic_id: id } });
    expect(data).toMatchObject({ ...house.simulator.world.sonics.get(id) });
    const list = await request(house, 'list_sonics');
    expect(list.data.data.map((sonic: { id: string }) => sonic.id)).toEqual(house.simulator.world.sonics.ids);
    expect(list.data).toMatchObject({ page_number: 1, total_entries: 4, total_pages: 1 });
  });
});

describe('a request', () => {
  let house: House;
  beforeAll(async () => {
    house = await shownHouse();
  });
  afterAll(() => close(house));

  it.each([
    '{"transaction":7}',
    '{"transaction":12345678901234567890.10}',
    '{"transaction":"täg \\ud83d\\ude00"}',
    '{"transaction":{"b":[1,{"a":null}]}}',
    '{"transaction":null}',
    '{"transaction":false}',
    '{}',
    '',
  ])('of %s gets its transaction back as it came, or none', async (payload) => {
    const from = house.watcher.messages.length;
    const answer = await request(house, 'list_signals', payload);
    expect(answer.status).toBe('ok');
    const message = house.watcher.messages.slice(from).find(({ topic }) => topic.includes('/response/'));
    const transaction = /"transaction":(.*)}$/.exec(payload)?.[1];
    if (transaction === undefined) expect(answer).not.toHaveProperty('transaction');
    else expect(message?.text.endsWith(`,"transaction":${transaction}}`)).toBe(true);
  });

  const forever = '['.repeat(20_000) + ']'.repeat(20_000);
  it.each<[string, string, string | Buffer, string, RegExp]>([
    ['that is cut off', 'update_sonic', '{"params":{', 'invalid_request', /^the payload is not JSON$/],
    ['that is a list', 'update_sonic', '[]', 'invalid_request', /must be a JSON object/],
    ['that is null', 'list_sonics', 'null', 'invalid_request', /must be a JSON object/],
    ['that is a number', 'list_sonics', '17', 'invalid_request', /must be a JSON object/],
    ['that is a word', 'list_sonics', 'please', 'invalid_request', /not JSON/],
    [
      'that is no text',
      'list_sonics',
      Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
      'invalid_request',
      /^the payload is not UTF-8$/,
    ],
    [
      'with bytes in a name that are no text',
      'update_sonic',
      Buffer.concat([
        Buffer.from('{"params":{"sonic_id":"x"},"body":{"name":"'),
        Buffer.from([0xc3, 0x28, 0x22, 0x7d, 0x7d]),
      ]),
      'invalid_request',
      /^the payload is not UTF-8$/,
    ],
    ['that is far too large', 'list_sonics', `{"body":"${'x'.repeat(70_000)}"}`, 'invalid_request', /65536/],
    [
      'that has no end',
      'change_thing_state',
      `{"params":{"thing_id":"a"},"body":{"action":"a","x":${forever}}}`,
      'invalid_request',
      /nested too deeply/,
    ],
    [
      'with a slip in a key',
      'list_sonics',
      '{"querry":{}}',
      'invalid_request',
      /^querry is not known; did you mean query\?$/,
    ],
    [
      'with a slip in a parameter',
      'read_sonic',
      '{"params":{"sonicid":"x"}}',
      'invalid_request',
      /params\.sonicid is not known; did you mean sonic_id\?.*params\.sonic_id is missing/,
    ],
    [
      'with a path in a parameter',
      'read_sonic',
      '{"params":{"sonic_id":"../x"}}',
      'invalid_request',
      /params\.sonic_id must be an id/,
    ],
    ['without its body', 'update_sonic', '{"params":{"sonic_id":"x"}}', 'invalid_request', /body/],
    [
      'with a body that is none',
      'command_valve',
      '{"params":{"sonic_id":"x"},"body":{"action":"explode"}}',
      'invalid_request',
      /body\.action must be one of open, close/,
    ],
    ['with a body where none belongs', 'list_sonics', '{"body":{}}', 'invalid_request', /body is not taken/],
    [
      'for a wrong page',
      'list_sonics',
      '{"query":{"page":0}}',
      'invalid_request',
      /query\.page must be a whole number/,
    ],
    [
      'for a misspelt operation',
      'list_sonic',
      '{}',
      'unknown_operation',
      /^there is no operation list_sonic; did you mean list_sonics\?$/,
    ],
    [
      'for a word of the language',
      'constructor',
      '{}',
      'unknown_operation',
      /there is no operation constructor/,
    ],
    ['for nothing', '', '{}', 'unknown_operation', /there is no operation/],
    ['for a session with a bad body', 'sign_in', '{"body":7}', 'not_permitted', /^not permitted/],
  ])('%s is turned away in words', async (_, operation, payload, code, words) => {
    const before = outcomes(house, operation).length;
    const { status, error } = await request(house, operation, payload);
    expect(status).toBe('error');
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(words);
    expect(error?.http_status).toBeNull();
    await waitFor(() => outcomes(house, operation).length === before + 1, { what: 'the event' });
    expect(outcomes(house, operation).at(-1)).toEqual({
      status: 'refused',
      reason: error?.message,
      http_status: null,
    });
    const changes = ['update_sonic', 'command_valve', 'change_thing_state'] as const;
    for (const name of changes) expect(asked(house, name)).toEqual([]);
  });

  it('below another topic is none', async () => {
    await house.watcher.publish('sonic2mqtt/bridge/request/list/sonics', '{}');
    await house.watcher.publish('sonic2mqtt/bridge/request', '{}');
    await request(house, 'read_appliance_categories');
    const topics = house.watcher.messages.map(({ topic }) => topic);
    expect(topics.filter((topic) => topic.startsWith('sonic2mqtt/bridge/response/list/'))).toEqual([]);
    expect(topics).not.toContain('sonic2mqtt/bridge/response');
  });

  it('is answered once, not retained, at QoS 1', async () => {
    const watcher = await watchTopics(house.broker.url, 'sonic2mqtt/bridge/response/#', { qos: 1 });
    expect(watcher.messages).toEqual([]);
    await request(house, 'read_property', {
      params: { property_id: house.simulator.world.properties.ids[0] },
    });
    await watcher.waitForTopic('sonic2mqtt/bridge/response/read_property');
    expect(watcher.messages).toMatchObject([{ qos: 1 }]);
    const late = await watchTopics(house.broker.url, 'sonic2mqtt/bridge/response/#');
    expect(late.messages).toEqual([]);
  });

  it.each<[string, OperationName, object, string, number | null]>([
    ['error=401@read_signal', 'read_signal', { signal_id: 'x' }, 'unauthorized', 401],
    ['error=403@read_sonic', 'read_sonic', { sonic_id: 'x' }, 'forbidden', 403],
    ['error=404@read_property', 'read_property', { property_id: 'x' }, 'not_found', 404],
    ['error=422@update_sonic', 'update_sonic', { sonic_id: 'x' }, 'validation_failed', 422],
    ['error=409@update_sonic', 'update_sonic', { sonic_id: 'x' }, 'validation_failed', 409],
    ['error=500@update_sonic', 'update_sonic', { sonic_id: 'x' }, 'cloud_unavailable', 500],
    ['error=503@read_hub', 'read_hub', { hub_id: 'x' }, 'cloud_unavailable', 503],
    ['reset@update_sonic', 'update_sonic', { sonic_id: 'x' }, 'cloud_unavailable', null],
    ['html@read_signal', 'read_signal', { signal_id: 'x' }, 'cloud_unavailable', 200],
    ['hang@update_signal', 'update_signal', { signal_id: 'x' }, 'timeout', null],
    ['hang@read_signal', 'read_signal', { signal_id: 'x' }, 'timeout', null],
    ['error=405@read_wifi_telemetry', 'read_wifi_telemetry', { sonic_id: 'x' }, 'unsupported', 405],
  ])('that meets %s gets the code of it', async (trouble, name, params, code, status) => {
    house.simulator.setFaults([fault(trouble)]);
    const before = asked(house, name).length;
    const { operation: _, ...parts } = sampleCall(name, params as never);
    const answer = await request(house, name, { ...parts, transaction: 't' });
    house.simulator.setFaults([]);
    expect(answer).toMatchObject({ status: 'error', error: { code, http_status: status }, transaction: 't' });
    expect(answer.error?.message).not.toBe('');
    await waitFor(() => outcomes(house, name).at(-1)?.status === 'error', { what: 'the event' });
    expect(outcomes(house, name).at(-1)).toEqual({
      status: 'error',
      reason: answer.error?.message,
      http_status: status,
    });
    if (operationRow(name).retry === 'never') expect(asked(house, name)).toHaveLength(before + 1);
  });

  it('for what the cloud does not offer says so, also in bridge/info, and the cloud is not asked again', async () => {
    expect(house.json('bridge/info').operations.read_user).toBe('available');
    house.simulator.setFaults([fault('error=404@read_user')]);
    expect((await request(house, 'read_user', { params: { user_id: 'me' } })).error).toMatchObject({
      code: 'unsupported',
      http_status: 404,
    });
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/info',
      (text) => JSON.parse(text).operations.read_user === 'unavailable',
    );
    house.simulator.setFaults([]);
    const before = asked(house, 'read_user').length;
    expect((await request(house, 'read_user', { params: { user_id: 'me' } })).error).toMatchObject({
      code: 'unsupported',
      http_status: null,
    });
    expect(asked(house, 'read_user')).toHaveLength(before);
  });

  it('with a slip in an id does not take the operation away from everybody', async () => {
    const wrong = await request(house, 'start_pressure_test', {
      params: { thing_id: 'nobody' },
      body: { source: 'test' },
    });
    expect(wrong.error).toMatchObject({ code: 'not_found', http_status: 404 });
    const lost = { params: { thing_id: 'nobody' }, body: { action: 'close' } };
    for (let times = 0; times < 2; times++) {
      expect((await request(house, 'change_thing_state', lost)).error).toMatchObject({
        code: 'not_found',
        http_status: 404,
      });
    }
    const right = await request(house, 'start_pressure_test', {
      params: { thing_id: sonicId(house, 3) },
      body: { source: 'test' },
    });
    expect(right).toMatchObject({ status: 'ok', data: { job_id: expect.any(String) } });
  });

  it.each<[OperationName, object, string]>([
    ['update_sonic', { name: 'Renamed sonic' }, 'sonic'],
    ['update_signal', { name: 'Renamed signal' }, 'signal'],
    ['update_property', { name: 'Renamed property' }, 'property'],
  ])('for %s is shown soon', async (name, body, kind) => {
    const calm = await shownHouse({ config: { schedules: hourly } });
    const { sonics, signals, properties } = calm.simulator.world;
    const [id = ''] = { sonic: sonics, signal: signals, property: properties }[kind]?.ids ?? [];
    expect(await request(calm, name, { params: { [`${kind}_id`]: id }, body })).toMatchObject({ data: body });
    await calm.watcher.waitForTopic(`sonic2mqtt/${kind}/${id}`, (text) => text.includes('Renamed'));
  });

  it('for what the cloud shows nowhere is shown by its answer', async () => {
    const calm = await shownHouse({ config: { schedules: hourly } });
    const [property_id = ''] = calm.simulator.world.properties.ids;
    const shown = (key: string, word: string) =>
      calm.watcher.waitForTopic(
        `sonic2mqtt/property/${property_id}/homeassistant`,
        (text) => JSON.parse(text)[key] === word,
      );
    for (const [name, body, key] of [
      ['update_property_configuration', { leak_protection_enabled: true }, 'leak_protection'],
      ['update_customer_notifications', { push_enabled: true }, 'push'],
      ['update_property_settings', { webhook_url: 'https://example.com/x' }, 'webhook_url'],
    ] as const) {
      expect((await request(calm, name, { params: { property_id }, body })).status).toBe('ok');
      await shown(key, key === 'webhook_url' ? 'https://example.com/x' : 'ON');
    }
    const thing_id = sonicId(calm);
    const test = { params: { thing_id }, body: { source: 'flow' } };
    const { data } = await request(calm, 'start_pressure_test', test);
    await calm.watcher.waitForTopic(
      `sonic2mqtt/sonic/${thing_id}/pressure_tests`,
      (text) => JSON.parse(text).job_id === data.job_id,
    );
  });

  it('that reads a sonic shows everybody what it was told of the valve', async () => {
    const calm = await shownHouse({ config: { schedules: hourly } });
    const id = sonicId(calm);
    const shown = () => JSON.parse(calm.watcher.last.get(`sonic2mqtt/sonic/${id}`) ?? '{}').valve;
    const after = shown() === 'open' ? 'closed' : 'open';
    calm.simulator.world.setValve(id, after);
    expect(await request(calm, 'read_sonic', { params: { sonic_id: id } })).toMatchObject({
      data: { valve_state: after },
    });
    await calm.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, (text) => JSON.parse(text).valve === after);
  });

  it('for an incident is shown soon', async () => {
    const calm = await shownHouse({ config: { schedules: hourly } });
    const [id = ''] = calm.simulator.world.incidents.ids;
    await calm.watcher.waitForTopic(`sonic2mqtt/incident/${id}`);
    const call = { params: { incident_id: id }, body: { action: 'resolve' } };
    expect((await request(calm, 'act_on_incident', call)).status).toBe('ok');
    await waitFor(() => !calm.watcher.last.has(`sonic2mqtt/incident/${id}`), { what: 'the end of it' });
  });
});

describe('a request with the retain flag', () => {
  onMosquitto('is refused, live and after a reconnection, and deleting it is no request', async () => {
    const house = await shownHouse();
    const topic = 'sonic2mqtt/bridge/request/update_sonic';
    const payload = JSON.stringify({
      params: { sonic_id: sonicId(house) },
      body: { name: 'again and again' },
      transaction: 1,
    });
    const refused = () => answersTo(house, 'update_sonic');
    await house.watcher.publish(topic, payload, { retain: true });
    await waitFor(() => refused().length === 1, { what: 'the live refusal' });
    await house.bridge.stop();
    house.startBridge();
    await waitFor(() => refused().length === 2, { what: 'the refusal at the next start', timeoutMs: 10_000 });
    await house.watcher.publish(topic, '', { retain: true });
    await request(house, 'list_sonics');
    expect(refused()).toHaveLength(2);
    for (const { error, transaction } of refused()) {
      expect(error?.code).toBe('invalid_request');
      expect(error?.message).toMatch(/^a retained command would be carried out again at each restart/);
      expect(transaction).toBe(1);
    }
    expect(outcomes(house, 'update_sonic').map(({ status }) => status)).toEqual(['refused', 'refused']);
    expect(asked(house, 'update_sonic')).toEqual([]);
  });
});

describe.skipIf(!mosquittoAvailable())('with MQTT 5 a request', () => {
  let house: House;
  beforeAll(async () => {
    house = await shownHouse({ config: { homeassistant: { status_topic: 'home/status' } } });
  });
  afterAll(() => close(house));

  const ask = 'sonic2mqtt/bridge/request/list_signals';
  const usual = 'sonic2mqtt/bridge/response/list_signals';

  async function askWith(properties: { responseTopic?: string; correlationData?: Buffer }) {
    const watcher = await watchTopics(house.broker.url, '#', { protocolVersion: 5 });
    const from = watcher.messages.length;
    await watcher.publish(ask, '{"transaction":"mine"}', { properties });
    const answer = await watcher.waitForMessage(
      ({ text }) => text.includes('"transaction":"mine"}') && text.includes('"status"'),
      {
        what: 'the answer',
        from,
      },
    );
    await watcher.close();
    return answer;
  }

  it('is answered where it says, with its correlation data byte for byte', async () => {
    const correlationData = Buffer.from([...Array(256).keys()]);
    for (const responseTopic of ['my/flow', 'sonic2mqtt/bridge/response/my/flow']) {
      const answer = await askWith({ responseTopic, correlationData });
      expect(answer.topic).toBe(responseTopic);
      expect(answer.properties?.correlationData).toEqual(correlationData);
      expect(answer.retain).toBe(false);
    }
  });

  it('without a response topic gets its correlation data back all the same', async () => {
    const answer = await askWith({ correlationData: Buffer.from('only this') });
    expect(answer.topic).toBe(usual);
    expect(answer.properties?.correlationData?.toString()).toBe('only this');
  });

  it.each([
    'sonic2mqtt/sonic/x/valve/set',
    'sonic2mqtt/bridge/state',
    'sonic2mqtt/bridge/request/list_sonics',
    'sonic2mqtt',
    'homeassistant/device/sonic2mqtt_bridge/config',
    'home/status',
    '$SYS/x',
  ])('that wants its answer on %s gets it where it belongs', async (responseTopic) => {
    const answer = await askWith({ responseTopic, correlationData: Buffer.from('c') });
    expect(answer.topic).toBe(usual);
    expect(answer.properties?.correlationData?.toString()).toBe('c');
  });
});

describe('what control forbids', () => {
  it('is not permitted, and what reads is', async () => {
    const off = { valves: false, incidents: false, pressure_tests: false, settings: false, account: false };
    const house = await shownHouse({ config: { control: off } });
    for (const name of operationNames) {
      const { control } = operationRow(name);
      if (control === undefined) continue;
      const { operation: _, ...parts } = sampleCall(name);
      const { error } = await request(house, name, parts);
      expect(error, name).toEqual({
        code: 'not_permitted',
        message: `not permitted: control.${control} is off in the configuration`,
        http_status: null,
      });
      expect(outcomes(house, name)).toMatchObject([{ status: 'refused' }]);
      expect(asked(house, name)).toEqual([]);
    }
    expect((await request(house, 'list_sonics')).status).toBe('ok');
  });

  it('is by default the account alone', async () => {
    const house = await shownHouse({ config: { control: {} } });
    for (const name of ['create_property', 'create_invitation', 'update_user'] as const) {
      const { operation: _, ...parts } = sampleCall(name);
      expect((await request(house, name, parts)).error?.code).toBe('not_permitted');
    }
  });
});

describe('an operation that cloud.routes switches off', () => {
  it('is unsupported', async () => {
    const house = await shownHouse({
      config: { cloud: { routes: { read_hub: null, change_thing_state: null } } },
    });
    for (const name of ['read_hub', 'change_thing_state'] as const) {
      const { operation: _, ...parts } = sampleCall(name);
      expect((await request(house, name, parts)).error).toEqual({
        code: 'unsupported',
        message: `${name} is switched off in cloud.routes`,
        http_status: null,
      });
    }
  });
});

describe('a large answer', () => {
  it('is left out, which is no failure, and its record can still be read', async () => {
    const house = await shownHouse();
    const { sonics } = house.simulator.world;
    for (const id of sonics.ids) sonics.change(id, { name: 'long '.repeat(20_000) });
    const list = await request(house, 'list_sonics', { transaction: 1 });
    expect(list).toEqual({
      status: 'ok',
      data: null,
      truncated: true,
      bytes: expect.any(Number),
      limit: 262_144,
      message: expect.stringContaining('"page"'),
      transaction: 1,
    });
    expect((list as { bytes?: number }).bytes).toBeGreaterThan(400_000);
    const { data } = await request(house, 'read_sonic', { params: { sonic_id: sonicId(house) } });
    expect(data.name).toHaveLength(100_000);
  });

  onMosquitto('is measured by what the broker takes', async () => {
    const house = await shownHouse({ broker: { lines: ['max_packet_size 20000'] } });
    const { sonics } = house.simulator.world;
    sonics.change(sonicId(house), { name: 'x'.repeat(20_000) });
    const sonic = await request(house, 'read_sonic', { params: { sonic_id: sonicId(house) } });
    expect(sonic).toMatchObject({ status: 'ok', data: null, truncated: true });
    expect((sonic as { limit?: number }).limit).toBeLessThan(20_000);
    expect(
      (
        await request(house, 'read_property_settings', {
          params: { property_id: house.simulator.world.properties.ids[0] },
        })
      ).data,
    ).not.toBeNull();
  });
});

describe('the budget', () => {
  const frugal = { max_requests_per_minute: 40, request_timeout: '1500ms' };

  it('holds a flood of a thousand changes back, and every one of them is answered', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: frugal } });
    const from = house.simulator.requests.count();
    const publishing = Array.from({ length: 1_000 }, (_, number) =>
      house.watcher.publish(
        'sonic2mqtt/bridge/request/update_sonic',
        JSON.stringify({
          params: { sonic_id: sonicId(house) },
          body: { name: `n${number}` },
          transaction: number,
        }),
      ),
    );
    await Promise.all(publishing);
    const dropped = () => Number(/answers; dropped: (\d+)/.exec(house.bridge.output)?.[1] ?? 0);
    await waitFor(() => answersTo(house, 'update_sonic').length + dropped() >= 1_000, {
      what: 'all answers',
      timeoutMs: 15_000,
    });
    const answers = answersTo(house, 'update_sonic');
    const codes = answers.map(({ status, error }) => error?.code ?? status);
    expect(new Set(codes)).toEqual(new Set(['ok', 'rate_limited']));
    const carriedOut = codes.filter((code) => code === 'ok').length;
    expect(asked(house, 'update_sonic')).toHaveLength(carriedOut);
    // A minute's budget, a quarter of it beyond, and what was earned meanwhile.
    expect(house.simulator.requests.count() - from).toBeLessThan(60);
    const words = 'cloud.max_requests_per_minute is used up; try again in a while';
    expect(answers.map(({ error }) => error?.message)).toContain(words);
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(answers.length);
    expect((await request(house, 'sign_out')).error?.code).toBe('not_permitted');
    // The valve's own topic is exempt.
    await house.watcher.publish(`sonic2mqtt/sonic/${sonicId(house)}/valve/set`, 'CLOSE');
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${sonicId(house)}`,
      (text) => JSON.parse(text).valve !== 'open',
    );
    expect(asked(house, 'command_valve')).toHaveLength(1);
  });

  it('lets reads wait for their turn, and those in vain are told that it was the budget', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: frugal } });
    const sent = Array.from({ length: 60 }, (_, transaction) =>
      house.watcher.publish('sonic2mqtt/bridge/request/list_signals', JSON.stringify({ transaction })),
    );
    await Promise.all(sent);
    await waitFor(() => answersTo(house, 'list_signals').length === 60, { what: 'all answers' });
    const codes = new Set(answersTo(house, 'list_signals').map(({ status, error }) => error?.code ?? status));
    expect(codes).toEqual(new Set(['ok', 'rate_limited']));
    const words = 'cloud.max_requests_per_minute left no room for it in its time';
    const held = answersTo(house, 'list_signals').filter(({ error }) => error?.message === words);
    expect(held.length).toBeGreaterThan(4);
    expect(outcomes(house, 'list_signals').filter(({ reason }) => reason === words)).toMatchObject(
      held.map(() => ({ status: 'refused', http_status: null })),
    );
  });

  it('and the wish of the cloud to wait are told apart', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '800ms' } } });
    house.simulator.setFaults([fault('rate-limit=60@read_signal')]);
    const first = await request(house, 'read_signal', { params: { signal_id: 'x' } });
    expect(first.error).toMatchObject({ code: 'rate_limited', http_status: 429 });
    const second = await request(house, 'read_sonic', { params: { sonic_id: sonicId(house) } });
    expect(second.error).toMatchObject({ code: 'rate_limited', http_status: null });
    expect(second.error?.message).toMatch(/^the cloud asks to wait another \d+/);
    expect(outcomes(house, 'read_signal').at(-1)?.status).toBe('error');
    expect(outcomes(house, 'read_sonic').at(-1)?.status).toBe('refused');
  });
});

describe('requests that the cloud keeps waiting', () => {
  it('are four at a time with fifty behind them; more are turned away, and those that wait in vain are not sent', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '1s' } } });
    house.simulator.setFaults([fault('hang@read_signal')]);
    const body = { params: { signal_id: house.simulator.world.signals.ids[0] } };
    const before = asked(house, 'read_signal').length;
    const sent = Array.from({ length: 60 }, (_, transaction) =>
      house.watcher.publish(
        'sonic2mqtt/bridge/request/read_signal',
        JSON.stringify({ ...body, transaction }),
      ),
    );
    await Promise.all(sent);
    await waitFor(() => answersTo(house, 'read_signal').length === 60, { what: 'all answers' });
    const answers = answersTo(house, 'read_signal');
    const turnedAway = answers.filter(({ error }) => error?.code === 'rate_limited');
    expect(turnedAway).toHaveLength(6);
    expect(turnedAway[0]?.error?.message).toBe('4 requests are under way and 50 wait already');
    expect(answers.filter(({ error }) => error?.code === 'timeout')).toHaveLength(54);
    expect(asked(house, 'read_signal').length - before).toBeLessThanOrEqual(4);
    house.simulator.setFaults([]);
    expect((await request(house, 'read_signal', body)).status).toBe('ok');
  });

  it('do not keep the bridge from stopping, and are answered', async () => {
    const house = await shownHouse({ config: { schedules: hourly, cloud: { request_timeout: '60s' } } });
    house.simulator.setFaults([fault('hang@update_signal')]);
    const [signal_id = ''] = house.simulator.world.signals.ids;
    for (let transaction = 0; transaction < 6; transaction++) {
      await house.watcher.publish(
        'sonic2mqtt/bridge/request/update_signal',
        JSON.stringify({ params: { signal_id }, body: { name: 'late' }, transaction }),
      );
    }
    await waitFor(
      () => asked(house, 'update_signal').length === 3 || asked(house, 'update_signal').length === 4,
      {
        what: 'the requests to hang',
      },
    );
    const { code, durationMs } = await house.bridge.stop();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await waitFor(() => answersTo(house, 'update_signal').length === 6, { what: 'the answers' });
    const answers = answersTo(house, 'update_signal');
    for (const { error } of answers) expect(error?.code).toBe('cloud_unavailable');
    const underWay = 'the bridge was stopped before the cloud answered; it may still be carried out';
    expect(answers.map(({ error }) => error?.message).toSorted()).toEqual([
      'the bridge was stopped',
      'the bridge was stopped',
      ...Array(4).fill(underWay),
    ]);
    await house.watcher.settle();
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
  });
});

describe('a valve by request', () => {
  const calm = { schedules: hourly };
  const valve = (sonic_id: string, action: string, transaction: unknown = null) =>
    JSON.stringify({ params: { sonic_id }, body: { action }, transaction });
  const thing = (thing_id: string, action: string, transaction: unknown = null) =>
    JSON.stringify({ params: { thing_id }, body: { action }, transaction });

  it('moves, is shown moving and then as the cloud confirms it', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    const topic = `sonic2mqtt/sonic/${id}`;
    expect(await request(house, 'command_valve', valve(id, 'close'))).toEqual({
      status: 'ok',
      data: null,
      transaction: null,
    });
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
    const shown = house.watcher.messages.filter((message) => message.topic === topic);
    expect(shown.map(({ text }) => JSON.parse(text).valve)).toContain('closing');
    expect(await request(house, 'change_thing_state', thing(id, 'open'))).toMatchObject({
      status: 'ok',
      data: { status: 'ok' },
    });
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'opening');
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
    expect(house.events('command').map(({ status }) => status)).toEqual(['ok', 'ok']);
  });

  it('shares one lane with its own topic, whichever operation is asked for: the newest that waits wins', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    house.simulator.setFaults([fault('latency=600@command_valve'), fault('latency=600@change_thing_state')]);
    const at = (operation: string) => `sonic2mqtt/bridge/request/${operation}`;
    await house.watcher.publish(at('command_valve'), valve(id, 'close', 1));
    await house.watcher.publish(at('change_thing_state'), thing(id, 'open', 2));
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'OPEN');
    await house.watcher.publish(at('command_valve'), valve(id, 'open', 3));
    await house.watcher.publish(at('change_thing_state'), thing(id, 'open', 4));
    await waitFor(() => house.events('command').length === 5, { what: 'five outcomes' });
    const summary = house
      .events('command')
      .map(({ topic, status }) => [String(topic).split('/').at(-1), status]);
    expect(summary).toEqual([
      ['change_thing_state', 'superseded'],
      ['set', 'superseded'],
      ['command_valve', 'superseded'],
      ['command_valve', 'ok'],
      ['change_thing_state', 'ok'],
    ]);
    const superseded = {
      code: 'rate_limited',
      message: 'superseded: a newer command for this valve arrived',
      http_status: null,
    };
    await waitFor(() => answersTo(house, 'change_thing_state').length === 2, { what: 'the answers' });
    expect(answersTo(house, 'change_thing_state')).toEqual([
      { status: 'error', error: superseded, transaction: 2 },
      { status: 'ok', data: { status: 'ok' }, transaction: 4 },
    ]);
    expect(answersTo(house, 'command_valve')).toEqual([
      { status: 'error', error: superseded, transaction: 3 },
      { status: 'ok', data: null, transaction: 1 },
    ]);
    expect(asked(house, 'command_valve').map(({ body }) => body)).toEqual([{ action: 'close' }]);
    expect(asked(house, 'change_thing_state').map(({ body }) => body)).toEqual([{ action: 'open' }]);
  });

  it('that is wrong supersedes nothing', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    house.simulator.setFaults([fault('latency=500@command_valve')]);
    const { set } = { set: `sonic2mqtt/sonic/${id}/valve/set` };
    await house.watcher.publish(set, 'CLOSE');
    await house.watcher.publish(set, 'OPEN');
    expect((await request(house, 'command_valve', valve(id, 'explode'))).error?.code).toBe('invalid_request');
    await waitFor(() => house.events('command').length === 3, { what: 'three outcomes' });
    expect(house.events('command').map(({ status }) => status)).toEqual(['refused', 'ok', 'ok']);
  });

  it('is sent once when the cloud breaks off or fails, and never later', async () => {
    const house = await shownHouse({ config: calm });
    for (const [trouble, code] of [
      ['error=503', 'cloud_unavailable'],
      ['reset', 'cloud_unavailable'],
      ['hang', 'timeout'],
    ] as const) {
      house.simulator.setFaults([fault(`${trouble}@command_valve`)]);
      const before = asked(house, 'command_valve').length;
      const { error } = await request(house, 'command_valve', valve(sonicId(house), 'close'));
      expect(error?.code).toBe(code);
      expect(asked(house, 'command_valve')).toHaveLength(before + 1);
    }
    expect(house.json(`sonic/${sonicId(house)}`).valve).toBe('open');
  });

  it('that does not follow is told as not_confirmed', async () => {
    const house = await shownHouse({
      config: { ...calm, valve: { confirm_timeout: '700ms', confirm_interval: '100ms' } },
    });
    const id = sonicId(house);
    house.simulator.world.dropRadio(id);
    expect((await request(house, 'command_valve', valve(id, 'close'))).status).toBe('ok');
    await waitFor(() => outcomes(house, 'command_valve').length === 2, { what: 'both outcomes' });
    expect(outcomes(house, 'command_valve')).toMatchObject([
      { status: 'ok' },
      { status: 'error', reason: 'not_confirmed' },
    ]);
    expect(answersTo(house, 'command_valve')).toHaveLength(1);
  });

  it('that the filters hide moves too, confirmed and not shown', async () => {
    const confirm = { confirm_timeout: '2s', confirm_interval: '100ms' };
    const simulated = { properties: 2, signals: 2, sonics: 2 };
    const house = await startHouse({
      cloud: simulated,
      config: { ...calm, valve: confirm },
      isStarted: false,
    });
    const { world } = house.simulator;
    const [shown = '', hidden = ''] = world.sonics.ids;
    house.startBridge({ filters: { properties: [world.propertyOf(shown)] } });
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${shown}/incidents`, () => true, 10_000);
    expect(house.watcher.last.has(`sonic2mqtt/sonic/${hidden}`)).toBe(false);
    expect((await request(house, 'command_valve', valve(hidden, 'close'))).status).toBe('ok');
    await house.bridge.waitForOutput(new RegExp(`sonic ${hidden} is closed after`));
    expect(outcomes(house, 'command_valve')).toMatchObject([{ status: 'ok' }]);
    expect(house.watcher.last.has(`sonic2mqtt/sonic/${hidden}`)).toBe(false);
  });

  it('of a sonic on Wi-Fi is confirmed by its own record', async () => {
    const house = await shownHouse({ cloud: { wifiSonics: 1 }, config: calm });
    const [id = ''] = house.simulator.world.wifiSonics.ids;
    expect((await request(house, 'command_wifi_valve', valve(id, 'close'))).status).toBe('ok');
    await house.bridge.waitForOutput(new RegExp(`sonic .*${id}.* is closed after`));
    expect(asked(house, 'read_wifi_sonic').length).toBeGreaterThan(0);
    expect(asked(house, 'read_sonic')).toEqual([]);
  });

  it('that is asked for something else than to move is passed on, in its lane', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    const { error } = await request(house, 'change_thing_state', thing(id, 'blink'));
    expect(error).toMatchObject({ code: 'validation_failed', http_status: 422 });
    expect(asked(house, 'change_thing_state').map(({ body }) => body)).toEqual([{ action: 'blink' }]);
    expect(house.json(`sonic/${id}`).valve).toBe('open');
  });
});

it('every operation has a name that a topic can hold', () => {
  for (const name of operationNames) expect(isOperationName(name) && /^[a-z_]+$/.test(name)).toBe(true);
});
