// Runs the built bridge for thousands of reads of a large cloud, through everything that goes wrong in years, and finds
// out whether it grows:  npm run soak -- [--sonics N] [--polls N] [--seed N] [--json FILE] [--snapshots FOLDER]
// Exit status: 0 if nothing grew; 1 if something grew or failed; 2 for too few rounds or bad usage.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { waitUntil } from './measure/time.ts';
import { calmDown, endHouse, type House, listPeriodMs, readAgain, startHouse } from './soak/house.ts';
import { troubles } from './soak/troubles.ts';
import { type Figures, judge, type Round, roundLine, roundsHead, type Verdict } from './soak/verdict.ts';

/** All that a soak has shown. */
export interface Report extends Pick<House, 'sonics' | 'happened' | 'log'> {
  readonly node: string;
  readonly seed: number;
  readonly messages: number;
  readonly events: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly rounds: readonly Round[];
  readonly verdict: Verdict;
}

/** A round is long enough for everything that happens in it. */
const pollsPerRound = 250;
const outageShareOfRound = 0.05;
const longestRoundMs = 600_000;
/** Some requests are always under way. What they hold for the moment is not there in each of several looks. */
const looks = 5;
/** The first snapshot is taken after so many rounds, when the bridge has warmed up, and the second at the end. */
const roundsToSnapshot = 4;

function readOptions() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { sonics: text, polls: text, seed: text, json: text, snapshots: text },
  });
  const number = (name: 'sonics' | 'polls' | 'seed', otherwise: number, least: number) => {
    const value = Number(values[name] ?? otherwise);
    if (Number.isFinite(value) && value >= least) return value;
    throw new RangeError(`--${name} must be a number from ${least}. Got ${values[name]}`);
  };
  const { json, snapshots } = values;
  return {
    sonics: number('sonics', 1_000, 10),
    polls: number('polls', 3_000, 1),
    seed: number('seed', 1, 0),
    jsonFile: json === undefined ? null : resolve(json),
    snapshotFolder: snapshots === undefined ? null : resolve(snapshots),
  };
}

async function pollsOf({ cloud }: House): Promise<number> {
  return (await cloud.ask('read')).list_sonics ?? 0;
}

/** Has all troubles in another order and so many polls, lets it become quiet, and looks at what the bridge holds then. */
async function goThroughRound(house: House, polls: number): Promise<Pick<Round, 'figures' | 'polls'>> {
  const before = await pollsOf(house);
  const order = troubles.map((trouble) => ({ ...trouble, place: house.random() }));
  for (const { name, kind, run } of order.sort((left, right) => left.place - right.place)) {
    await run(house);
    house.happened.troubles[name] = (house.happened.troubles[name] ?? 0) + 1;
    if (kind === 'outage') await readAgain(house);
  }
  const missing = async () => ((await pollsOf(house)) >= before + polls ? null : 'too few so far');
  await waitUntil('the polls of the round', missing, longestRoundMs);
  await calmDown(house);
  let figures = await house.bridge.ask('look');
  for (let look = 1; look < looks; look++) figures = leastOf(figures, await house.bridge.ask('look'));
  return { figures, polls: await pollsOf(house) };
}

function leastOf(left: Figures, right: Figures): Figures {
  const names = Object.keys(left) as (keyof Figures)[];
  const least = names.map((name) => [name, Math.min(left[name], right[name])] as const);
  return { ...left, ...Object.fromEntries(least) };
}

async function main(): Promise<Verdict> {
  const { sonics, polls, seed, jsonFile, snapshotFolder } = readOptions();
  if (snapshotFolder !== null) mkdirSync(snapshotFolder, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-soak-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const planned = Math.max(1, Math.round(polls / pollsPerRound));
  const startedAt = performance.now();
  const outageMs = (polls / planned) * listPeriodMs * outageShareOfRound;
  const house = await startHouse({ sonics, seed }, outageMs, folder);
  const rounds: Round[] = [];
  console.log(roundsHead);
  for (let number = 1; number <= planned; number++) {
    const looked = await goThroughRound(house, polls / planned);
    const round = { round: number, atMs: performance.now() - startedAt, ...looked };
    rounds.push(round);
    console.log(roundLine(round));
    if (snapshotFolder === null || !(number === roundsToSnapshot || number === planned)) continue;
    await house.bridge.ask('snapshot', join(snapshotFolder, `round-${number}.heapsnapshot`));
  }
  const verdict = judge(rounds, await house.bridge.ask('warnings'));
  await endHouse(house);
  const { happened, log } = house;
  const { messages, events, outcomes } = house.watcher;
  const seen = { sonics, seed, node: process.version, messages, events, outcomes, happened, log };
  const report: Report = { ...seen, rounds, verdict };
  for (const [name, value] of Object.entries(seen)) console.log(`${name}: ${JSON.stringify(value)}`);
  for (const complaint of verdict.complaints) console.log(`Complaint: ${complaint}`);
  const { isPassed } = verdict;
  console.log(isPassed === null ? 'Too few rounds to judge' : isPassed ? 'Passed: nothing grows' : 'Failed');
  if (jsonFile !== null) writeFileSync(jsonFile, `${JSON.stringify(report, null, 1)}\n`);
  return verdict;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
try {
  const { isPassed } = await main();
  process.exitCode = isPassed === null ? 2 : isPassed ? 0 : 1;
} catch (error) {
  const isUsage = error instanceof RangeError || (error instanceof TypeError && 'code' in error);
  console.error(isUsage ? error.message : error);
  process.exit(isUsage ? 2 : 1);
}
