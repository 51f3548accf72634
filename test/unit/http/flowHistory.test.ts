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

/** The same, half a minute after a half hour has begun. */
async function homeAtHalfHour() {
  const whole = home();
  const { clock } = whole;
  await clock.advance(30 * minuteMs - (clock.now() % (30 * minuteMs)) + minuteMs / 2);
  return { ...whole, from: clock.now() - minuteMs / 2 };
}

it('The chart begins with a bar a minute, and nothing is made up where none was measured', async () => {
  const { clock, flows, history, from } = await homeAtHalfHour();
  expect(history.of('kitchen')).toBeNull();
  for (const flow of [4, 7.25, 0, null, null, 1]) {
    flows.set('kitchen', flow);
    await clock.advance(minuteMs);
  }
  flows.set('kitchen', null);
  await clock.advance(minuteMs);
  expect(history.of('kitchen')).toEqual({
    from: from + minuteMs,
    barMs: minuteMs,
    peaks: [4, 7.3, 0, null, null, 1, null],
  });
});

it('Of two flows within a bar the higher one is kept', () => {
  const { flows, history } = home();
  for (const flow of [4, 9, 2]) {
    flows.set('kitchen', flow);
    history.record();
  }
  expect(history.of('kitchen')?.peaks).toEqual([9]);
});

it('Bars become longer as they become too many, up to half an hour, and none of the peaks is lost', async () => {
  const { clock, flows, history, from } = await homeAtHalfHour();
  // A peak in the second minute of each hour.
  const lengths: { barMinutes: number; bars: number }[] = [];
  for (let minute = 0; minute < 23 * 60; minute++) {
    flows.set('kitchen', minute % 60 === 0 ? 9 : minute % 60 === 30 ? null : 1);
    await clock.advance(minuteMs);
    const { barMs = 0, peaks = [] } = history.of('kitchen') ?? {};
    lengths.push({ barMinutes: barMs / minuteMs, bars: peaks.length });
  }
  expect([...new Set(lengths.map(({ barMinutes }) => barMinutes))]).toEqual([1, 5, 15, 30]);
  const fewest = (after: number) => Math.min(...lengths.slice(after).map(({ bars }) => bars));
  expect([fewest(9), Math.max(...lengths.map(({ bars }) => bars))]).toEqual([10, 48]);
  const halfHours = Array.from({ length: 46 }, (_, index) => (index % 2 === 0 ? 9 : 1));
  expect(history.of('kitchen')).toEqual({ from, barMs: 30 * minuteMs, peaks: [...halfHours, 1] });
});

it('What is older than a day is forgotten, however long nobody measured', async () => {
  const { clock, flows, history } = home();
  flows.set('kitchen', 4);
  await clock.advance(2 * minuteMs);
  flows.set('kitchen', 2);
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
  expect(history.of('kitchen')).toMatchObject({ barMs: minuteMs, peaks: [3] });
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
