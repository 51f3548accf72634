import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { CloudVisitor, type Heard } from '../../support/cloudVisitor.ts';

let simulator: Simulator;
let visitor: CloudVisitor;
let propertyId: string;

beforeEach(async () => {
  simulator = new Simulator({ quiet: true });
  await simulator.start();
  visitor = new CloudVisitor(simulator);
  await visitor.signIn();
  propertyId = simulator.world.properties.ids[0] ?? '';
});
afterEach(() => simulator.stop());

const app = '/iot-core/customer_app/properties';
const read = ({ text }: Heard) => JSON.parse(text);
const get = async (path: string) => read(await visitor.ask('GET', path));
const put = (path: string, body: unknown) => visitor.ask('PUT', path, { body });
const post = (path: string, body: unknown) => visitor.ask('POST', path, { body });

describe('the user', () => {
  const path = () => `/user-service/customer_app/users/${simulator.world.user?.id}`;

  it('is who signed in, and can be changed field by field', async () => {
    const { user_details } = read(await visitor.ask('GET', '/user-service/auth/validate_token'));
    expect(await get(path())).toEqual(user_details);
    const changed = { ...user_details, first_name: 'Ada', full_name: 'Ada User', language: 'pl', pet: 'cat' };
    expect(read(await put(path(), { first_name: 'Ada', language: 'pl', pet: 'cat' }))).toEqual(changed);
    expect(await get(path())).toEqual(changed);
    expect(read(await visitor.signIn()).user_details).toEqual(changed);
  });

  it('may send back what is fixed, unchanged', async () => {
    const before = await get(path());
    expect(read(await put(path(), before))).toEqual(before);
  });

  it('signs in with a new e-mail address from then on', async () => {
    expect((await put(path(), { email: 'ada@example.com' })).status).toBe(200);
    expect((await visitor.signIn()).status).toBe(401);
    const body = { email: 'ada@example.com', password: 'demo' };
    expect((await post('/user-service/auth/sign_in', body)).status).toBe(200);
  });

  it('refuses what no profile could hold', async () => {
    const before = await get(path());
    for (const body of [
      { pet: 'cat' },
      { first_name: 1 },
      { language: null },
      { email: 'nobody' },
      { email: 'no body@example.com' },
      { first_name: 'Ada', id: 'another' },
      { first_name: 'Ada', roles: ['admin'] },
    ]) {
      expect((await put(path(), body)).status, JSON.stringify(body)).toBe(422);
    }
    expect(await get(path())).toEqual(before);
  });

  it('sees no one else', async () => {
    const { strangerId } = simulator.world;
    expect((await visitor.ask('GET', `/user-service/customer_app/users/${strangerId}`)).status).toBe(403);
    expect((await visitor.ask('GET', `/user-service/customer_app/users/${propertyId}`)).status).toBe(404);
  });
});

describe('a new property', () => {
  it('appears in the lists with its settings, owned by who created it', async () => {
    const heard = read(await post(app, { name: 'Beach hut', city: 'Sampleton', colour: 'blue' }));
    const { id } = heard;
    expect(heard).toEqual({ id, name: 'Beach hut' });
    const { data } = await get('/ape/v1/properties?membership_role=owner&search=beach');
    expect(data).toMatchObject([{ id, name: 'Beach hut', city: 'Sampleton', colour: 'blue', active: true }]);
    expect(await get(`/ape/v1/properties/${id}`)).toEqual(data[0]);
    expect(await get(`/ape/v1/properties/${id}/settings`)).toMatchObject({ pressure_tests_enabled: true });
    expect(await get(`/ape/v1/properties/${id}/notifications`)).toMatchObject({ low_battery_level: true });
    expect((await get(`/ape/v1/properties/${id}/signals`)).data).toEqual([]);
    expect((await put(`/ape/v1/properties/${id}`, { name: 'Hut' })).status).toBe(200);
  });

  it('is another one each time', async () => {
    const first = read(await post(app, { name: 'Hut' }));
    expect(read(await post(app, { name: 'Hut' })).id).not.toBe(first.id);
    expect(simulator.world.properties.size).toBe(4);
  });

  it('needs a name, and fields that a property could have', async () => {
    for (const body of [
      { city: 'X' },
      { name: '' },
      { name: 'X', lat: 'north' },
      { name: 'X', id: 'mine' },
    ]) {
      expect((await post(app, body)).status, JSON.stringify(body)).toBe(422);
    }
    expect(simulator.world.properties.size).toBe(2);
  });
});

it('a body that is nested too deeply for an answer is refused, and spoils no list', async () => {
  const text = `{"name":"Hut","rooms":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  expect((await visitor.ask('POST', app, { text })).status).toBe(400);
  expect((await get('/ape/v1/properties')).total_entries).toBe(2);
});

describe('a customer property', () => {
  it('takes a name and whatever comes with it', async () => {
    const before = await get(`/ape/v1/properties/${propertyId}`);
    const heard = await put(`${app}/${propertyId}`, {
      name: 'Villa',
      postcode: 'ZZ1',
      colour: { wall: 'blue' },
    });
    expect(read(heard)).toEqual({ id: propertyId, name: 'Villa' });
    expect(await get(`/ape/v1/properties/${propertyId}`)).toEqual({
      ...before,
      name: 'Villa',
      postcode: 'ZZ1',
      colour: { wall: 'blue' },
    });
  });

  it('keeps its id, and refuses what a property could not have', async () => {
    const before = await get(`/ape/v1/properties/${propertyId}`);
    for (const body of [
      { colour: 'blue' },
      { name: 'Villa', id: 'another' },
      { name: 'Villa', active: 'yes' },
      { name: '' },
    ]) {
      expect((await put(`${app}/${propertyId}`, body)).status, JSON.stringify(body)).toBe(422);
    }
    expect(await get(`/ape/v1/properties/${propertyId}`)).toEqual(before);
    const { name } = read(await put(`${app}/${propertyId}`, { postcode: 'ZZ1' }));
    expect(name).toBe((await get(`/ape/v1/properties/${propertyId}`)).name);
    expect((await put(`${app}/${propertyId}`, { name: 'Villa', id: propertyId })).status).toBe(200);
  });

  it('keeps whether it protects against leaks and pushes notifications', async () => {
    const configuration = `${app}/${propertyId}/configuration`;
    const notifications = `${app}/${propertyId}/notifications`;
    for (const value of [true, false]) {
      expect(read(await put(configuration, { leak_protection_enabled: value, since: 1 }))).toEqual({
        leak_protection_enabled: value,
      });
      expect(read(await put(notifications, { push_enabled: !value }))).toEqual({ push_enabled: !value });
      expect([...simulator.world.leakProtection]).toEqual([[propertyId, value]]);
      expect([...simulator.world.push]).toEqual([[propertyId, !value]]);
    }
    for (const body of [{ since: 1 }, { leak_protection_enabled: 'on' }]) {
      expect((await put(configuration, body)).status).toBe(422);
    }
    for (const body of [{ since: 1 }, { push_enabled: 1 }]) {
      expect((await put(notifications, body)).status).toBe(422);
    }
    expect([...simulator.world.push]).toEqual([[propertyId, true]]);
  });
});

describe('an invitation', () => {
  const path = () => `/user-service/customer_app/properties/${propertyId}/invitations`;

  it.each(['owner', 'user', 'guest'])('for a %s is kept with all that came with it', async (role) => {
    const body = { email: 'ada@example.com', role, greeting: 'Hello' };
    const { invitation_id } = read(await post(path(), body));
    expect([...simulator.world.invitations]).toEqual([
      [invitation_id, { ...body, invitation_id, property_id: propertyId }],
    ]);
  });

  it('needs an address and a role that exists', async () => {
    for (const body of [
      { email: 'ada@example.com' },
      { role: 'guest' },
      { email: 'ada', role: 'guest' },
      { email: 'ada@example.com', role: 'king' },
      { email: 'ada@example.com', role: 'toString' },
    ]) {
      expect((await post(path(), body)).status, JSON.stringify(body)).toBe(422);
    }
    expect(simulator.world.invitations.size).toBe(0);
  });
});

describe('an incident of a property', () => {
  const path = (id: string | undefined, property = propertyId) => `${app}/${property}/incidents/${id}/action`;

  it('does what it offers, and says only that it did', async () => {
    const [id = ''] = simulator.world.incidents.ids;
    expect(read(await put(path(id), { action: 'dismiss', reason: 'false alarm', open: true }))).toEqual({
      status: 'ok',
    });
    expect(simulator.world.incidents.get(id)).toMatchObject({ open: false, possible_actions: ['reopen'] });
    const again = await put(path(id), { action: 'dismiss' });
    expect([again.status, read(again).message]).toEqual([422, 'action dismiss is not possible, only reopen']);
  });

  it('is not found at another property', async () => {
    const [id = ''] = simulator.world.incidents.ids;
    expect((await put(path(id, simulator.world.properties.ids[1]), { action: 'dismiss' })).status).toBe(404);
    expect(simulator.world.incidents.get(id)?.open).toBe(true);
  });
});

it('leaving a property takes all that is in it, its incidents and Wi-Fi sonics too', () => {
  const { world } = new Simulator({ quiet: true, wifiSonics: 2 });
  const [left = '', kept = ''] = world.properties.ids;
  const gone = [...world.thingIdsOf(left), ...world.incidents.ids, left];
  world.leaveProperty(left);
  expect(world.thingIds).toEqual(world.thingIdsOf(kept));
  expect(world.incidents.size).toBe(0);
  expect(gone.every((id) => world.isForeign(id))).toBe(true);
});
