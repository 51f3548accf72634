// Measures the built bridge against a raw loop, which makes the same requests and publishes the same messages:
//   npm run bench [-- --cases start,refresh] [--sizes 10,1000] [--runs N] [--json FILE] [--quick] [--profile FOLDER]
// Exit status: 0 if everything was measured, even if targets are missed; 1 if something failed; 2 for bad usage.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Figure, type Report, tableOf } from './bench/figures.ts';
import type { Bench, Story } from './bench/stage.ts';
import { command } from './bench/stories/command.ts';
import { details } from './bench/stories/details.ts';
import { idle, memory } from './bench/stories/home.ts';
import { refresh } from './bench/stories/refresh.ts';
import { distant, start, values } from './bench/stories/start.ts';

const stories: readonly Story[] = [start, distant, values, refresh, details, command, idle, memory];
/** The report of the last run that was kept, with `--json`. */
const recordFile = new URL('./bench/recorded.json', import.meta.url);
const usualRuns = 5;
const quickSize = 40;

function readOptions() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ cases: text, sizes: text, runs: text, json: text, profile: text },
      quick: { type: 'boolean', default: false },
    },
  });
  const { cases, sizes, runs, json, profile, quick } = values;
  return {
    chosen: cases?.split(',').map(storyOf) ?? stories,
    sizes: sizes?.split(',').map((size) => whole('sizes', size)) ?? (quick ? [quickSize] : null),
    runs: runs === undefined ? (quick ? 1 : usualRuns) : whole('runs', runs),
    isQuick: quick,
    jsonFile: json === undefined ? null : resolve(json),
    profileFolder: profile === undefined ? null : resolve(profile),
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 100_000) return value;
  throw new RangeError(`--${name} must be whole numbers from 1 to 100000. Got ${text}`);
}

function storyOf(name: string): Story {
  const found = stories.find((each) => each.name === name);
  if (found) return found;
  throw new RangeError(`--cases must be ${stories.map((each) => each.name).join(', ')}. Got ${name}`);
}

async function main(): Promise<void> {
  const { chosen, sizes: given, runs, isQuick, jsonFile, profileFolder } = readOptions();
  const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  if (profileFolder !== null) mkdirSync(profileFolder, { recursive: true });
  const bench: Bench = {
    ...{ runs, isQuick, profileFolder },
    newFolder: () => mkdtempSync(join(folder, 'part-')),
    say: (words) => console.error(`${performance.now().toFixed(0).slice(0, -3).padStart(4)} s  ${words}`),
  };
  const processor = `${cpus().length} x ${cpus()[0]?.model.trim() || 'unknown'}`;
  const recorded: readonly Figure[] = existsSync(recordFile)
    ? JSON.parse(readFileSync(recordFile, 'utf8')).figures
    : [];
  const figures: Figure[] = [];
  const report: Report = { at: new Date().toISOString(), node: process.version, processor, figures };
  console.log(`Node ${report.node}, Mosquitto, ${processor}, ${report.at}`);
  for (const story of chosen) {
    const sizes = given ?? story.sizes;
    for (const sonics of sizes) {
      bench.say(`${story.name}, ${sonics} sonics`);
      const measured = await story.run(bench, sonics, sonics === Math.max(...sizes));
      figures.push(...measured);
      for (const line of tableOf(measured, recorded)) console.log(line);
      // A run that is interrupted leaves what it has measured.
      if (jsonFile !== null) writeFileSync(jsonFile, `${JSON.stringify(report, null, 1)}\n`);
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
try {
  await main();
  process.exit(0);
} catch (error) {
  const isUsage = error instanceof RangeError || (error instanceof TypeError && 'code' in error);
  console.error(isUsage ? error.message : error);
  process.exit(isUsage ? 2 : 1);
}
