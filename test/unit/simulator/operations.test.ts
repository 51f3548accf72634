import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CloudTestClient, startCloudWithClient } from '../../support/cloudTestClient.ts';

// What test/contract/simulator.test.ts does not ask of every operation: what each does, and which values it takes.

const app = '/iot-core/customer_app';
const idsIn = async (client: CloudTestClient, path: string): Promise<string[]> =>
  (await client.get(path)).data.map(({ id }: { id: string }) => id);

describe('a list', () => {
  it('comes in pages of ten, and beyond its end without records', async () => {
    const { world, client } = await startCloudWithClient({ sonics: 23 });
    const place = { page_size: 10, total_entries: 23, total_pages: 3 };
    for (const [page, length] of [10, 10, 3, 0].entries()) {
      const shown = await client.get(`/ape/v1/sonics?page=${page + 1}`);
      expect(shown).toMatchObject({ ...place, page_number: page + 1, data: { length } });
    }
    const [first = ''] = world.sonics.ids;
    world.setValve(first, 'closed');
    const [shown] = (await client.get('/ape/v1/sonics')).data;
    expect(shown).toEqual(world.sonics.get(first));
    expect(shown).toMatchObject({ id: first, valve_state: 'closed' });
  });

  it('is narrowed by what it belongs to, by name, by role and by words of the address', async () => {
    const { world, client } = await startCloudWithClient({ wifiSonics: 3 });
    const [cottage = '', flat = ''] = world.properties.ids;
    const [hallway = '', loft = '', garage = ''] = world.signals.ids;
    const [kitchen = '', bathroom = '', , utility = ''] = world.sonics.ids;
    world.roles.set(flat, 'guest');
    for (const [path, ids] of [
      ['sonics?name=BATH', [bathroom]],
      ['sonics_wifi?name=barn', [world.wifiSonics.ids[2]]],
      ['properties?membership_role=guest', [flat]],
      ['properties?search=2+example', [flat]],
      ['properties?name=flat', [flat]],
      ['properties?search=nowhere', []],
      [`properties/${cottage}/signals`, [hallway, garage]],
      [`properties/${flat}/signals`, [loft]],
      [`signals/${hallway}/sonics`, [kitchen, utility]],
    ] as const) {
      expect(await idsIn(client, `/ape/v1/${path}`), path).toEqual(ids);
    }
  });

  it('of incidents begins with the newest and is narrowed by type, by being open and by property', async () => {
    const { world, client } = await startCloudWithClient({ wifiSonics: 1 });
    const [first, second] = world.properties.ids;
    const [leak] = world.incidents.ids;
    const dry = world.openIncident({ type: 'low_temperature', sonicId: world.wifiSonics.ids[0] ?? '' }).id;
    world.closeIncident(dry);
    const cold = world.openIncident({ type: 'low_temperature', signalId: world.signals.ids[1] ?? '' }).id;
    for (const [path, ids] of [
      ['incidents', [cold, dry, leak]],
      ['incidents?open=true', [cold, leak]],
      ['incidents?open=false', [dry]],
      ['incidents?type=low_temperature&open=true', [cold]],
      [`properties/${first}/incidents`, [dry, leak]],
      [`properties/${second}/incidents`, [cold]],
    ] as const) {
      expect(await idsIn(client, `/ape/v1/${path}`), path).toEqual(ids);
    }
    expect(world.incidents.get(dry)).toMatchObject({ signal_id: null });
    expect(world.incidents.get(cold)).toMatchObject({ sonic_id: null });
  });
});

it('what makes no sense is refused, and changes nothing', async () => {
  const { world, client } = await startCloudWithClient();
  const [property = ''] = world.properties.ids;
  const thing = `${app}/things/${world.sonics.ids[0]}`;
  const user = `/user-service/customer_app/users/${world.user?.id}`;
  const invitations = `/user-service/customer_app/properties/${property}/invitations`;
  const email = 'ada@example.com';
  const refused: Readonly<Record<string, readonly object[]>> = {
    [`PUT ${user}`]: [{ first_name: 1 }, { last_name: null }],
    [`POST ${app}/properties`]: [{ name: 5 }, []],
    [`PUT ${app}/properties/${property}`]: [{ name: null }],
    [`POST ${invitations}`]: [{ email: 5 }, { email, role: null }],
    [`PUT ${thing}/state`]: [{ action: null }],
    [`PUT /ape/v1/sonics/${world.sonics.ids[0]}/valve`]: [{ action: 'toggle' }, { action: 'OPEN' }],
    [`POST ${thing}/pressure_tests`]: [{ source: 1 }],
    [`PUT /ape/v1/properties/${property}/settings`]: [{ timezone: 'Europe/Atlantis' }],
    [`PUT /ape/v1/properties/${property}/notifications`]: [
      { high_volume_threshold_litres: 30.5 },
      { long_flow_notification_delay_mins: '25' },
    ],
  };
  const before = JSON.stringify([world.user, [...world.properties], [...world.settings], [...world.sonics]]);
  for (const [request, bodies] of Object.entries(refused)) {
    const [method = '', path = ''] = request.split(' ');
    for (const body of bodies) {
      const { status } = await client.ask(method, path, { body });
      expect(status, `${request} ${JSON.stringify(body)}`).toBe(422);
    }
  }
  for (const target of [
    ...['page=0', 'page=two', 'page=1.5', 'page='].map((query) => `/ape/v1/sonics?${query}`),
    ...['open=maybe', 'type=flood'].map((query) => `/ape/v1/incidents?${query}`),
    ...['month=0', 'month=13', 'month=may', 'year=now'].map((query) => `${thing}/daily_usage?${query}`),
  ]) {
    expect((await client.ask('GET', target)).status, target).toBe(422);
  }
  expect(JSON.stringify([world.user, [...world.properties], [...world.settings], [...world.sonics]])).toBe(
    before,
  );
});

it('additional properties that do not fit a record leave it as it was', async () => {
  const { world, client } = await startCloudWithClient();
  const [property = ''] = world.properties.ids;
  const before = JSON.stringify([world.user, [...world.properties], [...world.sonics]]);
  const user = `/user-service/customer_app/users/${world.user?.id}`;
  for (const body of [{ email: 'no body' }, { phone: 5 }, { id: 'another' }, { roles: ['admin'] }]) {
    expect((await client.put(user, body)).status).toBe(200);
  }
  for (const body of [{ lat: 'north' }, { id: 'another' }, { active: 'yes' }]) {
    expect((await client.put(`${app}/properties/${property}`, body)).status).toBe(200);
  }
  expect((await client.put(`${app}/things/${world.sonics.ids[0]}/state`, { action: 'toggle' })).status).toBe(
    200,
  );
  expect(JSON.stringify([world.user, [...world.properties], [...world.sonics]])).toBe(before);
});

it('a change shows in the answer and from then on, and leaves all else as it was', async () => {
  const { world, client } = await startCloudWithClient();
  const [id = ''] = world.properties.ids;
  const settings = `/ape/v1/properties/${id}/settings`;
  for (const [path, body] of [
    [`/user-service/customer_app/users/${world.user?.id}`, { phone: '1', pet: 'cat' }],
    [settings, { pressure_tests_enabled: false }],
    [`/ape/v1/properties/${id}/notifications`, { high_volume_threshold_litres: 25 }],
  ] as const) {
    const before = await client.get(path);
    expect(JSON.parse((await client.put(path, body)).text)).toEqual({ ...before, ...body });
    expect(await client.get(path)).toEqual({ ...before, ...body });
  }
  const webhook_url = 'https://example.com/hook';
  await client.put(settings, { webhook_url });
  expect(await client.get(settings)).not.toHaveProperty('webhook_url');
  expect(world.settings.get(id)).toMatchObject({ webhook_url });
});

it('an incident does what it offers, and nothing else', async () => {
  const { world, client } = await startCloudWithClient();
  const [id = ''] = world.incidents.ids;
  const act = async (action: string, path = `/ape/v1/incidents/${id}/action`) => {
    const { status, text } = await client.put(path, { action });
    return status === 200 ? JSON.parse(text) : status;
  };
  const offered = { open: true, possible_actions: ['resolve', 'dismiss', 'snooze'] };
  const resolved = { open: false, state: 'resolved', possible_actions: ['reopen'] };
  for (const action of ['resolve', 'dismiss']) {
    expect(await act(action)).toMatchObject(resolved);
    expect(await act(action)).toBe(422);
    expect(await act('reopen')).toMatchObject(offered);
  }
  for (const action of ['reopen', 'explode', 'toString', '']) expect(await act(action)).toBe(422);
  expect(await act('snooze')).toMatchObject({ open: true, possible_actions: ['resolve', 'dismiss'] });
  expect(await act('snooze')).toBe(422);
  const [own, other] = world.properties.ids.map((each) => `${app}/properties/${each}/incidents/${id}/action`);
  expect(await act('dismiss', other)).toBe(404);
  expect(await act('dismiss', own)).toEqual({ status: 'ok' });
  expect(world.incidents.get(id)).toMatchObject(resolved);
});

it('a user signs in with a new e-mail address from then on', async () => {
  const { world, client } = await startCloudWithClient();
  const body = { email: 'ada@example.com', first_name: 'Ada' };
  await client.put(`/user-service/customer_app/users/${world.user?.id}`, body);
  expect((await client.signIn()).status).toBe(401);
  const heard = await client.post('/user-service/auth/sign_in', { email: body.email, password: 'demo' });
  expect(JSON.parse(heard.text).user_details).toMatchObject({ ...body, full_name: 'Ada User' });
});

it('a new property is in the lists with its settings, owned by the account that created it', async () => {
  const { client } = await startCloudWithClient();
  const create = async (body: object) => JSON.parse((await client.post(`${app}/properties`, body)).text);
  const { id, name } = await create({ name: 'Beach hut', city: 'Sampleton', colour: 'blue' });
  expect((await create({ name })).id).not.toBe(id);
  const { data } = await client.get('/ape/v1/properties?membership_role=owner&search=sampleton');
  expect(data.at(-1)).toMatchObject({ id, name: 'Beach hut', colour: 'blue', active: true });
  expect(await client.get(`/ape/v1/properties/${id}/settings`)).toHaveProperty('timezone');
  expect(await idsIn(client, `/ape/v1/properties/${id}/signals`)).toEqual([]);
  const changed = await client.put(`${app}/properties/${id}`, {
    id,
    name: 'Villa',
    colour: { wall: 'red' },
  });
  expect(JSON.parse(changed.text)).toEqual({ id, name: 'Villa' });
  expect(await client.get(`/ape/v1/properties/${id}`)).toMatchObject({ colour: { wall: 'red' } });
});

describe('a sonic of either kind', () => {
  it('is found in its own list only', async () => {
    const { world, client } = await startCloudWithClient({ wifiSonics: 3 });
    const { data } = await client.get('/ape/v1/sonics_wifi');
    expect(data).toEqual([...world.wifiSonics.values()]);
    expect(data[0]).toMatchObject({ signal_id: null, wifi_rssi: expect.any(Number) });
    for (const path of [`sonics/${world.wifiSonics.ids[0]}`, `sonics_wifi/${world.sonics.ids[0]}`]) {
      for (const part of ['', '/telemetry']) {
        expect((await client.ask('GET', `/ape/v1/${path}${part}`)).status, path + part).toBe(404);
      }
      expect((await client.put(`/ape/v1/${path}/valve`, { action: 'close' })).status, path).toBe(404);
    }
    expect(world.thingIds.every((id) => world.valve(id)?.isResting)).toBe(true);
  });

  it('obeys a valve command, with an empty answer that is not JSON, but not during a pressure test', async () => {
    const { clock, simulator, world, client } = await startCloudWithClient({ wifiSonics: 1 });
    const [sonicId = '', wifiId = ''] = [world.sonics.ids[0], world.wifiSonics.ids[0]];
    const empty = { status: 200, text: '', contentType: 'text/plain' };
    const json = { status: 200, text: '{"status":"ok"}', contentType: 'application/json; charset=utf-8' };
    for (const [id, path, answer] of [
      [sonicId, `/ape/v1/sonics/${sonicId}/valve`, empty],
      [wifiId, `/ape/v1/sonics_wifi/${wifiId}/valve`, empty],
      [sonicId, `${app}/things/${sonicId}/state`, json],
      [wifiId, `${app}/things/${wifiId}/state`, json],
    ] as const) {
      world.setValve(id, 'open');
      const { headers: _, ...heard } = await client.put(path, { action: 'close' });
      expect(heard).toEqual(answer);
      expect(world.things.get(id)?.valve_state).toBe('requested_closed');
      clock.advance(6_000);
      expect(simulator.world.things.get(id)?.valve_state).toBe('closed');
      world.setValve(id, 'pressure_test');
      expect((await client.put(path, { action: 'open' })).status).toBe(409);
    }
    expect(simulator.requests.count('command_valve')).toBe(2);
    expect(simulator.requests.entries.at(-1)).toMatchObject({ method: 'PUT', body: { action: 'open' } });
  });

  it('is not tested while it moves, is out of reach or is tested already', async () => {
    const { world, client } = await startCloudWithClient({ wifiSonics: 1 });
    for (const id of [world.sonics.ids[0] ?? '', world.wifiSonics.ids[0] ?? '']) {
      const test = async () =>
        (await client.post(`${app}/things/${id}/pressure_tests`, { source: 'app' })).status;
      world.dropRadio(id);
      expect(await test()).toBe(409);
      world.connectRadio(id);
      world.commandValve(id, 'close');
      expect(await test()).toBe(409);
      world.setValve(id, 'pressure_test');
      expect(await test()).toBe(409);
      expect(world.pressureTestsOf(id)).toEqual([]);
    }
  });
});

it('a hub is its signal, online while it has its cloud', async () => {
  const { world, client } = await startCloudWithClient();
  const [id = ''] = world.signals.ids;
  const hub = { id, serial_no: world.signals.get(id)?.serial_no };
  expect(await client.get(`${app}/hubs/${id}`)).toEqual({ ...hub, status: 'online' });
  world.dropCloud(id);
  expect(await client.get(`${app}/hubs/${id}`)).toEqual({ ...hub, status: 'offline' });
});

describe('the server', () => {
  it('cuts open connections when it stops, and can be stopped twice', async () => {
    const { simulator, client } = await startCloudWithClient();
    const socket = connect(Number(new URL(simulator.url).port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    await simulator.stop();
    await simulator.stop();
    await closed;
    expect(() => simulator.url).toThrow('not running');
    await expect(client.signIn()).rejects.toThrow();
  });

  it('answers whatever is asked with a status, and never with a failure of its own', async () => {
    const { client } = await startCloudWithClient();
    const device = fc.webSegment().map((segment) => `/ape/v1/sonics/${segment}`);
    const target = fc
      .tuple(fc.oneof(fc.webPath(), device), fc.webQueryParameters())
      .map(([path, query]) => `/${path}?${query}`.replace(/^\/+/, '/'));
    const method = fc.constantFrom('GET', 'PUT', 'PATCH', 'POST', 'DELETE');
    await fc.assert(
      fc.asyncProperty(method, target, fc.jsonValue(), async (verb, where, body) => {
        const { status } = await client.ask(verb, where, verb === 'GET' ? {} : { body });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });
});
