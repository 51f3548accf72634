import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cases } from '../../scripts/bench/cases.ts';
import type { Report } from '../../scripts/bench/report.ts';
import { usualBroker } from '../../scripts/measure/broker.ts';
import { startProcess } from '../support/childProcess.ts';
import { temporaryFolder } from '../support/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

function startBench(...args: readonly string[]) {
  const nodeArgs = ['--import', './scripts/typescript.mjs', 'scripts/bench.ts'];
  return startProcess(process.execPath, [...nodeArgs, ...args], { cwd: root });
}

/** Every figure that a case is to come to, whatever its value; of eight sonics in two homes. */
const expected: Readonly<Record<string, readonly string[]>> = {
  start: ['first sonic', 'first sonic, raw loop bundled'],
  distant: ['first sonic', 'last sonic'],
  refresh: ['wall', 'wall to the last answer', 'CPU', 'CPU of the cloud'],
  again: ['nothing changed', 'every sonic changed'].flatMap((what) =>
    ['wall', 'CPU', 'messages'].map((measured) => `${what}, ${measured}`),
  ),
  quiet: ['CPU', 'wall', 'messages'],
  changes: ['CPU', 'wall', 'messages'],
  reconnect: ['wall', 'CPU'],
  birth: ['wall', 'CPU'],
  command: [
    'quiet, to the cloud',
    'quiet, to the cloud, p99',
    'quiet, from the cloud',
    'quiet, from the cloud, p99',
  ],
  memory: ['RSS after the start', 'RSS after the start, raw loop bundled', 'RSS after many polls'],
  idle: ['CPU, of a core', 'requests meanwhile'],
  requests: ['an hour'],
};

it('a quick run of the benchmarks comes to every figure, and compares itself with an earlier one', {
  timeout: 300_000,
}, async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'bench.json');
  const earlier: Report = {
    at: '2026-11-20T09:00:00.000Z',
    node: process.version,
    processor: 'another',
    broker: 'another',
    figures: [
      {
        ...{ case: 'changes', sonics: 8, what: 'messages', unit: '' },
        ...{ bridge: [4], raw: [4], target: null },
      },
    ],
    notes: [],
  };
  writeFileSync(join(folder, 'earlier.json'), JSON.stringify(earlier));
  const bench = startBench(
    ...['--quick', '--sizes', '8', '--json', file],
    ...['--against', join(folder, 'earlier.json')],
  );
  const { code } = await bench.ended();
  expect([code, bench.stderr]).toEqual([0, expect.not.stringContaining('Error')]);

  const { figures }: Report = JSON.parse(readFileSync(file, 'utf8'));
  expect(Object.keys(expected)).toEqual(cases.map(({ name }) => name));
  for (const [name, whats] of Object.entries(expected)) {
    const measured = figures.filter((figure) => figure.case === name);
    expect(measured.map(({ what }) => what)).toEqual(expect.arrayContaining([...whats]));
    for (const { sonics, what, bridge, raw } of measured) {
      expect(sonics).toBe(8);
      expect(bridge.length, name).toBeGreaterThan(0);
      for (const value of [...bridge, ...(raw ?? [])])
        expect(value, `${name}, ${what}`).toBeGreaterThanOrEqual(0);
    }
  }
  const messagesOf = (name: string, what = 'messages') =>
    figures.find((figure) => figure.case === name && figure.what === what);
  // Whoever asks is answered; the record of each sonic, and the states of its entities.
  expect(messagesOf('again', 'nothing changed, messages')).toMatchObject({ bridge: [1], raw: [1] });
  expect(messagesOf('again', 'every sonic changed, messages')).toMatchObject({ bridge: [17], raw: [17] });
  expect(messagesOf('quiet')).toMatchObject({ bridge: [0], raw: null });
  // The record of the one sonic that changed, and the states of its entities.
  expect(messagesOf('changes')).toMatchObject({ bridge: [2], raw: [2] });
  expect(bench.stdout).toMatch(/^quiet +8 +messages +0 +at most 0 +within$/m);
  expect(bench.stdout).toMatch(/^changes +8 +messages +4\.00 +2\.00 +-50\.0 % +1\.00 > 1\.00$/m);
});

describe.each([
  ['embedded', 'the embedded broker', true],
  ['mosquitto-tuned', 'Mosquitto, tuned', usualBroker() === 'mosquitto'],
] as const)('with another broker, %s,', (kind, name, isHere) => {
  it.skipIf(!isHere)('the benchmarks come to their figures', { timeout: 300_000 }, async () => {
    const file = join(temporaryFolder(), 'bench.json');
    const bench = startBench(
      ...['--quick', '--sizes', '8', '--cases', 'refresh,reconnect'],
      ...['--broker', kind, '--json', file],
    );
    const { code } = await bench.ended();
    expect([code, bench.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { broker, figures }: Report = JSON.parse(readFileSync(file, 'utf8'));
    expect(broker).toBe(name);
    expect(new Set(figures.map((figure) => figure.case))).toEqual(new Set(['refresh', 'reconnect']));
  });
});

it.each([
  [['--cases', 'start,speed'], 'there is no case speed; there are\n  start'],
  [['--broker', 'aedes'], '--broker must be mosquitto or mosquitto-tuned or embedded. Got aedes'],
])('the benchmarks say what there is to whoever asks for another: %j', async (args, words) => {
  const bench = startBench(...args);
  expect(await bench.ended()).toMatchObject({ code: 2 });
  expect(bench.output).toContain(words);
});
