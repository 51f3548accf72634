import { expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { leak, startStory } from '../../../src/simulator/story.ts';
import { FakeClock } from '../../support/fakeClock.ts';

function startDemo() {
  const clock = new FakeClock();
  const simulator = new Simulator({ clock, speed: 30, happenings: startStory });
  const [kitchen = '', bathroom = '', ...others] = simulator.world.thingIds;
  const flows = () =>
    simulator.world.thingIds.map((id) => (simulator.world.telemetry(id)?.water_flow ?? 0) > 0);
  const openTypes = () =>
    [...simulator.world.incidents.values()].filter(({ open }) => open).map(({ type }) => type);
  return { clock, simulator, kitchen, bathroom, others, flows, openTypes };
}

it('is quiet at first, then a tap runs, then the kitchen leaks, until its valve is closed', () => {
  const { clock, simulator, kitchen, flows, openTypes } = startDemo();
  clock.advance(19_000);
  expect([flows(), openTypes()]).toEqual([[false, false, false, false], []]);
  clock.advance(4_000);
  expect([flows(), openTypes()]).toEqual([[false, true, false, false], []]);
  clock.advance(20_000);
  expect([flows(), openTypes()]).toEqual([[true, true, false, false], ['water_presence_detected']]);
  clock.advance(3_600_000);
  expect([flows(), openTypes()]).toEqual([[true, false, false, false], ['water_presence_detected']]);
  simulator.world.commandValve(kitchen, 'close');
  clock.advance(8_000);
  expect([flows(), openTypes()]).toEqual([[false, false, false, false], []]);
  simulator.world.commandValve(kitchen, 'open');
  clock.advance(24 * 3_600_000);
  // The leak is mended, and nothing else ever happens.
  expect([flows(), openTypes()]).toEqual([[false, false, false, false], []]);
});

it('leaks once at a time, and not behind a closed valve', () => {
  const { clock, simulator, kitchen, openTypes } = startDemo();
  expect([leak(simulator.world, kitchen), leak(simulator.world, kitchen)]).toEqual([true, false]);
  simulator.world.setValve(kitchen, 'closed');
  clock.advance(1_000);
  expect([openTypes(), leak(simulator.world, kitchen)]).toEqual([[], false]);
  // The story finds a closed valve too.
  clock.advance(60_000);
  expect(openTypes()).toEqual([]);
});

it('simulate starts with an open incident on one of its sonics', () => {
  const { incidents, thingIds } = new Simulator({ clock: new FakeClock() }).world;
  expect([...incidents.values()]).toMatchObject([{ open: true, sonic_id: thingIds[0] }]);
});
