import { afterEach, beforeEach, expect, it } from 'vitest';
import { readEnvelope } from '../../src/cloud/decoders.ts';
import { type OperationName, operationNames, operationRow, paramNames } from '../../src/cloud/operations.ts';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { CloudTestClient } from '../support/cloudTestClient.ts';
import { operationSamples, pathIn } from '../support/operationSamples.ts';

let simulator: Simulator;
let client: CloudTestClient;

beforeEach(async () => {
  simulator = new Simulator({ quiet: true, sonics: 12, wifiSonics: 2 });
  await simulator.start();
  client = new CloudTestClient(simulator);
  await client.signIn();
});
afterEach(() => simulator.stop());

/** The valve commands proper are answered with nothing. */
const withoutAnswer: readonly OperationName[] = ['command_valve', 'command_wifi_valve'];

const pathOf = (name: OperationName, id?: string) => pathIn(simulator.world, name, id);

function ask(name: OperationName, path = pathOf(name), sent = {}) {
  const { body } = { body: undefined, ...operationSamples[name] };
  const good = name === 'sign_in' ? demoCredentials : body;
  return client.ask(operationRow(name).method, path, { ...(good !== undefined && { body: good }), ...sent });
}

const withIds = operationNames.filter((name) => paramNames(operationRow(name).path).length > 0);
const ofUser = operationNames.filter((name) => operationRow(name).path.includes('{user_id}'));
const changes = operationNames.filter((name) => operationRow(name).control);
const ofProperty = changes.filter((name) => withIds.includes(name) && !ofUser.includes(name));

/** What a refused change must leave as it was. */
function changeable(): string {
  const { world } = simulator;
  const { properties, settings, notifications, signals, sonics, wifiSonics, incidents } = world;
  const tests = world.thingIds.map((id) => world.pressureTestsOf(id));
  const records = [properties, settings, notifications, signals, sonics, wifiSonics, incidents];
  return JSON.stringify([records.map((each) => [...each]), [...world.leakProtection, ...world.push], tests]);
}

it.each([
  ['as it is', (path: string) => path],
  ['with a slash at the end', (path: string) => `${path}/`],
  [
    'with ids in capitals',
    (path: string) => path.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, (id) => id.toUpperCase()),
  ],
])('each operation is answered as its row promises, for a path %s', async (_, sent) => {
  for (const name of operationNames) await expectPromised(name, sent);
});

async function expectPromised(name: OperationName, sent: (path: string) => string): Promise<void> {
  const { reply, session } = operationRow(name);
  if (session) await client.signIn();
  // What can be asked for once only.
  simulator.world.actOnIncident(simulator.world.incidents.ids[0] ?? '', 'dismiss');
  simulator.world.actOnIncident(simulator.world.incidents.ids[0] ?? '', 'reopen');
  simulator.world.setValve(simulator.world.sonics.ids[0] ?? '', 'open');
  const { status, text } = await ask(name, sent(pathOf(name)));
  expect([name, status, text]).toEqual([name, 200, text]);
  if (session) await client.signIn();
  if (withoutAnswer.includes(name)) {
    expect(text).toBe('');
    return;
  }
  const whole: unknown = JSON.parse(text);
  const part = reply.kind === 'record' ? reply.part : undefined;
  const answer: unknown = part === undefined ? whole : Object(whole)[part];
  if (reply.kind !== 'page') {
    const read = reply.decode(answer);
    expect(read, name).toMatchObject({ ok: true, notices: [], value: answer });
    // The webhook's address is not shown by the interface document, and nothing else is missing.
    const missing = Object.keys(read.ok ? (read.value ?? {}) : {}).filter(
      (key) => !(key in (answer as object)),
    );
    expect(missing, name).toEqual(name.endsWith('_property_settings') ? ['webhook_url'] : []);
    return;
  }
  const envelope = readEnvelope(answer);
  expect(envelope, name).toMatchObject({ ok: true, notices: [] });
  const records = envelope.ok ? envelope.value.data : [];
  expect(records.length, name).toBeGreaterThan(0);
  for (const record of records) {
    expect(reply.decode(record), name).toEqual({ ok: true, notices: [], value: record });
  }
}

it('a missing, unknown or signed-out token is answered with 401 without JSON, whatever is asked for', async () => {
  const signedOut = client.token;
  await client.ask('DELETE', '/user-service/auth/sign_out');
  for (const name of operationNames.filter((each) => each !== 'sign_in')) {
    const { status, contentType, text } = await ask(name, pathOf(name), { token: null });
    expect([name, status, contentType]).toEqual([name, 401, 'text/html; charset=utf-8']);
    expect(() => JSON.parse(text)).toThrow();
  }
  for (const token of ['nonsense', signedOut]) {
    expect((await ask('read_sonic', pathOf('read_sonic'), { token })).status).toBe(401);
  }
});

it('an id that does not exist is answered with 404', async () => {
  for (const name of withIds) {
    const { status, text } = await ask(name, pathOf(name, '00000000-0000-4000-8000-000000000000'));
    expect([name, status, JSON.parse(text)]).toEqual([name, 404, { message: 'not found' }]);
  }
  for (const id of ['a%2Fb', '%E0%A4%A', 'x'.repeat(2_000)]) {
    expect((await ask('read_sonic', pathOf('read_sonic', id))).status).toBe(404);
  }
});

it.each(['sign_in', 'patch_sonic', 'command_valve'] as const)(
  '%s refuses a body that its row refuses, as each does',
  async (name) => {
    const cases = [
      { sent: { text: '{"name":' }, status: 400 },
      { sent: { contentType: null }, status: 415 },
      { sent: { contentType: 'text/plain' }, status: 415 },
      { sent: { body: { nonsense: 1 } }, status: 422 },
      { sent: { body: {} }, status: 422 },
      { sent: { body: [] }, status: 422 },
      { sent: { text: 'null' }, status: 422 },
      { sent: { text: `"${'x'.repeat(1_000_001)}"` }, status: 413 },
    ];
    for (const { sent, status } of cases) {
      const heard = await ask(name, pathOf(name), sent);
      expect(heard.status, JSON.stringify(sent).slice(0, 80)).toBe(status);
      expect(JSON.parse(heard.text)).toEqual({ message: expect.any(String) });
    }
  },
);

it('a guest may change nothing of a property, and what is not of one', async () => {
  await simulator.stop();
  simulator = new Simulator({ quiet: true, wifiSonics: 1, role: 'guest' });
  await simulator.start();
  client = new CloudTestClient(simulator);
  await client.signIn();
  const before = changeable();
  for (const name of ofProperty) {
    const { status, text } = await ask(name);
    expect([name, status]).toEqual([name, 403]);
    expect(JSON.parse(text).message).toMatch(/guest/);
  }
  expect(changeable()).toBe(before);
  const roles = await client.get('/ape/v1/properties?membership_role=guest');
  expect(roles.total_entries).toBe(simulator.world.properties.size);
  for (const name of changes.filter((each) => !ofProperty.includes(each))) {
    expect([name, (await ask(name)).status]).toEqual([name, 200]);
  }
});

it("another account's record is forbidden", async () => {
  const paths = withIds.map((name) => [name, pathOf(name)] as const);
  simulator.world.leaveProperty(simulator.world.properties.ids[0] ?? '');
  for (const [name, own] of paths) {
    const path = ofUser.includes(name) ? pathOf(name, simulator.world.strangerId) : own;
    expect([name, (await ask(name, path)).status]).toEqual([name, 403]);
  }
});

it('answers 404 for an unknown path and 405 with the allowed methods for a wrong one', async () => {
  expect((await client.ask('GET', '/ape/v1/teapots')).status).toBe(404);
  expect((await client.ask('GET', '//')).status).toBe(404);
  const { status, headers } = await client.ask('DELETE', pathOf('read_sonic'));
  expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'GET, PUT, PATCH' });
});
