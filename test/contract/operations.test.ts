import { describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorKind } from '../../src/cloud/errors.ts';
import {
  type AnyOperation,
  type BodyOf,
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
  type QueryOf,
} from '../../src/cloud/operations.ts';
import { type StubAnswer, stubEmail } from '../support/cloudStub.ts';
import { type BenchOptions, startBench } from '../support/testClient.ts';

type Sample<Name extends OperationName> = { readonly reply: unknown } & ([QueryOf<Name>] extends [never]
  ? unknown
  : { readonly query: QueryOf<Name> }) &
  ([BodyOf<Name>] extends [never] ? unknown : { readonly body: BodyOf<Name> });

const incident = {
  id: 'i-1',
  type: 'long_flow_alert',
  open: true,
  severity: 'high',
  possible_actions: ['resolve'],
};
const property = { id: 'p-1', name: 'Home', active: true };
const settings = { auto_shut_off: true, pressure_tests_schedule: '03:00:00', timezone: 'Europe/London' };
const notifications = { low_battery_level: true, high_volume_threshold_litres: 250 };
const signal = { id: 'g-1', name: 'Hub', cloud_connection: 'connected', wifi_rssi: -69 };
const sonic = {
  id: 's-1',
  name: 'Mains',
  valve_state: 'open',
  battery: 'high',
  radio_connection: 'connected',
};
const session = { token_details: 'token-x', user_details: { id: 'u-1' } };
const byName = { name: 'Up & down', page: 2 };

function list(...data: unknown[]) {
  return { data, page_number: 2, page_size: 10, total_entries: 10 + data.length, total_pages: 2 };
}

/** One good call and its answer for each row; a row without one does not compile. */
const samples: { readonly [Name in OperationName]: Sample<Name> } = {
  sign_in: { body: { email: stubEmail, password: 'correct horse' }, reply: session },
  refresh_token: { body: {}, reply: session },
  validate_token: { reply: session },
  sign_out: { reply: { success: true } },
  list_incidents: { query: { type: 'long_flow_alert', open: true, page: 2 }, reply: list(incident) },
  read_incident: { reply: incident },
  act_on_incident: { body: { action: 'resolve' }, reply: incident },
  list_property_incidents: { query: { open: false, page: 2 }, reply: list(incident) },
  list_properties: { query: { membership_role: 'owner', search: 'a/b?c', page: 2 }, reply: list(property) },
  read_property: { reply: property },
  update_property: { body: { name: 'Cottage' }, reply: property },
  patch_property: { body: { lat: 51.5, lng: -0.1 }, reply: property },
  read_notification_settings: { reply: notifications },
  update_notification_settings: { body: { low_battery_level: false }, reply: notifications },
  read_property_settings: { reply: settings },
  update_property_settings: { body: { pressure_tests_schedule: '03:00:00' }, reply: settings },
  list_property_signals: { query: { page: 2 }, reply: list(signal) },
  list_signals: { query: byName, reply: list(signal) },
  read_signal: { reply: signal },
  update_signal: { body: { name: 'Hall' }, reply: signal },
  patch_signal: { body: { name: 'Hall' }, reply: signal },
  list_signal_sonics: { query: { page: 2 }, reply: list(sonic) },
  list_sonics: { query: byName, reply: list(sonic) },
  read_sonic: { reply: sonic },
  update_sonic: { body: { name: 'Mains' }, reply: sonic },
  patch_sonic: { body: { name: 'Mains' }, reply: sonic },
  command_valve: { body: { action: 'close' }, reply: undefined },
  read_telemetry: { reply: { pressure: 3252, water_flow: 0, water_temp: 17.1, probed_at: 1_623_414_482 } },
};

/** A call of the operation with its sample; path parameters hold what has to be encoded. */
function sampleCall(name: OperationName): Call {
  const { reply: _, ...parts } = samples[name];
  const params = Object.fromEntries(
    paramNames(operationRow(name).path).map((param) => [param, `${param} ü?`]),
  );
  return { operation: name, params, ...parts } as Call;
}

/** A bench whose cloud answers everything, sessions included, in the same way, once a session is there. */
async function benchThat(answer: StubAnswer, options: BenchOptions = {}) {
  const bench = await startBench(() => answer, { session: { token: 'kept', since: Date.now() }, ...options });
  bench.stub.sessionHandler = () => answer;
  return bench;
}

/** What the stub heard of the operation itself. */
function heard({ stub }: Awaited<ReturnType<typeof benchThat>>, name: OperationName) {
  return operationRow(name).session ? stub.sessionRequests : stub.requests;
}

async function errorOf(promise: Promise<unknown>): Promise<CloudError> {
  const error = await promise.then(
    () => expect.fail('it was answered'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CloudError);
  return error as CloudError;
}

const isUncertain = (row: AnyOperation) =>
  row.provenance === 'assumed' || (row.number === null && row.session !== true);

describe.each(operationNames)('%s', (name) => {
  const row = operationRow(name);
  const { reply, ...parts } = samples[name];
  const { query, body } = { query: undefined, body: undefined, ...parts };

  it('is asked for as its row says, and its answer is read', async () => {
    const bench = await benchThat(reply === undefined ? {} : { json: reply });
    const answer = await bench.client.call(sampleCall(name));
    expect(bench.stub.complaints).toEqual([]);
    const [request, ...others] = heard(bench, name);
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      method: row.method,
      path: row.path.replace(/\{(\w+)\}/g, '$1%20%C3%BC%3F'),
      query: Object.fromEntries(Object.entries(query ?? {}).map(([key, value]) => [key, String(value)])),
      body,
      token: name === 'sign_in' ? null : 'kept',
    });
    if (row.reply.kind === 'none') expect(answer).toBeNull();
    else if (row.reply.kind === 'record') expect(answer).toMatchObject(reply as object);
    else {
      expect(answer).toMatchObject({
        records: (reply as { data: object[] }).data,
        dropped: 0,
        pageNumber: 2,
      });
    }
  });

  it('refuses a call that is not as its row says, before anything is sent', async () => {
    const bench = await benchThat({});
    const call = sampleCall(name);
    const wrong = [
      { ...call, params: { ...call.params, stranger: 'x' } },
      { ...call, query: { ...(query ?? {}), stranger: 'x' } },
      { ...call, body: { ...(body ?? {}), stranger: 'x' } },
      ...paramNames(row.path).map((param) => ({ ...call, params: { ...call.params, [param]: '..' } })),
    ];
    for (const each of wrong) {
      const error = await errorOf(bench.client.call(each as Call));
      expect(error).toMatchObject({ kind: 'invalid', mayHaveActed: false });
    }
    expect(heard(bench, name)).toEqual([]);
  });

  const isSafe = row.retry === 'safe';
  const statuses: [number, CloudErrorKind, number][] = [
    [400, 'rejected', 1],
    [403, 'forbidden', 1],
    [404, isUncertain(row) ? 'unsupported' : 'notFound', 1],
    [405, isUncertain(row) ? 'unsupported' : 'rejected', 1],
    [409, 'rejected', 1],
    [412, 'rejected', 1],
    [422, 'rejected', 1],
    [429, 'rateLimited', 3],
    [500, 'unavailable', isSafe ? 3 : 1],
    [501, isUncertain(row) ? 'unsupported' : 'unavailable', isSafe && !isUncertain(row) ? 3 : 1],
    [503, 'unavailable', isSafe ? 3 : 1],
  ];
  it.each(statuses)('takes %i for %s and asks %i times', async (status, kind, times) => {
    const bench = await benchThat({ status, json: { message: 'said\nthe cloud' } });
    const error = await errorOf(bench.client.call(sampleCall(name), { priority: 'command' }));
    expect(error).toMatchObject({ kind, operation: name, status });
    expect(error.message).toContain('said the cloud');
    expect(heard(bench, name)).toHaveLength(times);
    expect(bench.client.availability(name)).toBe(kind === 'unsupported' ? 'unavailable' : 'available');
  });

  it('takes a 401 for auth once a new session has not helped either', async () => {
    const bench = await startBench(() => ({ status: 401, text: 'expired' }), {
      session: { token: 'kept', since: Date.now() },
    });
    const lastSegment = row.path.split('/').at(-1) ?? '';
    bench.stub.sessionHandler = ({ path }) =>
      path.endsWith(lastSegment) ? { status: 401, text: 'no' } : undefined;
    const error = await errorOf(bench.client.call(sampleCall(name)));
    expect(error.kind).toBe('auth');
    const asked = heard(bench, name).filter(({ path }) => !row.session || path.endsWith(lastSegment));
    expect(asked.length).toBeLessThanOrEqual(name === 'refresh_token' ? 3 : 2);
  });

  it('takes an answer that is not as promised for unreadable, unless nothing was promised', async () => {
    const nonsense: StubAnswer[] = [
      { text: '<html>Sorry</html>' },
      { text: '' },
      { json: null },
      { json: [1, 2] },
      { json: 'text' },
      { text: '{"id":' },
    ];
    for (const answer of nonsense) {
      const bench = await benchThat(answer);
      const asked = bench.client.call(sampleCall(name));
      if (row.reply.kind === 'none') await expect(asked).resolves.toBeNull();
      else {
        expect(await errorOf(asked)).toMatchObject({ kind: 'unreadable', status: 200 });
        expect(heard(bench, name)).toHaveLength(1);
      }
    }
  });

  it('takes a redirect for unreadable and does not follow it', async () => {
    const bench = await benchThat({ status: 302, headers: { location: 'https://example.com/' } });
    const error = await errorOf(bench.client.call(sampleCall(name)));
    expect(error).toMatchObject({ kind: 'unreadable', status: 302 });
    expect(error.message).toContain('https://example.com/');
    expect(heard(bench, name)).toHaveLength(1);
  });

  it(`is asked ${isSafe ? 'again' : 'once'} when the connection breaks before an answer`, async () => {
    const bench = await benchThat({ fault: 'cut' });
    const error = await errorOf(bench.client.call(sampleCall(name), { priority: 'command' }));
    expect(error).toMatchObject({ kind: 'unavailable', mayHaveActed: true });
    expect(heard(bench, name)).toHaveLength(isSafe ? 3 : 1);
  });

  it('goes where an override says, and nowhere where that is null', async () => {
    const override = `POST /elsewhere/${paramNames(row.path)
      .map((param) => `{${param}}`)
      .join('/')}`;
    const elsewhere = await benchThat({ json: reply ?? {} }, { routes: { [name]: override } });
    if (name === 'sign_in') elsewhere.stub.tokens.add('');
    await elsewhere.client.call(sampleCall(name));
    expect(elsewhere.stub.requests[0]).toMatchObject({ method: 'POST' });
    expect(elsewhere.stub.requests[0]?.path).toMatch(/^\/elsewhere\//);

    const off = await benchThat({ json: reply ?? {} }, { routes: { [name]: null } });
    expect(off.client.availability(name)).toBe('off');
    expect(await errorOf(off.client.call(sampleCall(name)))).toMatchObject({ kind: 'unsupported' });
    expect(heard(off, name)).toEqual([]);
  });
});
