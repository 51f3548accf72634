import { describe, expect, it } from 'vitest';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../../src/cloud/operations.ts';
import { answerWith, benchFor, forget, heard, isUncertain } from '../support/operationBench.ts';
import { operationSamples, sampleCall } from '../support/operationSamples.ts';
import { errorOf } from '../support/testClient.ts';

/** Where each operation is, by the interface document and what is known beyond it, and which option permits it. */
const routes: Readonly<Record<OperationName, string>> = {
  sign_in: 'POST /user-service/auth/sign_in',
  refresh_token: 'PUT /user-service/auth/refresh_token',
  validate_token: 'GET /user-service/auth/validate_token',
  sign_out: 'DELETE /user-service/auth/sign_out',
  list_incidents: 'GET /ape/v1/incidents',
  read_incident: 'GET /ape/v1/incidents/{incident_id}',
  act_on_incident: 'PUT /ape/v1/incidents/{incident_id}/action incidents',
  list_property_incidents: 'GET /ape/v1/properties/{property_id}/incidents',
  act_on_property_incident:
    'PUT /iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action incidents assumed',
  list_properties: 'GET /ape/v1/properties',
  read_property: 'GET /ape/v1/properties/{property_id}',
  update_property: 'PUT /ape/v1/properties/{property_id} settings',
  patch_property: 'PATCH /ape/v1/properties/{property_id} settings',
  read_notification_settings: 'GET /ape/v1/properties/{property_id}/notifications',
  update_notification_settings: 'PUT /ape/v1/properties/{property_id}/notifications settings',
  read_property_settings: 'GET /ape/v1/properties/{property_id}/settings',
  update_property_settings: 'PUT /ape/v1/properties/{property_id}/settings settings',
  list_property_signals: 'GET /ape/v1/properties/{property_id}/signals',
  list_signals: 'GET /ape/v1/signals',
  read_signal: 'GET /ape/v1/signals/{signal_id}',
  update_signal: 'PUT /ape/v1/signals/{signal_id} settings',
  patch_signal: 'PATCH /ape/v1/signals/{signal_id} settings',
  list_signal_sonics: 'GET /ape/v1/signals/{signal_id}/sonics',
  list_sonics: 'GET /ape/v1/sonics',
  read_sonic: 'GET /ape/v1/sonics/{sonic_id}',
  update_sonic: 'PUT /ape/v1/sonics/{sonic_id} settings',
  patch_sonic: 'PATCH /ape/v1/sonics/{sonic_id} settings',
  command_valve: 'PUT /ape/v1/sonics/{sonic_id}/valve valves',
  change_thing_state: 'PUT /iot-core/customer_app/things/{thing_id}/state valves assumed',
  create_property: 'POST /iot-core/customer_app/properties account assumed',
  update_customer_property: 'PUT /iot-core/customer_app/properties/{property_id} settings assumed',
  update_property_configuration:
    'PUT /iot-core/customer_app/properties/{property_id}/configuration settings assumed',
  update_user: 'PUT /user-service/customer_app/users/{user_id} account',
  create_invitation: 'POST /user-service/customer_app/properties/{property_id}/invitations account assumed',
  update_customer_notifications:
    'PUT /iot-core/customer_app/properties/{property_id}/notifications settings assumed',
  start_pressure_test:
    'POST /iot-core/customer_app/things/{thing_id}/pressure_tests pressure_tests,valves assumed',
  read_pressure_tests: 'GET /iot-core/customer_app/things/{thing_id}/pressure_tests assumed',
  read_daily_usage: 'GET /iot-core/customer_app/things/{thing_id}/daily_usage assumed',
  read_appliance_categories: 'GET /iot-core/customer_app/appliance_categories assumed',
  read_hub: 'GET /iot-core/customer_app/hubs/{hub_id} assumed',
  read_user: 'GET /user-service/customer_app/users/{user_id} beyond',
  read_telemetry: 'GET /ape/v1/sonics/{sonic_id}/telemetry beyond',
  list_wifi_sonics: 'GET /ape/v1/sonics_wifi beyond',
  read_wifi_sonic: 'GET /ape/v1/sonics_wifi/{sonic_id} beyond',
  update_wifi_sonic: 'PUT /ape/v1/sonics_wifi/{sonic_id} settings beyond',
  patch_wifi_sonic: 'PATCH /ape/v1/sonics_wifi/{sonic_id} settings beyond',
  command_wifi_valve: 'PUT /ape/v1/sonics_wifi/{sonic_id}/valve valves beyond',
  read_wifi_telemetry: 'GET /ape/v1/sonics_wifi/{sonic_id}/telemetry beyond',
};

const callOf = (name: OperationName): Call => sampleCall(name);

describe.each(operationNames)('%s', (name) => {
  const { reply, ...parts } = operationSamples[name];
  const good = reply === undefined ? {} : { json: reply };
  const params = paramNames(operationRow(name).path);

  it('is where the documents say, and asks for the right permission', () => {
    const { method, path, control, source, number, session } = operationRow(name);
    const known = source === 'assumed' ? 'assumed' : number === null && !session ? 'beyond' : undefined;
    expect([method, path, control, known].filter(Boolean).join(' ')).toBe(routes[name]);
  });

  it('is asked again after a failure only where it changes nothing', () => {
    const { method, retry, control, session } = operationRow(name);
    expect(retry).toBe(method === 'GET' ? 'safe' : 'never');
    expect(control !== undefined).toBe(method !== 'GET' && !session);
  });

  it('goes where an override says, encoded in the same way', async () => {
    const override = `POST /elsewhere${params.map((param) => `/x/{${param}}`).join('')}`;
    const { client, stub } = await benchFor(name, good, { routes: { [name]: override } });
    // Signing in goes without a token.
    stub.tokens.add('');
    await client.call(callOf(name));
    expect(stub.requests).toHaveLength(1);
    expect(stub.requests[0]?.method).toBe('POST');
    expect(stub.requests[0]?.path).toBe(
      `/elsewhere${params.map((param) => `/x/${param}%20%C3%BC%3F%23%26%2B`).join('')}`,
    );
    expect(stub.requests[0]?.body).toEqual('body' in parts ? parts.body : undefined);
  });

  it('goes nowhere where its route is switched off', async () => {
    const bench = await benchFor(name, good, { routes: { [name]: null } });
    expect(bench.client.availability(name)).toBe('off');
    const error = await errorOf(bench.client.call(callOf(name)));
    expect(error).toMatchObject({ kind: 'unsupported', mayHaveActed: false });
    expect(error.message).toBe(`${name} is switched off in cloud.routes`);
    expect(heard(bench, name)).toEqual([]);
    const others = operationNames.filter((other) => other !== name);
    expect(new Set(others.map((other) => bench.client.availability(other)))).toEqual(new Set(['available']));
  });
});

const published = operationNames.filter((name) => !isUncertain(name));
const uncertain = operationNames.filter((name) => isUncertain(name));

describe.each(uncertain)('%s, which may not exist,', (name) => {
  it.each([404, 405, 501])('goes off after a %i, which is said once, with its route', async (status) => {
    const bench = await benchFor(name, { status, json: { message: 'no such thing' } });
    const ask = () => errorOf(bench.client.call(callOf(name), { priority: 'command' }));
    for (const error of [...(await Promise.all([ask(), ask()])), await ask()]) {
      expect(error).toMatchObject({ kind: 'unsupported', operation: name, mayHaveActed: false });
    }
    expect(heard(bench, name)).toHaveLength(2);
    expect(bench.client.availability(name)).toBe('unavailable');
    const said = bench.lines.filter((line) => line.includes('does not offer'));
    expect(said).toHaveLength(1);
    const { method, path } = operationRow(name);
    expect(JSON.parse(said[0] ?? '').msg).toBe(
      `The cloud does not offer ${name}: ${status} for ${method} ${path}. It is not asked again until the next start; if your cloud has it elsewhere, say so in cloud.routes.${name}`,
    );
    const others = operationNames.filter((other) => other !== name);
    expect(others.map((other) => bench.client.availability(other))).not.toContain('unavailable');
  });

  it('is named by its overridden route when that does not exist either', async () => {
    const bench = await benchFor(name, { status: 404 }, { routes: { [name]: 'POST /v2/elsewhere' } });
    await errorOf(bench.client.call(callOf(name)));
    const said = bench.lines.filter((line) => line.includes(`404 for POST /v2/elsewhere.`));
    expect(said).toHaveLength(1);
  });

  const isAboutRecords = paramNames(operationRow(name).path).length > 0 || name === 'list_wifi_sonics';
  const fate = isAboutRecords
    ? ['stays on', 'that is about a record', 'notFound', 'available']
    : ['is given up', 'that can only be about the route', 'unsupported', 'unavailable'];
  const [ending, reason, kind, availability] = fate;
  it(`${ending} after a 404 once it has answered: ${reason}`, async () => {
    const { reply } = operationSamples[name];
    const bench = await benchFor(name, { json: reply });
    await bench.client.call(callOf(name));
    answerWith(bench, name, { status: 404 });
    expect(await errorOf(bench.client.call(callOf(name)))).toMatchObject({ kind });
    expect(bench.client.availability(name)).toBe(availability);
  });
});

describe.each(published)('%s, which is published,', (name) => {
  it('is asked again after a 404, which is about a record', async () => {
    const bench = await benchFor(name, {});
    for (const status of [404, 405, 501]) {
      answerWith(bench, name, { status });
      forget(bench);
      await errorOf(bench.client.call(callOf(name), { priority: 'command' }));
      expect(heard(bench, name)).not.toEqual([]);
    }
    expect(bench.client.availability(name)).toBe('available');
    expect(bench.lines.filter((line) => line.includes('does not offer'))).toEqual([]);
  });
});
