import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startProcess } from '../support/childProcess.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const days = 200;
const nights = Math.floor(Date.now() / 86_400_000);

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
