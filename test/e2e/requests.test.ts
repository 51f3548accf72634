import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type OperationName,
  operationNames,
  operationRow,
  type ParamsOf,
} from '../../src/cloud/operations.ts';
import { fault, type House, hourly } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { sampleCall } from '../support/operationSamples.ts';
import { answersTo, asked, outcomes, request, shownHouse, sonicId } from '../support/requester.ts';
import { waitFor } from '../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());

describe('every operation', () => {
  let house: House;
  beforeAll(async () => {
    house = await shownHouse({
      cloud: { wifiSonics: 1 },
      config: { schedules: hourly, control: { account: true } },
    });
  });
  afterAll(() => house.close());

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
      update_wifi_sonic: { sonic_id: wifi },
      patch_wifi_sonic: { sonic_id: wifi },
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

  it('shows records with all that the cloud says of them, and no more', async () => {
    const id = sonicId(house);
    const { data } = await request(house, 'read_sonic', { params: { sonic_id: id } });
    expect(data).toMatchObject({ ...house.simulator.world.sonics.get(id) });
    const [property_id = ''] = house.simulator.world.properties.ids;
    const { webhook_url: _, ...settings } = house.simulator.world.settings.get(property_id) ?? {};
    expect((await request(house, 'read_property_settings', { params: { property_id } })).data).toEqual(
      settings,
    );
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
  afterAll(() => house.close());

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
    [
      'that is far too large',
      'list_sonics',
      `{"body":"${'x'.repeat(70_000)}"}`,
      'invalid_request',
      /larger than 64 KiB/,
    ],
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
    ['error=405@read_wifi_telemetry', 'read_wifi_telemetry', { sonic_id: 'x' }, 'forbidden', 405],
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

  it('for what the cloud does not offer a device that it has says so', async () => {
    const other = await shownHouse();
    const params = { thing_id: sonicId(other) };
    const start = () => request(other, 'start_pressure_test', { params, body: { source: 'test' } });
    other.simulator.setFaults([fault('error=404@start_pressure_test')]);
    expect((await start()).error).toMatchObject({ code: 'unsupported', http_status: 404 });
    other.simulator.setFaults([]);
    expect((await start()).error).toMatchObject({ code: 'unsupported', http_status: null });
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
    expect(calm.json(`property/${property_id}/settings`).webhook_url).toBe('https://example.com/x');
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
  afterAll(() => house.close());

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
      const [first] = [control].flat();
      const { operation: _, ...parts } = sampleCall(name);
      const { error } = await request(house, name, parts);
      expect(error, name).toEqual({
        code: 'not_permitted',
        message: `not permitted: control.${first} is off in the configuration`,
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
