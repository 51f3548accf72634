import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Figures } from '../../scripts/soak/look.ts';
import type { Report } from '../../scripts/soak/report.ts';
import { troubles } from '../../scripts/soak/troubles.ts';
import { judge, type Round } from '../../scripts/soak/verdict.ts';
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
    expect(soak.stdout).toMatch(/^Verdict {4}too few rounds to judge$/m);

    const report: Report = JSON.parse(readFileSync(file, 'utf8'));
    expect(report).toMatchObject({ sonics: 12, seed: 1, log: { errors: [] } });
    expect(report.happened.troubles).toEqual(Object.fromEntries(troubles.map(({ name }) => [name, 1])));
    for (const polls of Object.values(report.cloud.polls)) expect(polls).toBeGreaterThan(0);
    expect(report.cloud.answered).toBeGreaterThan(0);
    expect(report.cloud.requests).toBeGreaterThan(report.cloud.answered);
    const ends = Object.values(report.seen.outcomes).reduce((sum, count) => sum + count, 0);
    expect(ends + report.happened.unheard).toBeGreaterThanOrEqual(report.happened.commands);
    expect(report.seen.events).toMatchObject({
      device_added: expect.any(Number),
      device_removed: expect.any(Number),
      incident_opened: expect.any(Number),
      incident_closed: expect.any(Number),
    });

    expect(report.rounds).toHaveLength(1);
    const { handlesByKind, descriptors, ...figures } = report.rounds[0]?.figures ?? ({} as Figures);
    expect(Object.keys(handlesByKind)).toContain('TCPSocketWrap');
    if (process.platform === 'linux') expect(descriptors).toBeGreaterThan(0);
    for (const name of ['heapUsed', 'rss', 'handles', 'timers', 'emitters', 'signals', 'promises'] as const) {
      expect(figures[name], name).toBeGreaterThan(0);
    }
    expect(figures.signalListeners).toBeGreaterThan(0);
    expect(figures.socketListeners).toBeGreaterThan(0);
    expect(figures.processListeners).toBeGreaterThan(0);
    expect(Object.keys(report.verdict.courses)).toEqual(expect.arrayContaining(['heapUsed', 'descriptors']));
  },
);

it('a soak names an option that it cannot use', async () => {
  const soak = startSoak('--sonics', 'many');
  expect(await soak.ended()).toMatchObject({ code: 2 });
  expect(soak.output.trim()).toBe('--sonics must be a number from 10. Got many');
});

const flat: Figures = {
  heapUsed: 40_000_000,
  rss: 150_000_000,
  external: 3_000_000,
  arrayBuffers: 100_000,
  handles: 20,
  handlesByKind: {},
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
  expect(judge(rounds(noisy))).toMatchObject({ isPassed: true, complaints: [], warmUpRounds: 3 });
});

it('a heap that grows by more than a twentieth over the steady rounds fails', () => {
  const growing = (share: number) =>
    judge(rounds((round) => ({ heapUsed: flat.heapUsed * (1 + share * round) })));
  expect(growing(0.008)).toMatchObject({ isPassed: true });
  const { isPassed, complaints, courses } = growing(0.012);
  expect(isPassed).toBe(false);
  expect(complaints).toContain('the heap grew by 6.8 %');
  expect(courses['heapUsed']?.slope).toBeCloseTo((flat.heapUsed * 0.012) / 0.25);
});

it('buffers outside of the heap that grow fail', () => {
  const grown = judge(rounds((round) => ({ external: flat.external + 400_000 * round })));
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
  const grown = judge(rounds((round) => ({ [name]: (flat[name] ?? 0) + round + noise(round) / 2 })));
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
  expect({ isPassed, complaints }).toEqual({ isPassed: false, complaints: [`Node warned: ${warning}`] });
});

it('a few rounds are not judged, not even where all is flat', () => {
  expect(judge(rounds(() => ({}), 9))).toMatchObject({ isPassed: null });
  expect(judge(rounds(() => ({}), 10))).toMatchObject({ isPassed: true });
});
