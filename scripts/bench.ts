// Measures the built bridge against a raw loop that makes the same requests and publishes, and nothing else:
//   npm run bench [-- --cases a,b] [--sizes 1,10,1000,10000] [--runs N] [--json FILE] [--against FILE] [--quick]
//   [--profile FOLDER] [--broker mosquitto|mosquitto-tuned|embedded].  Exit status: 0 measured, whatever came of it; 1 something went wrong; 2 bad usage.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Case } from './bench/case.ts';
import { cases } from './bench/cases.ts';
import type { Figure } from './bench/figures.ts';
import { comparison, type Report, tableOf } from './bench/report.ts';
import type { Bench } from './bench/stage.ts';
import { type BrokerKind, brokers, usualBroker } from './measure/broker.ts';

interface Options {
  readonly cases: readonly Case[];
  /** Null leaves each case its own. */
  readonly sizes: readonly number[] | null;
  /** Null leaves it to the size. */
  readonly runs: number | null;
  readonly isQuick: boolean;
  readonly broker: BrokerKind;
  readonly jsonFile: string | null;
  /** What an earlier run has written. */
  readonly against: Report | null;
  readonly profileFolder: string | null;
}

const fewRuns = 3;
const usualRuns = 5;
/** Of so many sonics one run takes its time. */
const largeSize = 10_000;
const mostSonics = 100_000;
const quickSize = 40;

function readOptions(): Options {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      cases: text,
      sizes: text,
      runs: text,
      json: text,
      against: text,
      profile: text,
      broker: text,
      quick: { type: 'boolean' },
    },
  });
  const isQuick = values.quick === true;
  const file = (name: string | undefined) => (name === undefined ? null : resolve(name));
  const sizes = values.sizes?.split(',').map((size) => whole('sizes', size, mostSonics)) ?? null;
  const against = file(values.against);
  return {
    cases: values.cases?.split(',').map(caseOf) ?? cases,
    sizes: sizes ?? (isQuick ? [quickSize] : null),
    runs: values.runs === undefined ? (isQuick ? 1 : null) : whole('runs', values.runs, 1_000),
    isQuick,
    broker: values.broker === undefined ? usualBroker() : brokerOf(values.broker),
    jsonFile: file(values.json),
    against: against === null ? null : JSON.parse(readFileSync(against, 'utf8')),
    profileFolder: file(values.profile),
  };
}

function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new RangeError(`--${name} must be whole numbers from 1 to ${most}. Got ${text}`);
}

function caseOf(name: string): Case {
  const found = cases.find((each) => each.name === name);
  if (found) return found;
  const known = cases.map((each) => `  ${each.name.padEnd(12)}${each.what}`);
  throw new RangeError(`there is no case ${name}; there are\n${known.join('\n')}`);
}

function brokerOf(name: string): BrokerKind {
  if (Object.hasOwn(brokers, name)) return name as BrokerKind;
  throw new RangeError(`--broker must be ${Object.keys(brokers).join(' or ')}. Got ${name}`);
}

async function measure(options: Options, folder: string): Promise<Report> {
  const notes: string[] = [];
  let folders = 0;
  const bench: Bench = {
    runs: (sonics) => options.runs ?? (sonics >= largeSize ? fewRuns : usualRuns),
    isQuick: options.isQuick,
    broker: options.broker,
    clouds: new Map(),
    newFolder: () => {
      const made = join(folder, `${folders++}`);
      mkdirSync(made);
      return made;
    },
    profileFolder: options.profileFolder,
    say: (words) => console.error(words),
    note: (words) => notes.push(words),
  };
  const figures: Figure[] = [];
  for (const { sizes, run, conclude } of options.cases) {
    const measured: Figure[] = [];
    for (const sonics of options.sizes ?? sizes) measured.push(...(await run(bench, sonics)));
    figures.push(...measured, ...(conclude?.(measured) ?? []));
  }
  return {
    at: new Date().toISOString(),
    node: process.version,
    processor: `${cpus().length} x ${cpus()[0]?.model.trim() || 'unknown'}`,
    broker: brokers[options.broker].name,
    figures,
    notes,
  };
}

async function main(): Promise<void> {
  const options = readOptions();
  const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const report = await measure(options, folder);
  console.log(`Node ${report.node}, ${report.broker}, ${report.processor}, ${report.at}`);
  for (const line of tableOf(report.figures)) console.log(line);
  for (const note of report.notes) console.log(`- ${note}`);
  if (options.against !== null) {
    console.log(`\nAgainst ${options.against.at}:`);
    for (const line of comparison(options.against.figures, report.figures)) console.log(line);
  }
  if (options.jsonFile !== null) writeFileSync(options.jsonFile, `${JSON.stringify(report, null, 1)}\n`);
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
