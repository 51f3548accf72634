import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Report } from '../../scripts/bench/figures.ts';
import { startProcess } from '../support/childProcess.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { temporaryFolder } from '../support/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function startBench(...args: readonly string[]) {
  const nodeArgs = ['--import', './scripts/typescript.mjs', 'scripts/bench.ts'];
  return startProcess(process.execPath, [...nodeArgs, ...args], { cwd: root });
}

/** Every figure of each story with eight sonics, whatever its value is. */
const refreshes = ['from the start', 'every valve changed', 'reconnect', 'birth', 'quiet'];
const expected: Readonly<Record<string, readonly string[]>> = {
  start: ['first valve', 'first valve, raw loop in one file'],
  distant: ['first valve', 'last valve'],
  refresh: [
    ...refreshes.flatMap((what) => ['wall', 'CPU', 'sent'].map((measured) => `${what}, ${measured}`)),
    'quiet, messages',
  ],
  command: ['quiet', 'quiet, p99'],
  idle: ['CPU of a core', 'private memory'],
  memory: ['private'],
};

it.skipIf(!mosquittoAvailable())(
  'a quick run of the benchmark comes to every figure, and the raw loop sends as much as the bridge',
  async () => {
    const file = join(temporaryFolder(), 'bench.json');
    const bench = startBench('--quick', '--sizes', '8', '--json', file);
    const { code } = await bench.ended();
    expect([code, bench.stderr]).toEqual([0, expect.not.stringContaining('Error')]);

    const { figures }: Report = JSON.parse(readFileSync(file, 'utf8'));
    expect([...new Set(figures.map(({ story }) => story))]).toEqual(Object.keys(expected));
    for (const [name, whats] of Object.entries(expected)) {
      const measured = figures.filter(({ story }) => story === name);
      expect(measured.map(({ what }) => what)).toEqual(whats);
      for (const { sonics, what, bridge, raw } of measured) {
        expect(sonics).toBe(8);
        expect(bridge.length, `${name}, ${what}`).toBeGreaterThan(0);
        for (const value of [...bridge, ...(raw ?? [])])
          expect(value, `${name}, ${what}`).toBeGreaterThanOrEqual(0);
      }
    }
    const figure = (wanted: string) => figures.find(({ what }) => what === wanted);
    for (const what of ['from the start, sent', 'reconnect, sent', 'birth, sent']) {
      const [sent = 0, sentByRaw = 0] = [figure(what)?.bridge[0], figure(what)?.raw?.[0]];
      expect(sent / sentByRaw, what).toBeGreaterThan(0.9);
      expect(sent / sentByRaw, what).toBeLessThan(1.2);
    }
    expect(figure('quiet, messages')).toMatchObject({ bridge: [0], raw: null });
    expect(bench.stdout).toMatch(/^refresh +8 +quiet, messages +0 +at most 0 +met$/m);
  },
  300_000,
);

it.each([
  [['--cases', 'start,speed'], '--cases must be start, distant, refresh, command, idle, memory. Got speed'],
  [['--sizes', 'many'], '--sizes must be whole numbers from 1 to 100000. Got many'],
])('the benchmark names the value that it cannot use: %j', async (args, words) => {
  const bench = startBench(...args);
  expect(await bench.ended()).toMatchObject({ code: 2 });
  expect(bench.output.trim()).toBe(words);
});
