import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { troubles } from '../../scripts/soak/troubles.ts';
import { type Figures, judge, type Round } from '../../scripts/soak/verdict.ts';
import type { Report } from '../../scripts/soak.ts';
import { startProcess } from '../support/childProcess.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { temporaryFolder } from '../support/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function startSoak(...args: readonly string[]) {
  const nodeArgs = ['--import', './scripts/typescript.mjs', 'scripts/soak.ts'];
  return startProcess(process.execPath, [...nodeArgs, ...args], { cwd: root });
}

it.skipIf(!mosquittoAvailable())(
  'a soak of one round goes through all troubles, and its report is whole',
  {
    timeout: 180_000,
  },
  async () => {
    const file = join(temporaryFolder(), 'soak.json');
    const soak = startSoak('--sonics', '12', '--polls', '20', '--json', file);
    const { code } = await soak.ended();
    expect([code, soak.stderr]).toEqual([2, '']);
    expect(soak.stdout).toMatch(/^Too few rounds to judge$/m);

    const report: Report = JSON.parse(readFileSync(file, 'utf8'));
    expect(report).toMatchObject({ sonics: 12, seed: 1, log: { errors: [] } });
    const { happened, events, outcomes, rounds } = report;
    expect(happened.troubles).toEqual(Object.fromEntries(troubles.map(({ name }) => [name, 1])));
    const ends = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
    expect(ends + happened.unheard).toBeGreaterThanOrEqual(happened.commands);
    expect(events).toMatchObject({
      device_added: expect.any(Number),
      device_removed: expect.any(Number),
      incident_opened: expect.any(Number),
      incident_closed: expect.any(Number),
    });
    expect(rounds).toHaveLength(1);
    expect(rounds[0]?.polls).toBeGreaterThanOrEqual(20);
    expect(Object.keys(rounds[0]?.figures ?? {})).toEqual(expect.arrayContaining(Object.keys(flat)));
    for (const [name, value] of Object.entries(rounds[0]?.figures ?? {})) {
      expect(value, name).toBeGreaterThan(0);
    }
  },
);

it('a soak names an option that it cannot use', async () => {
  const soak = startSoak('--sonics', 'many');
  expect(await soak.ended()).toMatchObject({ code: 2 });
  expect(soak.output.trim()).toBe('--sonics must be a number from 10. Got many');
});

const flat: Figures = {
  heapUsed: 40_000_000,
  held: 43_000_000,
  rss: 150_000_000,
  handles: 20,
  descriptors: 30,
  timers: 25,
  emitters: 170,
  signals: 40,
  promises: 5_000,
  processListeners: 10,
  signalListeners: 15,
  socketListeners: 60,
};

/** Rounds whose figures differ from the flat ones as the function says of each. */
function rounds(change: (round: number) => Partial<Figures>, count = 12): Round[] {
  return Array.from({ length: count }, (_, index) => ({
    round: index + 1,
    atMs: 60_000 * (index + 1),
    polls: 250 * (index + 1),
    figures: { ...flat, ...change(index + 1) },
  }));
}

/** Up and down, always the same way. */
const noise = (round: number) => (round * 7) % 5;

it('what goes up and down passes, and so does what grows only while it warms up', () => {
  const noisy = (round: number) => ({
    heapUsed: flat.heapUsed - (round < 4 ? 5_000_000 : 0) + noise(round) * 100_000,
    timers: flat.timers + noise(round),
    emitters: flat.emitters + Math.min(round, 4),
  });
  expect(judge(rounds(noisy))).toMatchObject({ isPassed: true, complaints: [] });
});

it('a heap that grows by more than a twentieth over the steady rounds fails', () => {
  const growing = (share: number) =>
    judge(rounds((round) => ({ heapUsed: flat.heapUsed * (1 + share * round) })));
  expect(growing(0.008)).toMatchObject({ isPassed: true });
  const { isPassed, complaints } = growing(0.012);
  expect(isPassed).toBe(false);
  expect(complaints).toContain('the heap grew by 6.8 %');
});

it('buffers outside of the heap that grow fail', () => {
  const grown = judge(rounds((round) => ({ held: flat.held + 400_000 * round })));
  const complaints = ['the heap with the buffers outside of it grew by 5.3 %'];
  expect(grown).toMatchObject({ isPassed: false, complaints });
});

it.each([
  'handles',
  'descriptors',
  'timers',
  'emitters',
  'signals',
  'promises',
  'processListeners',
  'signalListeners',
  'socketListeners',
] as const)('one more of %s in every round fails, noise or not', (name) => {
  const grown = judge(rounds((round) => ({ [name]: flat[name] + round + noise(round) / 2 })));
  expect(grown.isPassed).toBe(false);
  expect(grown.complaints).toHaveLength(1);
  expect(grown.complaints[0]).toMatch(/ grew: /);
});

it('what Node warns of fails', () => {
  const warning = 'MaxListenersExceededWarning: Possible EventTarget memory leak detected';
  const { isPassed, complaints } = judge(
    rounds(() => ({})),
    [warning, warning],
  );
  expect({ isPassed, complaints }).toEqual({ isPassed: false, complaints: [`Node.js warned: ${warning}`] });
});

it('a few rounds are not judged, not even where all is flat', () => {
  expect(judge(rounds(() => ({}), 9))).toMatchObject({ isPassed: null });
  expect(judge(rounds(() => ({}), 10))).toMatchObject({ isPassed: true });
});
