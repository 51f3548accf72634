import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startProcess } from '../support/childProcess.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const days = 200;
const nights = Math.floor(Date.now() / 86_400_000);

const everyCheck = [
  ...['a change was asked for, once, and in time', 'a paused shut-off is on again in time, or shown as off'],
  ...['a request that moves water has one recent command', 'a total falls only by corrections'],
  ...['a valve can be moved', 'after a quiet time all is shown as it is'],
  ...['after a quiet time no pause has run over', 'an incident is announced once'],
  ...['an open incident has been announced', 'an open incident is shown', 'each command has one outcome'],
  ...['each vital list is asked for', 'failed sign-ins keep to a back-off'],
  ...['health is ok only if all is well', 'no litre is lost', 'rejected sign-ins keep to their limit'],
  ...['the bridge stops in time', 'the outcome of a command is true', 'timers and requests are bounded'],
  ...['what is deleted has left the cloud', 'what is shown was true', 'who moved a valve is true'],
];

it('the whole bridge keeps its promises in long days of trouble, other ones each night', {
  timeout: 1_800_000,
}, async () => {
  const args = ['scripts/simulate.ts', '--seeds', `${days}`, '--from', `${nights * days}`, '--hours', '8'];
  const simulation = startProcess(process.execPath, ['--import', './scripts/typescript.mjs', ...args], {
    cwd: project,
  });
  const { code } = await simulation.ended();
  expect(code, simulation.output).toBe(0);
  expect(simulation.stdout).toContain(`${days} seeds from ${nights * days} on, 0 bad`);
  const namesBelow = (title: string) => {
    const [, rows = ''] = new RegExp(`${title}:\n((?: +\\d+ .+\n)+)`).exec(simulation.stdout) ?? [];
    return [...rows.matchAll(/\d+ {2}(.+)/g)].map(([, name]) => name);
  };
  expect(namesBelow('Troubles')).toHaveLength(75);
  expect(namesBelow('Checks').sort()).toEqual(everyCheck);
});
