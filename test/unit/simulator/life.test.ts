import { describe, expect, it } from 'vitest';
import { Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import type { World } from '../../../src/simulator/world.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const minuteMs = 60_000;

/** Everything that the cloud shows of a world. */
function shown(world: World): unknown {
  const { properties, settings, notifications, signals, sonics, incidents } = world;
  const telemetry = sonics.ids.map((id) => world.telemetry(id));
  return [properties, settings, notifications, signals, sonics, incidents]
    .map((records) => [...records])
    .concat([telemetry as never]);
}

function simulate(options: SimulatorOptions = {}) {
  const clock = new FakeClock();
  return { clock, simulator: new Simulator({ clock, ...options }) };
}

describe('a world', () => {
  it('is the same for the same seed and times, however often it is looked at', () => {
    const rarely = simulate({ seed: 7 });
    const often = simulate({ seed: 7 });
    for (let minute = 0; minute < 300; minute++) {
      often.clock.advance(minuteMs);
      expect(often.simulator.world.now).toBe(often.clock.now());
    }
    rarely.clock.advance(300 * minuteMs);
    expect(shown(rarely.simulator.world)).toEqual(shown(often.simulator.world));
  });

  it('is another for another seed', () => {
    const ids = [1, 2].map((seed) => simulate({ seed }).simulator.world.sonics.ids);
    expect(ids[0]).not.toEqual(ids[1]);
  });

  it('keeps its ids and names from one version to the next', () => {
    const { world } = simulate({ quiet: true }).simulator;
    const [property] = world.properties.values();
    expect([property?.id, property?.name]).toEqual([
      '08ff49b6-f772-4632-a716-c43069c43a8c',
      'Willow Cottage',
    ]);
    expect(world.signals.ids.at(-1)).toBe('03aa056d-a559-40e8-b9a1-1d2b4a48e112');
    expect(world.sonics.ids.at(-1)).toBe('6e7ef93a-99e5-4e07-8308-7c4ce62885fa');
    expect(world.user?.id).toBe('548ea75c-1c36-4d92-aa5f-0e0230f7af37');
  });

  it('holds exactly as many of each as asked, in turn, with different ids and names', () => {
    const { world } = simulate({ properties: 3, signals: 5, sonics: 37 }).simulator;
    expect([world.properties.size, world.signals.size, world.sonics.size]).toEqual([3, 5, 37]);
    expect(world.properties.ids.map((id) => world.signalIdsOf(id).length)).toEqual([2, 2, 1]);
    expect(world.signals.ids.map((id) => world.sonicIdsOf(id).length)).toEqual([8, 8, 7, 7, 7]);
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

  it('starts with one open incident, and stays as it is when it is quiet', () => {
    const { clock, simulator } = simulate({ quiet: true });
    const before = shown(simulator.world);
    expect([...simulator.world.incidents.values()]).toMatchObject([
      { open: true, sonic_id: simulator.world.sonics.ids[0], type: 'long_flow_alert' },
    ]);
    clock.advance(30 * 24 * 60 * minuteMs);
    expect(shown(simulator.world)).toEqual(before);
  });

  it('lives: incidents come and go, links drop and return, batteries and signals change', () => {
    const { clock, simulator } = simulate();
    const seen = new Set<string>();
    const types = new Map<string, string | null>();
    for (let minute = 0; minute < 12 * 60; minute++) {
      clock.advance(minuteMs);
      const { incidents, sonics, signals } = simulator.world;
      for (const { id, type, open } of incidents.values()) types.set(id, `${type} ${open}`);
      for (const sonic of sonics.values()) {
        seen.add(`radio ${sonic.radio_connection}`).add(`battery ${sonic.battery}`);
        seen.add(`valve ${sonic.valve_state}`);
      }
      for (const signal of signals.values()) seen.add(`cloud ${signal.cloud_connection}`);
    }
    for (const sight of ['radio disconnected', 'battery low', 'battery high', 'cloud disconnected']) {
      expect(seen).toContain(sight);
    }
    expect(seen).toContain('valve closed');
    expect(new Set(types.values())).toContain('radio_disconnection false');
    expect(new Set(types.values())).toContain('device_handle_moved false');
    expect(new Set(types.values()).size).toBeGreaterThan(12);
    expect(types.size).toBeGreaterThan(100);
    expect(types.size).toBeLessThan(600);
    // One waits for a user; others are under way.
    expect([...types.values()].filter((word) => word?.endsWith('true')).length).toBeLessThan(10);
  });

  it('spares the first sonic and its hub whatever would keep its valve from obeying', () => {
    const { clock, simulator } = simulate();
    const [first = ''] = simulator.world.sonics.ids;
    for (let minute = 0; minute < 12 * 60; minute++) {
      clock.advance(minuteMs);
      const sonic = simulator.world.sonics.get(first);
      expect(sonic).toMatchObject({ radio_connection: 'connected', valve_state: 'open', battery: 'high' });
      const signal = simulator.world.signals.get(sonic?.signal_id ?? '');
      expect(signal?.cloud_connection).toBe('connected');
    }
  });

  it('takes a reading about once a minute, and none while a radio link is lost', () => {
    const { clock, simulator } = simulate();
    const [, second = ''] = simulator.world.sonics.ids;
    const probedAt = () => simulator.world.telemetry(second)?.probed_at;
    const times = Array.from({ length: 60 }, () => {
      clock.advance(10_000);
      return probedAt();
    });
    expect(new Set(times).size).toBeGreaterThanOrEqual(10);
    expect(new Set(times).size).toBeLessThanOrEqual(11);
    simulator.world.dropRadio(second);
    const lost = probedAt();
    clock.advance(59_000);
    expect(probedAt()).toBe(lost);
  });

  it('keeps a bounded number of incidents, the open ones among them', () => {
    const { world } = simulate({ quiet: true }).simulator;
    for (let round = 0; round < 1_500; round++) {
      world.closeIncident(world.openIncident({ type: 'high_humidity' }).id);
    }
    expect(world.incidents.size).toBe(1_000);
    expect(world.incidents.values().next().value).toMatchObject({ type: 'long_flow_alert', open: true });
  });

  it('lets an incident begin by calling people', () => {
    const { clock, simulator } = simulate();
    const { id } = simulator.world.openIncident({ type: 'high_humidity' });
    expect(simulator.world.incidents.get(id)).toMatchObject({ state: 'initialising', severity: 'low' });
    clock.advance(21_000);
    expect(simulator.world.incidents.get(id)?.state).toBe('contacting');
  });
});

describe('nightly pressure tests', () => {
  const states = (world: World) => [...world.sonics.values()].map(({ valve_state }) => valve_state);

  it('close each valve for some minutes at the scheduled time of the property, then put it back', () => {
    // 12:00 UTC in winter; the first property is in London.
    const { clock, simulator } = simulate({ seed: 3, properties: 1, signals: 1, sonics: 12 });
    clock.advance((14 * 60 + 59) * minuteMs);
    expect(states(simulator.world)).not.toContain('pressure_test');
    clock.advance(2 * minuteMs);
    expect(states(simulator.world)).toContain('pressure_test');
    expect(states(simulator.world)).toContain('open');
    clock.advance(4 * minuteMs);
    expect(states(simulator.world)).not.toContain('pressure_test');
    const reported = [...simulator.world.incidents.values()].map(({ type }) => type);
    expect(reported.filter((type) => type?.startsWith('pressure_test_'))).not.toHaveLength(0);
  });

  it('follow changed settings at once, in their time zone', () => {
    const { clock, simulator } = simulate({ properties: 1, signals: 1, sonics: 12 });
    const [propertyId = ''] = simulator.world.properties.ids;
    simulator.world.settings.change(propertyId, {
      timezone: 'America/New_York',
      pressure_tests_schedule: '07:30:10',
    });
    clock.advance(31 * minuteMs);
    expect(states(simulator.world)).toContain('pressure_test');
  });

  it('do not run where they are disabled', () => {
    const { clock, simulator } = simulate({ properties: 1, signals: 1, sonics: 12 });
    const [propertyId = ''] = simulator.world.properties.ids;
    simulator.world.settings.change(propertyId, { pressure_tests_enabled: false });
    for (let minute = 0; minute < 24 * 60; minute++) {
      clock.advance(minuteMs);
      expect(states(simulator.world)).not.toContain('pressure_test');
    }
  });
});
