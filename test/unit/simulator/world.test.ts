import { describe, expect, it } from 'vitest';
import { Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import { probedReading } from '../../../src/simulator/water.ts';
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

  it('lets things happen in order of time, then of entry, each at its own time', () => {
    const { clock, simulator } = simulate({ quiet: true });
    const { timeline } = simulator.world;
    const start = timeline.now;
    const ran: string[] = [];
    for (const [delayMs, name] of [
      [30, 'late'],
      [10, 'first'],
      [10, 'second'],
    ] as const) {
      timeline.after(delayMs, () => ran.push(`${name} ${timeline.now - start}`));
    }
    timeline.after(10, () => ran.push('cancelled'))();
    clock.advance(40);
    expect(simulator.world.now - start).toBe(40);
    expect(ran).toEqual(['first 10', 'second 10', 'late 30']);
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

  it('has a sonic that is removed in no property any more', () => {
    const { world } = simulate({ quiet: true, wifiSonics: 1 }).simulator;
    for (const id of world.thingIds) {
      world.removeSonic(id);
      expect(world.propertyOf(id)).toBeUndefined();
    }
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

  it.each([
    [{}, [2, 3, 4]],
    [{ properties: 5 }, [5, 5, 5]],
    [{ signals: 6 }, [2, 6, 6]],
    [{ properties: 0 }, [0, 0, 0]],
    [{ signals: 0 }, [2, 0, 0]],
    [{ sonics: 0 }, [2, 3, 0]],
  ])('with %o given has the sizes %o', (options, sizes) => {
    const { world } = simulate(options).simulator;
    expect([world.properties.size, world.signals.size, world.sonics.size]).toEqual(sizes);
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

  it('keeps a bounded number of incidents, the open ones among them', () => {
    const { world } = simulate({ quiet: true }).simulator;
    for (let round = 0; round < 1_500; round++) {
      world.closeIncident(world.openIncident({ type: 'high_humidity' }).id);
    }
    expect(world.incidents.size).toBe(1_000);
    expect(world.incidents.values().next().value).toMatchObject({ type: 'long_flow_alert', open: true });
  });

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
  it('sees incidents come and go, links drop and return, batteries and valves change', () => {
    const { clock, simulator } = simulate({ wifiSonics: 2 });
    const [first = ''] = simulator.world.sonics.ids;
    const seen = new Set<string>();
    const types = new Map<string, string>();
    for (let minute = 0; minute < 12 * 60; minute++) {
      clock.advance(minuteMs);
      const { incidents, signals, things, thingIds } = simulator.world;
      for (const { id, type, open, state } of incidents.values()) {
        types.set(id, `${type} ${open}`);
        seen.add(`incident ${state}`);
      }
      for (const [index, id] of thingIds.entries()) {
        const { signal_id = null, radio_connection, battery, valve_state } = things.get(id) ?? {};
        const kind = signal_id === null ? 'wifi' : 'sonic';
        seen.add(`${kind} radio ${radio_connection}`).add(`${kind} valve ${valve_state}`);
        if (index > 0) seen.add(`battery ${battery}`);
      }
      for (const { cloud_connection } of signals.values()) seen.add(`cloud ${cloud_connection}`);
      // The first sonic and its hub are there to try things on.
      const sonic = things.get(first);
      expect(sonic).toMatchObject({ radio_connection: 'connected', valve_state: 'open', battery: 'high' });
      expect(signals.get(sonic?.signal_id ?? '')).toMatchObject({ cloud_connection: 'connected' });
    }
    for (const sight of [
      ...['battery high', 'battery mid', 'battery low', 'cloud disconnected', 'incident contacting'],
      ...['sonic radio disconnected', 'wifi radio disconnected', 'sonic valve closed', 'wifi valve closed'],
    ]) {
      expect(seen).toContain(sight);
    }
    const words = [...types.values()];
    expect(words).toContain('radio_disconnection false');
    expect(words).toContain('device_handle_moved false');
    expect(new Set(words).size).toBeGreaterThan(12);
    expect(types.size).toBeGreaterThan(100);
    expect(types.size).toBeLessThan(600);
    // One waits for a user; others are under way.
    expect(words.filter((word) => word.endsWith('true')).length).toBeLessThan(10);
  });

  it.each([
    ['of a sonic', 1],
    ['of a Wi-Fi sonic', -1],
  ])('takes a reading %s about once a minute, and none while a radio link is lost', (_, index) => {
    const { clock, simulator } = simulate({ wifiSonics: 1 });
    const second = simulator.world.thingIds.at(index) ?? '';
    const probedAt = () => simulator.world.telemetry(second)?.probed_at;
    const times = Array.from({ length: 60 }, () => {
      clock.advance(10_000);
      return probedAt();
    });
    expect(new Set(times).size).toBeGreaterThanOrEqual(10);
    expect(new Set(times).size).toBeLessThanOrEqual(11);
    simulator.world.dropRadio(second);
    const lost = probedAt();
    clock.advance(119_000);
    expect(probedAt()).toBe(lost);
    simulator.world.connectRadio(second);
    clock.advance(minuteMs);
    expect(probedAt()).toBeGreaterThan(lost ?? Infinity);
  });

  it('has less pressure while water runs, and hardly another from reading to reading while none does', () => {
    const readings = Array.from({ length: 12 * 60 }, (_, minute) => {
      const at = { seed: 1, probedAt: Date.UTC(2025, 0, 15) + minute * minuteMs, probeMs: minuteMs };
      const { pressure, water_flow } = probedReading({
        ...at,
        valveIsOpen: true,
        isLeaking: false,
        runs: null,
      });
      return { pressure: pressure ?? 0, flow: water_flow ?? 0 };
    });
    const resting = readings.filter(({ flow }) => flow === 0).map(({ pressure }) => pressure);
    const running = readings.filter(({ flow }) => flow > 0).map(({ pressure }) => pressure);
    expect(running.length).toBeGreaterThan(10);
    expect(Math.max(...running)).toBeLessThan(Math.min(...resting) - 100);
    expect(new Set(resting).size).toBeGreaterThan(10);
    expect(Math.max(...resting) - Math.min(...resting)).toBeLessThanOrEqual(20);
    const slow = readings.toSorted((left, right) => left.flow - right.flow).find(({ flow }) => flow > 0);
    const fast = readings.reduce((most, each) => (each.flow > most.flow ? each : most));
    expect(fast.pressure).toBeLessThan(slow?.pressure ?? 0);
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

  it('follows changed settings at once, in their time zone', () => {
    const { clock, simulator } = simulate();
    const { world } = simulator;
    const [enabled = '', disabled = ''] = world.properties.ids;
    const settings = { timezone: 'America/New_York', pressure_tests_schedule: '07:30:10' };
    world.settings.change(enabled, settings);
    world.settings.change(disabled, { ...settings, pressure_tests_enabled: false });
    clock.advance(31 * minuteMs);
    const testsIn = (id: string) =>
      simulator.world.thingIdsOf(id).flatMap((thing) => simulator.world.pressureTestsOf(thing));
    expect(testsIn(enabled)).not.toEqual([]);
    expect(testsIn(disabled)).toEqual([]);
  });
});
