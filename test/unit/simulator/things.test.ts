import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import type { World } from '../../../src/simulator/world.ts';
import { CloudVisitor, type Heard } from '../../support/cloudVisitor.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let simulator: Simulator;
let visitor: CloudVisitor;
let world: World;
let sonicId: string;
let wifiSonicId: string;

beforeEach(async () => {
  clock = new FakeClock();
  simulator = new Simulator({ clock, quiet: true, wifiSonics: 3 });
  await simulator.start();
  visitor = new CloudVisitor(simulator);
  await visitor.signIn();
  world = simulator.world;
  sonicId = world.sonics.ids[0] ?? '';
  wifiSonicId = world.wifiSonics.ids[0] ?? '';
});
afterEach(() => simulator.stop());

const minuteMs = 60_000;
const things = '/iot-core/customer_app/things';
const read = ({ text }: Heard) => JSON.parse(text);
const get = async (path: string) => read(await visitor.ask('GET', path));
const put = (path: string, body: unknown) => visitor.ask('PUT', path, { body });
const post = (path: string, body: unknown) => visitor.ask('POST', path, { body });

describe('a Wi-Fi sonic', () => {
  it('has a list and a record of its own, without a signal', async () => {
    const { data, total_entries } = await get('/ape/v1/sonics_wifi');
    expect(total_entries).toBe(3);
    expect(data).toEqual([...world.wifiSonics.values()]);
    expect(data[0]).toMatchObject({ signal_id: null, valve_state: 'open', name: 'Mains' });
    expect(data[0].wifi_rssi).toBeLessThan(0);
    expect(await get(`/ape/v1/sonics_wifi/${wifiSonicId}`)).toEqual(data[0]);
    expect((await get('/ape/v1/sonics_wifi?name=barn')).data).toMatchObject([{ name: 'Barn' }]);
    expect((await get('/ape/v1/sonics')).total_entries).toBe(4);
  });

  it('is not found where the others are, nor they where it is', async () => {
    for (const path of [
      `/ape/v1/sonics/${wifiSonicId}`,
      `/ape/v1/sonics/${wifiSonicId}/telemetry`,
      `/ape/v1/sonics_wifi/${sonicId}`,
      `/ape/v1/sonics_wifi/${sonicId}/telemetry`,
    ]) {
      expect((await visitor.ask('GET', path)).status, path).toBe(404);
    }
    for (const path of [`sonics_wifi/${sonicId}`, `sonics/${wifiSonicId}`]) {
      expect((await put(`/ape/v1/${path}/valve`, { action: 'close' })).status, path).toBe(404);
    }
    expect(world.valve(wifiSonicId)?.isResting && world.valve(sonicId)?.isResting).toBe(true);
  });

  it('obeys a valve command as the others do, and stops its water', async () => {
    const { status, text } = await put(`/ape/v1/sonics_wifi/${wifiSonicId}/valve`, { action: 'close' });
    expect({ status, text }).toEqual({ status: 200, text: '' });
    const path = `/ape/v1/sonics_wifi/${wifiSonicId}`;
    expect((await get(path)).valve_state).toBe('requested_closed');
    clock.advance(6_000);
    expect((await get(path)).valve_state).toBe('closed');
    expect(await get(`${path}/telemetry`)).toMatchObject({ water_flow: 0 });
  });

  it('waits for a lost radio link, and no signal has a say in it', async () => {
    for (const id of world.signals.ids) world.dropCloud(id);
    world.dropRadio(wifiSonicId);
    world.commandValve(wifiSonicId, 'close');
    clock.advance(minuteMs);
    expect(simulator.world.wifiSonics.get(wifiSonicId)?.valve_state).toBe('open');
    world.connectRadio(wifiSonicId);
    clock.advance(6_000);
    expect(simulator.world.wifiSonics.get(wifiSonicId)?.valve_state).toBe('closed');
  });

  it('has incidents without a signal, in the list of its property', async () => {
    const { id } = world.openIncident({ type: 'high_humidity', sonicId: wifiSonicId });
    const [first, second] = world.properties.ids;
    const idsOf = async (propertyId?: string) =>
      (await get(`/ape/v1/properties/${propertyId}/incidents`)).data.map((each: { id: string }) => each.id);
    expect(world.propertyOf(wifiSonicId)).toBe(first);
    expect(await idsOf(first)).toContain(id);
    expect(await idsOf(second)).not.toContain(id);
    expect(await get(`/ape/v1/incidents/${id}`)).toMatchObject({ signal_id: null, sonic_id: wifiSonicId });
  });

  it('is not there unless asked for, and changes nothing of the rest', () => {
    const without = new Simulator({ clock, quiet: true }).world;
    expect(without.wifiSonics.size).toBe(0);
    expect([...without.sonics]).toEqual([...world.sonics]);
    expect([...without.incidents]).toEqual([...world.incidents]);
  });

  it('is where a home without hubs has its first incident', () => {
    const wireless = new Simulator({ clock, signals: 0, wifiSonics: 1 }).world;
    expect([...wireless.incidents.values()]).toMatchObject([{ sonic_id: wireless.wifiSonics.ids[0] }]);
  });

  it('lives as the others do', () => {
    const lively = new Simulator({ clock, properties: 1, sonics: 0, wifiSonics: 6 });
    const seen = new Set<string>();
    for (let minute = 0; minute < 24 * 60; minute++) {
      clock.advance(minuteMs);
      for (const [id, sonic] of lively.world.wifiSonics) {
        seen.add(`radio ${sonic.radio_connection}`).add(`valve ${sonic.valve_state}`);
        if (lively.world.pressureTestsOf(id).length > 0) seen.add('tested');
      }
    }
    expect([...seen].toSorted()).toEqual([
      'radio connected',
      'radio disconnected',
      'tested',
      'valve closed',
      'valve open',
      'valve pressure_test',
    ]);
  });
});

describe('a thing', () => {
  it.each(['sonic', 'Wi-Fi sonic'])(
    'that is a %s moves its valve when told to change its state',
    async (kind) => {
      const id = kind === 'sonic' ? sonicId : wifiSonicId;
      expect(read(await put(`${things}/${id}/state`, { action: 'close', reason: 'leak' }))).toEqual({
        status: 'ok',
      });
      clock.advance(6_000);
      expect(simulator.world.things.get(id)?.valve_state).toBe('closed');
      await put(`${things}/${id}/state`, { action: 'open' });
      clock.advance(6_000);
      expect(simulator.world.things.get(id)?.valve_state).toBe('open');
    },
  );

  it('knows no other states, and is left alone by words that mean none', async () => {
    for (const action of ['toggle', 'OPEN', 'toString', '', null, 1]) {
      expect((await put(`${things}/${sonicId}/state`, { action })).status, String(action)).toBe(422);
    }
    expect(world.valve(sonicId)?.isResting).toBe(true);
  });

  it('cannot be moved while a pressure test runs', async () => {
    await post(`${things}/${wifiSonicId}/pressure_tests`, { source: 'app' });
    for (const path of [`${things}/${wifiSonicId}/state`, `/ape/v1/sonics_wifi/${wifiSonicId}/valve`]) {
      const heard = await put(path, { action: 'close' });
      expect([heard.status, read(heard).message]).toEqual([409, 'a pressure test is running']);
    }
    clock.advance(10 * minuteMs);
    expect(simulator.world.things.get(wifiSonicId)?.valve_state).toBe('open');
  });

  it('says how much water ran on each day of a month', async () => {
    const { daily } = await get(`${things}/${wifiSonicId}/daily_usage?month=12&year=2024`);
    expect(daily).toHaveLength(31);
    expect((await get(`${things}/${sonicId}/daily_usage?month=12&year=2024`)).daily).not.toEqual(daily);
    const january = await get(`${things}/${sonicId}/daily_usage`);
    expect(january.daily).toHaveLength(15);
    expect(await get(`${things}/${sonicId}/daily_usage?month=1`)).toEqual(january);
    expect(await get(`${things}/${sonicId}/daily_usage?year=2026`)).toEqual({ daily: [] });
    clock.advance(6 * 60 * minuteMs);
    const later = await get(`${things}/${sonicId}/daily_usage`);
    expect(later.daily.slice(0, -1)).toEqual(january.daily.slice(0, -1));
    expect(later.daily.at(-1).liters).toBeGreaterThan(january.daily.at(-1).liters);
  });

  it('counts days as the property does, and its days follow the settings', async () => {
    clock.advance(11 * 60 * minuteMs);
    expect((await get(`${things}/${sonicId}/daily_usage`)).daily).toHaveLength(15);
    world.settings.change(world.propertyOf(sonicId) ?? '', { timezone: 'Europe/Warsaw' });
    expect((await get(`${things}/${sonicId}/daily_usage`)).daily.at(-1)).toEqual({
      date: '2025-01-16',
      liters: 0,
    });
  });

  it('refuses a month that no calendar has', async () => {
    for (const query of ['month=0', 'month=13', 'month=may', 'month=1.5', 'year=99', 'year=', 'day=1']) {
      const { status } = await visitor.ask('GET', `${things}/${sonicId}/daily_usage?${query}`);
      expect(status, query).toBe(422);
    }
  });

  it('corrects a day that is over, and only such', async () => {
    world.correctUsage(sonicId, '2025-01-02', 3.5);
    const { daily } = await get(`${things}/${sonicId}/daily_usage`);
    expect(daily[1]).toEqual({ date: '2025-01-02', liters: 3.5 });
    expect(() => world.correctUsage(sonicId, '2025-01-15', 3.5)).toThrow('2025-01-15 is not over');
  });
});

describe('a hub', () => {
  it('is its signal, online while it has its cloud', async () => {
    const [signalId = ''] = world.signals.ids;
    const path = `/iot-core/customer_app/hubs/${signalId}`;
    const { serial_no } = world.signals.get(signalId) ?? {};
    expect(await get(path)).toEqual({ id: signalId, serial_no, status: 'online' });
    world.dropCloud(signalId);
    expect((await get(path)).status).toBe('offline');
  });
});

it('appliance categories have each an id and a name of their own', async () => {
  const { categories } = await get('/iot-core/customer_app/appliance_categories');
  expect(categories).toContainEqual({ id: 'dishwasher', name: 'Dishwasher' });
  expect(new Set(categories.map(({ id }: { id: string }) => id)).size).toBe(categories.length);
});
