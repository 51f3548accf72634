import { beforeEach, describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let simulator: Simulator;
let sonicId: string;
let signalId: string;

beforeEach(() => {
  clock = new FakeClock();
  simulator = new Simulator({ clock, quiet: true, properties: 1, signals: 1, sonics: 1 });
  sonicId = simulator.world.sonics.ids[0] ?? '';
  signalId = simulator.world.signals.ids[0] ?? '';
});

const state = () => simulator.world.sonics.get(sonicId)?.valve_state;

/** The states seen while so much time passes, each once in a row. */
function statesDuring(ms: number): unknown[] {
  const states = [state()];
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    if (state() !== states.at(-1)) states.push(state());
  }
  return states;
}

describe('a valve', () => {
  it('is requested, moves and arrives after about six seconds', () => {
    simulator.world.commandValve(sonicId, 'close');
    expect(state()).toBe('requested_closed');
    expect(statesDuring(5_900)).toEqual(['requested_closed', 'closing']);
    expect(statesDuring(60_000)).toEqual(['closing', 'closed']);
    simulator.world.commandValve(sonicId, 'open');
    expect(statesDuring(60_000)).toEqual(['requested_open', 'opening', 'open']);
  });

  it('obeys the newest of two commands', () => {
    simulator.world.commandValve(sonicId, 'close');
    clock.advance(3_000);
    simulator.world.commandValve(sonicId, 'open');
    expect(statesDuring(60_000)).toEqual(['requested_open', 'open']);
  });

  it('does not move when it is where it should be', () => {
    simulator.world.commandValve(sonicId, 'open');
    expect(statesDuring(60_000)).toEqual(['requested_open', 'open']);
  });

  it('waits for a lost radio link and then obeys what was asked last', () => {
    simulator.world.dropRadio(sonicId);
    simulator.world.commandValve(sonicId, 'open');
    simulator.world.commandValve(sonicId, 'close');
    expect(statesDuring(600_000)).toEqual(['open']);
    simulator.world.connectRadio(sonicId);
    expect(statesDuring(60_000)).toEqual(['requested_closed', 'closing', 'closed']);
  });

  it('waits for a hub that lost the cloud', () => {
    simulator.world.dropCloud(signalId);
    simulator.world.commandValve(sonicId, 'close');
    simulator.world.connectRadio(sonicId);
    expect(statesDuring(60_000)).toEqual(['open']);
    simulator.world.connectCloud(signalId);
    expect(statesDuring(60_000)).toEqual(['requested_closed', 'closing', 'closed']);
  });

  it('stays where it is with too weak a battery, which is an incident', () => {
    const valve = simulator.world.valve(sonicId);
    if (valve) valve.weak = true;
    simulator.world.commandValve(sonicId, 'close');
    expect(statesDuring(60_000)).toEqual(['requested_closed', 'open']);
    expect([...simulator.world.incidents.values()].at(-1)).toMatchObject({
      type: 'battery_too_low_to_move_handle',
      sonic_id: sonicId,
      open: true,
    });
  });

  it('can be put into any state, which ends a movement', () => {
    simulator.world.commandValve(sonicId, 'close');
    clock.advance(2_000);
    simulator.world.setValve(sonicId, 'faulty');
    expect(statesDuring(60_000)).toEqual(['faulty']);
  });

  it('is forgotten with its sonic in the middle of a movement', () => {
    simulator.world.commandValve(sonicId, 'close');
    simulator.world.removeSonic(sonicId);
    expect(statesDuring(60_000)).toEqual([undefined]);
    expect(simulator.world.sonics.size).toBe(0);
  });
});

describe('telemetry', () => {
  it('shows no flow and an unchanged pressure behind a closed valve', () => {
    expect(simulator.world.telemetry(sonicId)?.water_flow).toBeGreaterThan(0);
    simulator.world.commandValve(sonicId, 'close');
    clock.advance(10_000);
    const closed = simulator.world.telemetry(sonicId);
    expect(closed).toMatchObject({ water_flow: 0, probed_at: Math.floor(clock.now() / 1_000) - 4 });
    clock.advance(600_000);
    expect(simulator.world.telemetry(sonicId)).toEqual(closed);
  });

  it('flows freely only while a leak is open', () => {
    const [leak] = simulator.world.incidents.ids;
    expect(simulator.world.telemetry(sonicId)?.water_flow).toBeGreaterThan(2_000);
    simulator.world.closeIncident(leak ?? '');
    const flows = Array.from({ length: 120 }, () => {
      clock.advance(60_000);
      simulator.world.setValve(sonicId, 'open');
      return simulator.world.telemetry(sonicId)?.water_flow;
    });
    expect(flows).toContain(0);
    expect(new Set(flows).size).toBeGreaterThan(5);
  });
});
