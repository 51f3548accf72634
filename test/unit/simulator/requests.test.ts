import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { CloudVisitor, type Heard } from '../../support/cloudVisitor.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let simulator: Simulator;
let visitor: CloudVisitor;

beforeEach(async () => {
  clock = new FakeClock();
  simulator = new Simulator({ clock, quiet: true, sonics: 23 });
  await simulator.start();
  visitor = new CloudVisitor(simulator);
  await visitor.signIn();
});
afterEach(() => simulator.stop());

const read = ({ text }: Heard) => JSON.parse(text);
const get = async (path: string) => read(await visitor.ask('GET', path));
const statusOf = async (token: string | null) =>
  (await visitor.ask('GET', '/ape/v1/sonics', { token })).status;

describe('a session', () => {
  it('begins with the right password only, whatever the case of the address', async () => {
    for (const password of ['wrong', 'Demo']) {
      const { status, contentType } = await visitor.signIn(password);
      expect({ status, contentType }).toEqual({ status: 401, contentType: 'text/html; charset=utf-8' });
    }
    const body = { email: 'Demo@Example.com', password: 'demo' };
    const heard = await visitor.ask('POST', '/user-service/auth/sign_in', { body, token: null });
    expect(read(heard)).toMatchObject({
      token_details: expect.stringMatching(/^[A-Za-z0-9+/]{240}--[0-9a-f]{40}$/),
      user_details: { email: 'demo@example.com', active: true, language: 'en' },
    });
  });

  it('ends at once for the old token when it is refreshed', async () => {
    const old = visitor.token;
    const heard = await visitor.ask('PUT', '/user-service/auth/refresh_token', { body: {} });
    const { token_details } = read(heard);
    expect(await statusOf(old)).toBe(401);
    expect(await statusOf(token_details)).toBe(200);
    const again = await visitor.ask('PUT', '/user-service/auth/refresh_token', { body: {}, token: old });
    expect(again.status).toBe(401);
  });

  it('can be refreshed with the token in the body, or with no body at all', async () => {
    const body = { refresh_token: visitor.token };
    const first = await visitor.ask('PUT', '/user-service/auth/refresh_token', { body });
    const { token_details: token } = read(first);
    expect((await visitor.ask('PUT', '/user-service/auth/refresh_token', { token })).status).toBe(200);
  });

  it('cannot be refreshed without a bearer token', async () => {
    const body = { refresh_token: visitor.token };
    const heard = await visitor.ask('PUT', '/user-service/auth/refresh_token', { body, token: null });
    expect(heard.status).toBe(401);
    expect(await statusOf(visitor.token)).toBe(200);
  });

  it('expires after two weeks and can still be refreshed then', async () => {
    clock.advance(14 * 24 * 3_600_000 - 1);
    expect(await statusOf(visitor.token)).toBe(200);
    clock.advance(1);
    expect(await statusOf(visitor.token)).toBe(401);
    const heard = await visitor.ask('PUT', '/user-service/auth/refresh_token', { body: {} });
    expect(await statusOf(read(heard).token_details)).toBe(200);
  });

  it('is lost when all tokens are made to expire, and cannot begin while the password is rejected', async () => {
    simulator.expireTokens();
    expect(await statusOf(visitor.token)).toBe(401);
    simulator.rejectPassword();
    expect((await visitor.signIn()).status).toBe(401);
    simulator.setPassword('new');
    expect((await visitor.signIn()).status).toBe(401);
    expect((await visitor.signIn('new')).status).toBe(200);
  });

  it('ends when the password is changed, for good', async () => {
    simulator.setPassword('new');
    expect(await statusOf(visitor.token)).toBe(401);
    expect((await visitor.ask('PUT', '/user-service/auth/refresh_token', { body: {} })).status).toBe(401);
  });

  it('is one of ten: an eleventh ends the oldest', async () => {
    const first = visitor.token;
    for (let session = 2; session <= 10; session++) await visitor.signIn();
    expect(await statusOf(first)).toBe(200);
    await visitor.signIn();
    expect(await statusOf(first)).toBe(401);
    expect(await statusOf(visitor.token)).toBe(200);
  });
});

describe('a list', () => {
  it('comes in pages of ten, and beyond its end without records', async () => {
    const pages = [1, 2, 3, 4].map((page) => get(`/ape/v1/sonics?page=${page}`));
    const totals = { page_size: 10, total_entries: 23, total_pages: 3 };
    expect(await Promise.all(pages)).toMatchObject([
      { ...totals, page_number: 1, data: { length: 10 } },
      { ...totals, page_number: 2, data: { length: 10 } },
      { ...totals, page_number: 3, data: { length: 3 } },
      { ...totals, page_number: 4, data: { length: 0 } },
    ]);
  });

  it('is narrowed by name, by role and by words of the address', async () => {
    expect((await get('/ape/v1/sonics?name=garden')).data).toMatchObject([
      { name: 'Garden tap' },
      { name: 'Garden tap 2' },
      { name: 'Garden tap 3' },
    ]);
    simulator.world.setRole(simulator.world.properties.ids[1] ?? '', 'guest');
    expect((await get('/ape/v1/properties?membership_role=guest')).data).toMatchObject([{ name: 'Flat 12' }]);
    expect((await get('/ape/v1/properties?search=2+example')).data).toMatchObject([{ name: 'Flat 12' }]);
    expect((await get('/ape/v1/properties?search=nowhere')).total_entries).toBe(0);
  });

  it('refuses a query that makes no sense', async () => {
    for (const query of ['page=0', 'page=-1', 'page=two', 'page=1.5', 'page=', 'size=100']) {
      expect((await visitor.ask('GET', `/ape/v1/sonics?${query}`)).status, query).toBe(422);
    }
    for (const query of ['open=maybe', 'type=flood']) {
      expect((await visitor.ask('GET', `/ape/v1/incidents?${query}`)).status, query).toBe(422);
    }
  });

  it('of incidents begins with the newest and is narrowed by type, by being open and by property', async () => {
    const { world } = simulator;
    const [firstSonic = '', , , fourthSonic = ''] = world.sonics.ids;
    const [first, second] = world.properties.ids;
    const dry = world.openIncident({ type: 'low_temperature', sonicId: firstSonic });
    world.closeIncident(dry.id);
    const cold = world.openIncident({ type: 'low_temperature', signalId: world.signals.ids[1] ?? '' });
    const found = async (path: string) => (await get(path)).data.map(({ id }: { id: string }) => id);
    const [leak] = world.incidents.ids;
    expect(await found('/ape/v1/incidents')).toEqual([cold.id, dry.id, leak]);
    expect(await found('/ape/v1/incidents?open=true')).toEqual([cold.id, leak]);
    expect(await found('/ape/v1/incidents?open=false')).toEqual([dry.id]);
    expect(await found('/ape/v1/incidents?type=low_temperature&open=true')).toEqual([cold.id]);
    expect(await found(`/ape/v1/properties/${first}/incidents`)).toEqual([dry.id, leak]);
    expect(await found(`/ape/v1/properties/${second}/incidents`)).toEqual([cold.id]);
    expect(cold).toMatchObject({ sonic_id: null, signal_id: world.signals.ids[1] });
    expect(world.sonics.get(fourthSonic)?.signal_id).toBe(world.signals.ids[0]);
  });

  it('of ten thousand sonics answers its last pages too', async () => {
    const large = new Simulator({ properties: 100, signals: 1_000, sonics: 10_000 });
    await large.start();
    const guest = new CloudVisitor(large);
    await guest.signIn();
    for (let page = 901; page <= 1_000; page++) {
      const { data } = read(await guest.ask('GET', `/ape/v1/sonics?page=${page}`));
      expect(data).toHaveLength(10);
    }
    await large.stop();
  });
});

describe('an incident', () => {
  const act = async (action: string) => {
    const path = `/ape/v1/incidents/${simulator.world.incidents.ids[0]}/action`;
    return visitor.ask('PUT', path, { body: { action } });
  };

  it.each(['resolve', 'dismiss'])('ends when told to %s, and can be reopened', async (action) => {
    expect(read(await act(action))).toMatchObject({
      open: false,
      state: 'resolved',
      possible_actions: ['reopen'],
    });
    expect((await act(action)).status).toBe(422);
    expect(read(await act('reopen'))).toMatchObject({
      open: true,
      possible_actions: ['resolve', 'dismiss', 'snooze'],
    });
  });

  it('stays open when it is snoozed, once', async () => {
    expect(read(await act('snooze'))).toMatchObject({ open: true, possible_actions: ['resolve', 'dismiss'] });
    expect((await act('snooze')).status).toBe(422);
  });

  it('refuses an action that it does not offer', async () => {
    for (const action of ['reopen', 'explode', 'toString', '']) expect((await act(action)).status).toBe(422);
  });
});

describe('a change', () => {
  it('shows in the answer and from then on, and leaves all else as it was', async () => {
    const [id = ''] = simulator.world.properties.ids;
    const path = `/ape/v1/properties/${id}/settings`;
    const before = await get(path);
    const body = { pressure_tests_enabled: false };
    const webhook_url = 'https://example.com/hook';
    expect(before).not.toHaveProperty('webhook_url');
    const answer = await visitor.ask('PUT', path, { body: { ...body, webhook_url } });
    expect(read(answer)).toEqual({ ...before, ...body });
    expect(await get(path)).toEqual({ ...before, ...body });
    expect(simulator.world.settings.get(id)).toMatchObject({ webhook_url });
  });

  it('of the thresholds takes the published values only', async () => {
    const path = `/ape/v1/properties/${simulator.world.properties.ids[0]}/notifications`;
    const statuses = async (field: string, values: number[]) => {
      const heard = values.map((value) => visitor.ask('PUT', path, { body: { [field]: value } }));
      return (await Promise.all(heard)).map(({ status }) => status);
    };
    expect(await statuses('high_volume_threshold_litres', [25, 1000, 30, 0])).toEqual([200, 200, 422, 422]);
    expect(await statuses('long_flow_notification_delay_mins', [15, 360, 25, 0])).toEqual([
      200, 200, 422, 422,
    ]);
  });

  it('of the time zone takes only one that exists', async () => {
    const path = `/ape/v1/properties/${simulator.world.properties.ids[0]}/settings`;
    const heard = await visitor.ask('PUT', path, { body: { timezone: 'Europe/Atlantis' } });
    expect([heard.status, read(heard).message]).toEqual([422, 'timezone is not the name of a time zone']);
  });
});

describe('a valve command', () => {
  const command = (action: string) => {
    const body = { action };
    return visitor.ask('PUT', `/ape/v1/sonics/${simulator.world.sonics.ids[0]}/valve`, { body });
  };

  it('is answered with an empty body that is not JSON, and shows in the sonic', async () => {
    const { status, text, contentType } = await command('close');
    expect({ status, text, contentType }).toEqual({ status: 200, text: '', contentType: 'text/plain' });
    const path = `/ape/v1/sonics/${simulator.world.sonics.ids[0]}`;
    expect((await get(path)).valve_state).toBe('requested_closed');
    clock.advance(6_000);
    expect((await get(path)).valve_state).toBe('closed');
  });

  it('is refused while a pressure test runs', async () => {
    simulator.world.setValve(simulator.world.sonics.ids[0] ?? '', 'pressure_test');
    expect((await command('close')).status).toBe(409);
  });

  it('other than open and close is refused', async () => {
    for (const action of ['OPEN', 'toggle', '']) expect((await command(action)).status).toBe(422);
    expect(simulator.requests.count('command_valve')).toBe(3);
    expect(simulator.requests.entries.at(-1)).toMatchObject({
      method: 'PUT',
      operation: 'command_valve',
      status: 422,
      body: { action: '' },
    });
  });
});

describe('the server', () => {
  it('cuts open connections when it stops, and can be stopped twice', async () => {
    const socket = connect(Number(new URL(simulator.url).port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    await simulator.stop();
    await simulator.stop();
    await closed;
    expect(() => simulator.url).toThrow('not running');
    await expect(visitor.signIn()).rejects.toThrow();
  });

  it('answers whatever is asked with a status, and never with a failure of its own', async () => {
    const path = fc.oneof(
      fc.webPath(),
      fc
        .constantFrom('/ape/v1/sonics/', '/ape/v1/incidents/')
        .chain((start) => fc.webSegment().map((segment) => start + segment)),
    );
    const method = fc.constantFrom('GET', 'PUT', 'PATCH', 'POST', 'DELETE');
    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        fc.webQueryParameters(),
        fc.jsonValue(),
        async (verb, where, query, body) => {
          const sent = verb === 'GET' ? {} : { body };
          const { status } = await visitor.ask(verb, `/${where}?${query}`.replace(/^\/+/, '/'), sent);
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 100 },
    );
  });
});
