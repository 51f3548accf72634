import { describe, expect, it } from 'vitest';
import { Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import type { World } from '../../../src/simulator/world.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Everything that the cloud shows of a world. */
function shown(world: World): unknown {
  const { properties, settings, notifications, signals, sonics, wifiSonics, incidents } = world;
  const lists = [properties, settings, notifications, signals, sonics, wifiSonics, incidents];
  return [lists.map((records) => [...records]), world.thingIds.map((id) => world.telemetry(id))];
}

function simulate(options: SimulatorOptions = {}) {
  const clock = new FakeClock();
  return { clock, simulator: new Simulator({ clock, ...options }) };
}

describe('a world', () => {
  it('is the same for the same seed and times, however often it is looked at', () => {
    const rarely = simulate({ seed: 7, wifiSonics: 1 });
    const often = simulate({ seed: 7, wifiSonics: 1 });
    for (let minute = 0; minute < 300; minute++) {
      often.clock.advance(minuteMs);
      expect(often.simulator.world.now).toBe(often.clock.now());
    }
    rarely.clock.advance(300 * minuteMs);
    expect(shown(rarely.simulator.world)).toEqual(shown(often.simulator.world));
  });

  it('keeps its ids and names from one version to the next, and has others for another seed', () => {
    const { world } = simulate({ quiet: true, wifiSonics: 1 }).simulator;
    const [property] = world.properties.values();
    expect(property).toMatchObject({ id: '08ff49b6-f772-4632-a716-c43069c43a8c', name: 'Willow Cottage' });
    expect(world.signals.ids.at(-1)).toBe('03aa056d-a559-40e8-b9a1-1d2b4a48e112');
    expect(world.sonics.ids.at(-1)).toBe('6e7ef93a-99e5-4e07-8308-7c4ce62885fa');
    expect(world.user?.id).toBe('548ea75c-1c36-4d92-aa5f-0e0230f7af37');
    const { world: other } = simulate({ quiet: true, seed: 2 }).simulator;
    expect(other.sonics.ids.some((id) => world.sonics.ids.includes(id))).toBe(false);
    // Wi-Fi sonics came later and changed nothing of the rest.
    const { world: without } = simulate({ quiet: true }).simulator;
    expect([...without.sonics]).toEqual([...world.sonics]);
    expect([...without.incidents]).toEqual([...world.incidents]);
  });

  it('holds exactly as many of each as asked, in turn, with different ids and names', () => {
    const { world } = simulate({ properties: 3, signals: 5, sonics: 37, wifiSonics: 4 }).simulator;
    expect([world.properties.size, world.signals.size, world.sonics.size]).toEqual([3, 5, 37]);
    expect(world.properties.ids.map((id) => world.signalIdsOf(id).length)).toEqual([2, 2, 1]);
    expect(world.signals.ids.map((id) => world.sonicIdsOf(id).length)).toEqual([8, 8, 7, 7, 7]);
    expect(world.properties.ids.map((id) => world.thingIdsOf(id).length)).toEqual([8 + 7 + 2, 8 + 7 + 1, 8]);
    const all = [...world.properties.values(), ...world.signals.values(), ...world.sonics.values()];
    expect(new Set(all.map(({ id }) => id)).size).toBe(45);
    expect(new Set(all.map(({ name }) => name)).size).toBe(45);
  });

  it.each([{}, { signals: 0, wifiSonics: 1 }])(
    'starts with one open incident, and stays as it is when it is quiet (%o)',
    (sizes) => {
      const { clock, simulator } = simulate({ quiet: true, ...sizes });
      const { world } = simulator;
      // Its valves measure on, and always the same.
      const timeless = () => JSON.stringify(shown(world)).replaceAll(/"probed_at":\d+/g, '');
      const before = timeless();
      const incident = { open: true, sonic_id: world.thingIds[0], type: 'long_flow_alert' };
      expect([...world.incidents.values()]).toMatchObject([incident]);
      clock.advance(30 * dayMs);
      expect(timeless()).toEqual(before);
    },
  );

  it('loses all of a property that the account leaves, its incidents and Wi-Fi sonics too', () => {
    const { world } = simulate({ quiet: true, wifiSonics: 2 }).simulator;
    const [left = '', kept = ''] = world.properties.ids;
    world.leaveProperty(left);
    expect(world.properties.ids).toEqual([kept]);
    expect(world.signals.ids).toEqual(world.signalIdsOf(kept));
    expect(world.thingIds).toEqual(world.thingIdsOf(kept));
    expect(world.incidents.size).toBe(0);
  });
});

describe('a world that lives', () => {
  it('sees incidents come and go, links drop and return and valves change, but not of the first sonic', () => {
    const { clock, simulator } = simulate({ wifiSonics: 2 });
    const [first = ''] = simulator.world.sonics.ids;
    const seen = new Set<string>();
    for (let minute = 0; minute < 12 * 60; minute++) {
      clock.advance(minuteMs);
      const { incidents, signals, things, thingIds } = simulator.world;
      for (const { type, open } of incidents.values()) seen.add(`${type} ${open}`);
      for (const id of thingIds) seen.add(`valve ${things.get(id)?.valve_state}`);
      const { signal_id = null, ...sonic } = things.get(first) ?? {};
      expect(sonic).toMatchObject({ radio_connection: 'connected', valve_state: 'open' });
      expect(signals.get(signal_id ?? '')).toMatchObject({ cloud_connection: 'connected' });
    }
    for (const type of ['radio_disconnection', 'cloud_disconnection', 'device_handle_moved']) {
      expect([...seen]).toEqual(expect.arrayContaining([`${type} true`, `${type} false`, 'valve closed']));
    }
  });

  it('tests each valve at the scheduled time of its property, or reports that it did not', () => {
    // 12:00 UTC in winter; the first property is in London.
    const { clock, simulator } = simulate({ properties: 1, signals: 1, sonics: 12, wifiSonics: 12 });
    const states = () => {
      const { things, thingIds } = simulator.world;
      return thingIds.map((id) => things.get(id)?.valve_state);
    };
    clock.advance((14 * 60 + 59) * minuteMs);
    expect(states()).not.toContain('pressure_test');
    clock.advance(2 * minuteMs);
    expect(states()).toEqual(expect.arrayContaining(['pressure_test', 'open']));
    const { world } = simulator;
    for (const id of world.thingIds) {
      const isSkipped = world.openIncidentOf('pressure_test_skipped', id) !== undefined;
      const test = { source: 'schedule', started_at: '2025-01-16T03:00:00.000Z' };
      expect(world.pressureTestsOf(id)).toMatchObject(isSkipped ? [] : [test]);
    }
    clock.advance(4 * minuteMs);
    expect(states()).not.toContain('pressure_test');
    const types = [...simulator.world.incidents.values()].map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['pressure_test_skipped', 'pressure_test_failed']));
  });
});
