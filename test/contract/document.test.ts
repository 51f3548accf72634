import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationName, operationRow } from '../../src/cloud/operations.ts';
import { encodeCall } from '../../src/cloud/request.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { CloudTestClient } from '../support/cloudTestClient.ts';
import { operationSamples, pathIn, sampleCall } from '../support/operationSamples.ts';

// What the interface document says of bodies and queries: the client sends it, and the simulated cloud accepts it.

const open: readonly OperationName[] = [
  'act_on_property_incident',
  'change_thing_state',
  'create_property',
  'update_customer_property',
  'update_property_configuration',
  'update_user',
  'create_invitation',
  'update_customer_notifications',
  'start_pressure_test',
];
const closed: readonly OperationName[] = [
  'act_on_incident',
  'update_property',
  'patch_property',
  'update_notification_settings',
  'update_property_settings',
  'update_signal',
  'patch_signal',
  'update_sonic',
  'patch_sonic',
];

/** Bodies without a field that the cloud needs. No such field but the action of a valve command is marked as required. */
const incomplete: readonly (readonly [OperationName, object])[] = [
  ...(['act_on_incident', 'act_on_property_incident', 'change_thing_state', 'create_property'] as const),
  ...(['update_signal', 'patch_signal', 'update_sonic', 'patch_sonic', 'create_invitation'] as const),
  ...(['update_property_configuration', 'update_customer_notifications'] as const),
].map((name) => [name, {}]);

const isComplete = (name: OperationName) => !incomplete.some(([each]) => each === name);

const permitted: readonly (readonly [OperationName, object])[] = [
  ...[...open, ...closed].filter(isComplete).map((name) => [name, {}] as const),
  ...open.filter(isComplete).map((name) => [name, { nickname: 'Bob', nested: { any: [1, null] } }] as const),
  ['act_on_property_incident', { action: 'call_plumber', nickname: 'Bob' }],
  ['change_thing_state', { action: 'led_on', nested: { any: [] } }],
  ['update_property_configuration', { leak_protection_enabled: false, nickname: 'Bob' }],
  ['update_customer_notifications', { push_enabled: false, nickname: 'Bob' }],
  ['change_thing_state', { action: '' }],
  ['create_property', { name: '', metadata: { floors: 2 }, city: 5 }],
  ['update_customer_property', { metadata: { floors: 2 } }],
  ['update_user', { first_name: '', last_name: '' }],
  ['create_invitation', { email: 'ann@localhost', role: 'owner', nickname: 'Bob' }],
  ['create_invitation', { email: '', role: 'plumber' }],
  ['start_pressure_test', { source: '' }],
  ['update_signal', { name: '' }],
  ['patch_sonic', { name: '' }],
  ['update_property', { name: '', uprn: '' }],
  ['update_property_settings', { timezone: 'Europe/Berlin', webhook_url: '' }],
  [
    'update_notification_settings',
    { high_volume_threshold_litres: -5, long_flow_notification_delay_mins: 7 },
  ],
];

const forbidden: readonly (readonly [OperationName, unknown])[] = [
  ['command_valve', {}],
  ['command_valve', { action: 'half' }],
  ['command_valve', { action: 'open', speed: 1 }],
  ['act_on_incident', { action: 1 }],
  ['update_signal', { name: null }],
  ['update_sonic', { colour: 'blue' }],
  ['update_property', { lat: '1' }],
  ['update_notification_settings', { high_humidity: 'yes' }],
  ['update_notification_settings', { high_volume_threshold_litres: 1.5 }],
  ['update_property_settings', { pressure_tests_schedule: '25:00:00' }],
  ['create_invitation', { role: ['guest'] }],
  ['start_pressure_test', []],
];

/** The operation with its path filled in. */
const callOf = (name: OperationName, body: unknown) => ({ ...sampleCall(name), body });

describe('the client', () => {
  it.each([...permitted, ...incomplete])('sends what the document permits: %s %j', (name, body) => {
    expect(JSON.parse(encodeCall(callOf(name, body), {}).body ?? '')).toEqual(body);
  });

  it.each(forbidden)('sends nothing that it does not permit: %s %j', (name, body) => {
    expect(() => encodeCall(callOf(name, body), {})).toThrow(/^body/);
  });
});

describe('the simulated cloud', () => {
  let simulator: Simulator;
  let client: CloudTestClient;
  beforeAll(async () => {
    simulator = new Simulator({ quiet: true });
    await simulator.start();
    client = new CloudTestClient(simulator);
    await client.signIn();
  });
  afterAll(() => simulator.stop());

  const send = async (name: OperationName, body: unknown) => {
    // A test that runs would refuse the next, and no incident offers an action that it does not list.
    const [sonicId = ''] = simulator.world.sonics.ids;
    simulator.world.setValve(sonicId, 'open');
    return client.ask(operationRow(name).method, pathIn(simulator.world, name), { body });
  };

  it.each(permitted.filter(([, body]) => !('action' in body && body.action === 'call_plumber')))(
    'accepts what the document permits: %s %j',
    async (name, body) => {
      const { status, text } = await send(name, body);
      expect([status, text]).toEqual([200, text]);
    },
  );

  it.each<readonly [OperationName, unknown]>([...forbidden, ...incomplete])(
    'accepts nothing that it does not permit, and nothing incomplete: %s %j',
    async (name, body) => {
      const { status, text } = await send(name, body);
      expect([status, JSON.parse(text)]).toEqual([422, { message: expect.any(String) }]);
    },
  );

  it('takes parameters of which the document does not speak, such as page_size, and none of a wrong kind', async () => {
    const ask = async (path: string) => (await client.ask('GET', path)).status;
    expect(await ask('/ape/v1/sonics?page=1&page_size=100')).toBe(200);
    expect(await ask('/ape/v1/incidents?open=true&sort=asc')).toBe(200);
    for (const page of ['one', '0', '']) expect(await ask(`/ape/v1/sonics?page=${page}`)).toBe(422);
    expect(await ask('/ape/v1/incidents?type=flood')).toBe(422);
    expect(await ask('/ape/v1/incidents?open=maybe')).toBe(422);
    expect(await ask('/ape/v1/properties?membership_role=plumber')).toBe(422);
  });

  it('keeps the records of the world as they are read, whatever additional properties came', async () => {
    const [id = ''] = simulator.world.properties.ids;
    await send('update_customer_property', { city: 5, name: 'Villa', id: 'other' });
    expect(simulator.world.properties.get(id)).toMatchObject({ id, name: 'Villa', city: expect.any(String) });
  });
});

it('every operation with a body has a sample of it', () => {
  for (const name of [...open, ...closed]) expect(operationSamples[name]).toHaveProperty('body');
});
