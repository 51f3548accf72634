import { expect, it } from 'vitest';
import { FlowHistory } from '../../../src/http/flowHistory.ts';
import type { SonicView } from '../../../src/model/devices.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { aSonic, someTelemetry, sonicView } from '../../support/views.ts';

const minuteMs = 60_000;

/** A home with these valves, whose flow can be set in L/min. */
function home(ids: readonly string[] = ['kitchen']) {
  const clock = new FakeClock();
  const flows = new Map<string, number | null>();
  const view = (id: string): SonicView => {
    const flow = flows.get(id) ?? null;
    const telemetry = someTelemetry({ water_flow: flow === null ? null : flow * 1_000 });
    return sonicView({ sonic: aSonic({ id }), telemetry });
  };
  const present = [...ids];
  const history = new FlowHistory({ ids: () => present, sonicView: view }, clock);
  const stopping = new AbortController();
  history.start(stopping.signal);
  return { clock, flows, history, present, stopping };
}

it('The chart has the highest flow of each half hour, and nothing is made up where none was measured', async () => {
  const { clock, flows, history } = home();
  await clock.advance(30 * minuteMs - (clock.now() % (30 * minuteMs)) + minuteMs / 2);
  const from = clock.now() - minuteMs / 2;
  expect(history.of('kitchen')).toBeNull();
  for (const flow of [4, 7.25, 0, null, null, 1]) {
    for (const each of [flow, flow && flow / 2, null]) {
      flows.set('kitchen', each);
      await clock.advance(10 * minuteMs);
    }
  }
  expect(history.of('kitchen')).toEqual({ from, peaks: [4, 7.3, 0, null, null, 1, null] });
});

it('What is older than a day is forgotten, however long nobody measured', async () => {
  const { clock, flows, history } = home();
  flows.set('kitchen', 4);
  await clock.advance(2 * minuteMs);
  flows.set('kitchen', 2);
  await clock.advance(30 * minuteMs);
  await clock.advance(30 * 60 * minuteMs);
  expect(new Set(history.of('kitchen')?.peaks)).toEqual(new Set([2]));
  expect(history.of('kitchen')?.peaks).toHaveLength(48);
  flows.set('kitchen', null);
  await clock.advance(23 * 60 * minuteMs);
  expect(new Set(history.of('kitchen')?.peaks)).toEqual(new Set([2, null]));
  await clock.advance(2 * 60 * minuteMs);
  expect(history.of('kitchen')).toBeNull();
  flows.set('kitchen', 3);
  await clock.advance(minuteMs);
  expect(history.of('kitchen')).toMatchObject({ peaks: [3] });
});

it('After the clock was set back the chart begins again, instead of showing what is still to come', async () => {
  const { clock, flows, history } = home();
  flows.set('kitchen', 4);
  await clock.advance(10 * minuteMs);
  clock.sleep(-60 * minuteMs);
  expect(history.of('kitchen')).toBeNull();
  await clock.advance(minuteMs);
  expect(history.of('kitchen')?.peaks).toEqual([4]);
});

it('Valves that are gone are forgotten, and of very many none is kept', async () => {
  const { clock, flows, history, present } = home(['kitchen', 'garden']);
  for (const id of present) flows.set(id, 1);
  await clock.advance(minuteMs);
  expect(history.of('garden')).not.toBeNull();
  present.pop();
  await clock.advance(minuteMs);
  expect([history.of('kitchen') === null, history.of('garden')]).toEqual([false, null]);
  present.push(...Array.from({ length: 2_000 }, (_, index) => `valve-${index}`));
  await clock.advance(minuteMs);
  expect(history.of('kitchen')).toBeNull();
});

it('Once it is stopped it looks no more', async () => {
  const { clock, flows, history, stopping } = home();
  flows.set('kitchen', 1);
  stopping.abort();
  await clock.advance(5 * minuteMs);
  expect([clock.waiting, history.of('kitchen')]).toEqual([0, null]);
});
