import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { type RunningProcess, startProcess } from '../support/childProcess.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';

/** At its end the program makes much that is soon forgotten, some of it later, and says what room V8 has made for both. */
const churn = `
import { getHeapSpaceStatistics } from 'node:v8';
const roomOf = (wanted) => getHeapSpaceStatistics().find(({ space_name }) => space_name === wanted).space_size / 1e6;
process.on('exit', () => {
  let kept = [];
  let mostForOld = 0;
  for (let i = 0; i < 3_000_000; i++) {
    const made = { text: 'x' + i };
    if (i % 5 === 0) kept.push(made);
    if (kept.length > 200_000) kept = kept.slice(100_000);
    if (i % 10_000 === 0) mostForOld = Math.max(mostForOld, roomOf('old_space'));
  }
  process.stdout.write('room: ' + roomOf('new_space') + ' and ' + mostForOld + ' MB');
});`;

it('V8 takes little memory for what is forgotten, so that a home costs a Raspberry Pi little', async () => {
  const probe = join(temporaryFolder(), 'probe.mjs');
  writeFileSync(probe, churn);
  const preload = `--import=${pathToFileURL(probe).href}`;
  const program = startProgram(['--version'], { env: { NODE_OPTIONS: preload } });
  const other = startProcess(process.execPath, [preload, '--eval', '0']);
  const roomOf = async (each: RunningProcess) => {
    const [, young, old] = await each.waitForOutput(/room: ([\d.]+) and ([\d.]+) MB/);
    return { young: Number(young), old: Number(old) };
  };
  const [ours, usual] = await Promise.all([roomOf(program), roomOf(other)]);
  // What it had taken when it began to run stays.
  expect(ours.young).toBeLessThan(usual.young / 3);
  expect(ours.old).toBeLessThan(usual.old);
});
