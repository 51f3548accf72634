import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { simulateDay } from '../simulation/day.ts';
import { startProcess } from '../support/childProcess.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const days = 200;
const nights = Math.floor(Date.now() / 86_400_000);

/** Days that were judged bad before the bridge or the judge was corrected. */
const kept = [
  20_108, 20_123, 30_141, 30_165, 30_234, 30_301, 30_645, 31_658, 31_832, 40_348, 40_349, 40_416, 40_442,
  40_860, 44_149, 44_227, 45_498, 45_590, 46_623, 50_607, 50_689, 50_774, 52_029, 52_821, 52_827, 54_608,
  55_078, 56_367, 56_514, 56_610, 56_794, 57_210, 59_753, 59_934, 60_017, 60_303, 60_778, 65_625, 66_026,
  66_137, 66_158, 76_801, 79_030,
];

it('the whole bridge keeps its promises in whole days of trouble, other ones each night', {
  timeout: 1_800_000,
}, async () => {
  const args = ['scripts/simulate.ts', '--seeds', String(days), '--from', String(nights * days)];
  const simulation = startProcess(process.execPath, ['--import', './scripts/typescript.mjs', ...args], {
    cwd: project,
  });
  const { code } = await simulation.ended();
  expect(code, simulation.output).toBe(0);
  expect(simulation.stdout).toContain(`${days} seeds from ${nights * days} on, 0 bad`);
});

it.each(kept)('the whole bridge keeps its promises on day %i, which was judged bad before', async (seed) => {
  const { violations, lastLines } = await simulateDay({ seed, hours: 4 });
  expect(violations, lastLines.slice(-40).join('\n')).toEqual([]);
});
