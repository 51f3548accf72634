// Runs the built bridge for thousands of polls of a large cloud, through everything that goes wrong in years, and
// finds out whether it grows:  npm run soak -- [--sonics N] [--polls N] [--minutes N] [--seed N] [--outages]
//   [--json FILE] [--snapshots FOLDER].  Exit status: 0 nothing grew; 1 something did, or went wrong; 2 not judged, or bad usage.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { waitUntil } from './measure/time.ts';
import { listPeriodMs } from './soak/bridge.ts';
import { calmDown, endHouse, type House, readAgain, startHouse } from './soak/house.ts';
import { look } from './soak/look.ts';
import { type Report, roundLine, roundsHead, summary } from './soak/report.ts';
import { type Trouble, troubles } from './soak/troubles.ts';
import { judge, type Round } from './soak/verdict.ts';

interface Options {
  readonly sonics: number;
  /** Of the list of sonics. */
  readonly polls: number;
  /** Ends after so many instead; null leaves it to the polls. */
  readonly minutes: number | null;
  readonly seed: number;
  /** Whether one outage follows another without a rest. */
  readonly onlyOutages: boolean;
  readonly jsonFile: string | null;
  readonly snapshotFolder: string | null;
}

/** A round is long enough for all that happens in it. */
const pollsPerRound = 250;
const outageShareOfRound = 0.05;
const longestRoundMs = 600_000;
/** The first snapshot is taken after so many, when the bridge has warmed up; the second at the end. */
const roundsToSnapshot = 4;

function readOptions(): Options {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      sonics: text,
      polls: text,
      minutes: text,
      seed: text,
      outages: { type: 'boolean' },
      json: text,
      snapshots: text,
    },
  });
  const number = (name: 'sonics' | 'polls' | 'minutes' | 'seed', otherwise: number, least: number) => {
    const value = Number(values[name] ?? otherwise);
    if (Number.isFinite(value) && value >= least) return value;
    throw new RangeError(`--${name} must be a number from ${least}. Got ${values[name]}`);
  };
  return {
    sonics: number('sonics', 1_000, 10),
    polls: number('polls', 3_000, 1),
    minutes: values.minutes === undefined ? null : number('minutes', 0, 0),
    seed: number('seed', 1, 0),
    onlyOutages: values.outages === true,
    jsonFile: values.json === undefined ? null : resolve(values.json),
    snapshotFolder: values.snapshots === undefined ? null : resolve(values.snapshots),
  };
}

/** All happens once, in another order each time. */
async function haveTroubles(house: House, onlyOutages: boolean): Promise<void> {
  const wanted = troubles.filter(({ kind }) => !onlyOutages || kind === 'outage');
  for (const trouble of shuffled(wanted, house)) {
    const { name, kind, run } = trouble;
    await run(house);
    house.happened.troubles[name] = (house.happened.troubles[name] ?? 0) + 1;
    if (kind === 'outage' && !onlyOutages) await readAgain(house);
  }
}

function shuffled(list: readonly Trouble[], { random }: House): Trouble[] {
  return list
    .map((each) => ({ each, at: random() }))
    .sort((left, right) => left.at - right.at)
    .map(({ each }) => each);
}

async function pollsOf({ cloud }: House): Promise<number> {
  return (await cloud.ask('tally')).polls.sonics;
}

/** Has all troubles and so many polls, lets it become quiet, and looks at what the bridge holds then. */
async function goThroughRound(house: House, polls: number, onlyOutages: boolean) {
  const before = await pollsOf(house);
  await haveTroubles(house, onlyOutages);
  const missing = async () => ((await pollsOf(house)) >= before + polls ? null : 'too few so far');
  await waitUntil('the polls of the round', missing, longestRoundMs);
  await calmDown(house);
  const { warnings, ...figures } = await look(house.bridge);
  return { warnings, figures, polls: await pollsOf(house) };
}

async function soak(options: Options, folder: string): Promise<Report> {
  const { sonics, polls, minutes, seed, onlyOutages, snapshotFolder } = options;
  const planned = Math.max(1, Math.round(polls / pollsPerRound));
  const perRound = minutes === null ? polls / planned : pollsPerRound;
  const outageMs = perRound * listPeriodMs * outageShareOfRound;
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  const house = await startHouse({ sonics, seed }, outageMs, folder);
  const rounds: Round[] = [];
  let warnings: readonly string[] = [];
  let isOver = false;
  console.log(roundsHead);
  while (!isOver) {
    const { warnings: heard, ...looked } = await goThroughRound(house, perRound, onlyOutages);
    const round = { round: rounds.length + 1, atMs: passedMs(), ...looked };
    rounds.push(round);
    warnings = heard;
    console.log(roundLine(round));
    isOver = minutes === null ? rounds.length >= planned : passedMs() >= minutes * 60_000;
    if (snapshotFolder === null || !(rounds.length === roundsToSnapshot || isOver)) continue;
    await house.bridge.part.ask('snapshot', join(snapshotFolder, `round-${rounds.length}.heapsnapshot`));
  }
  const { cloud, watcher, bridge, happened } = house;
  const asked = await cloud.ask('tally');
  const { messages, events, outcomes } = watcher;
  const code = await endHouse(house);
  if (code !== 0) throw new Error(`the bridge ended with ${code}`);
  const { lines, errors } = bridge.log;
  return {
    node: process.version,
    sonics,
    seed,
    durationMs: passedMs(),
    cloud: asked,
    seen: { messages, events, outcomes },
    happened,
    log: { lines, errors },
    rounds,
    verdict: judge(rounds, warnings),
  };
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options.snapshotFolder !== null) mkdirSync(options.snapshotFolder, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-soak-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const report = await soak(options, folder);
  for (const line of summary(report)) console.log(line);
  if (options.jsonFile !== null) writeFileSync(options.jsonFile, `${JSON.stringify(report, null, 1)}\n`);
  const { isPassed } = report.verdict;
  return isPassed === null ? 2 : isPassed ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof RangeError || (error instanceof TypeError && 'code' in error);
  console.error(isUsage ? error.message : error);
  process.exit(isUsage ? 2 : 1);
}
