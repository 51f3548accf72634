import { describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { startCloudWithClient } from '../../support/cloudTestClient.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const minuteMs = 60_000;

/** A home with one hub, and a sonic of either kind. */
function oneHome() {
  const clock = new FakeClock();
  const simulator = new Simulator({
    ...{ clock, quiet: true, properties: 1, signals: 1, sonics: 1, wifiSonics: 1 },
  });
  const [sonicId = '', wifiId = ''] = simulator.world.thingIds;
  const state = (id = sonicId) => simulator.world.things.get(id)?.valve_state;
  const pass = (ms: number) => {
    clock.advance(ms);
    return simulator.world.now;
  };
  /** The states seen while so much time passes, each once in a row. */
  const statesDuring = (ms: number, id = sonicId) => {
    const states = [state(id)];
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      if (state(id) !== states.at(-1)) states.push(state(id));
    }
    return states;
  };
  const [signalId = ''] = simulator.world.signals.ids;
  return { clock, pass, simulator, world: simulator.world, sonicId, wifiId, signalId, statesDuring };
}

describe('a valve', () => {
  it('is requested, moves and arrives after about six seconds', () => {
    const { world, sonicId, statesDuring } = oneHome();
    world.commandValve(sonicId, 'close');
    expect(statesDuring(5_900)).toEqual(['requested_closed', 'closing']);
    expect(statesDuring(minuteMs)).toEqual(['closing', 'closed']);
    world.commandValve(sonicId, 'open');
    expect(statesDuring(minuteMs)).toEqual(['requested_open', 'opening', 'open']);
    world.commandValve(sonicId, 'open');
    expect(statesDuring(minuteMs)).toEqual(['requested_open', 'open']);
  });

  it('obeys the newest of two commands', () => {
    const { pass, world, sonicId, statesDuring } = oneHome();
    world.commandValve(sonicId, 'close');
    pass(3_000);
    world.commandValve(sonicId, 'open');
    expect(statesDuring(minuteMs)).toEqual(['requested_open', 'open']);
  });

  it('waits for a lost radio link or hub, and then obeys the newest command', () => {
    const { world, sonicId, wifiId, signalId, statesDuring } = oneHome();
    world.dropRadio(sonicId);
    world.dropCloud(signalId);
    world.commandValve(sonicId, 'open');
    world.commandValve(sonicId, 'close');
    expect(statesDuring(minuteMs)).toEqual(['open']);
    world.connectRadio(sonicId);
    expect(statesDuring(minuteMs)).toEqual(['open']);
    world.commandValve(wifiId, 'close');
    expect(statesDuring(minuteMs, wifiId)).toEqual(['requested_closed', 'closing', 'closed']);
    world.connectCloud(signalId);
    expect(statesDuring(minuteMs)).toEqual(['requested_closed', 'closing', 'closed']);
    expect([...world.incidents.values()].slice(1)).toMatchObject([
      { type: 'radio_disconnection', sonic_id: sonicId, open: false },
      { type: 'cloud_disconnection', signal_id: signalId, sonic_id: null, open: false },
    ]);
  });

  it('stays where it is with too weak a battery, which is an incident', () => {
    const { world, sonicId, statesDuring } = oneHome();
    Object.assign(world.valve(sonicId) ?? {}, { weak: true });
    world.commandValve(sonicId, 'close');
    expect(statesDuring(minuteMs)).toEqual(['requested_closed', 'open']);
    const incident = { type: 'battery_too_low_to_move_handle', sonic_id: sonicId, open: true };
    expect([...world.incidents.values()].at(-1)).toMatchObject(incident);
  });
});

describe('a pressure test', () => {
  async function visitThing(pressureTestMs?: number) {
    const cloud = await startCloudWithClient(pressureTestMs === undefined ? {} : { pressureTestMs });
    const { simulator, world, client } = cloud;
    const [id = ''] = world.sonics.ids;
    const path = `/iot-core/customer_app/things/${id}/pressure_tests`;
    const start = (body: unknown = { source: 'app' }) => client.post(path, body);
    const byDay = async () =>
      Object.entries<object[]>((await client.get(path)).by_day).map(([date, tests]) => [date, tests.length]);
    const state = () => simulator.world.sonics.get(id)?.valve_state;
    return { ...cloud, id, path, start, byDay, state };
  }

  it.each([undefined, 500])(
    'shows at the valve for its time (%s ms), which is then where it was',
    async (ms) => {
      const { clock, simulator, id, start, state } = await visitThing(ms);
      for (const before of ['open', 'closed']) {
        simulator.world.setValve(id, before);
        expect((await start()).status).toBe(200);
        clock.advance((ms ?? 3 * minuteMs) - 1);
        expect(state()).toBe('pressure_test');
        clock.advance(1);
        expect(state()).toBe(before);
      }
    },
  );

  it('belongs to the day that the property had when it began', async () => {
    const { clock, world, id, start, byDay } = await visitThing();
    await start();
    clock.advance((11 * 60 + 59) * minuteMs);
    await start();
    clock.advance(3 * minuteMs);
    await start();
    expect(await byDay()).toEqual([
      ['2025-01-15', 2],
      ['2025-01-16', 1],
    ]);
    world.settings.change(world.propertyOf(id) ?? '', { timezone: 'America/New_York' });
    expect(await byDay()).toEqual([['2025-01-15', 3]]);
  });
});
