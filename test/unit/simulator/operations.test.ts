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

describe('a sonic of either kind', () => {
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
});
