/**
 * Simulates days of trouble, one a seed: `npm run simulate:long -- --seeds 10000 [--from 1] [--hours 24] [--jobs 2]`.
 * `-- --seed N` runs one of them again and prints what happens in it: the same seed gives the same.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { simulateDay } from '../test/simulation/day.ts';
import { emptyTally, inWords, type Tally, tallied } from './simulate/tally.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    hours: { type: 'string', default: '24' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const hours = Number(values.hours);
process.on('unhandledRejection', (reason) => {
  console.error('An error that nobody took:', reason);
  process.exit(1);
});

if (process.send) await simulateForParent();
else if (values.seed !== undefined) await simulateAloud(Number(values.seed));
else await simulateMany(Number(values.from), Number(values.seeds), Number(values.jobs));

/** As a child: simulates the seeds that the parent asks for, one by one. */
async function simulateForParent(): Promise<void> {
  process.on('message', (seed: number) => {
    void simulateDay({ seed, hours }).then((report) => {
      process.send?.({ ...tallied(emptyTally(), report), failures: report.violations, seed });
    });
  });
  process.send?.({ isReady: true });
}

async function simulateAloud(seed: number): Promise<void> {
  const { violations } = await simulateDay({ seed, hours, onLine: (line) => console.log(line) });
  console.log(violations.length === 0 ? `Seed ${seed}: every promise was kept` : violations.join('\n'));
  process.exitCode = violations.length === 0 ? 0 : 1;
}

async function simulateMany(from: number, seeds: number, jobs: number): Promise<void> {
  let next = from;
  let total = emptyTally();
  let failed = 0;
  const kinds = new Map<string, { count: number; readonly seeds: number[] }>();
  const startedAt = performance.now();
  const children = Array.from({ length: Math.min(jobs, seeds) }, () => {
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
      // What a day makes is forgotten with it; a larger nursery collects it in one go.
      execArgv: [...process.execArgv, '--max-semi-space-size=64'],
    });
    return new Promise<void>((resolve) => {
      child.on('message', (message: Tally & { readonly seed?: number; readonly failures: string[] }) => {
        if (message.seed !== undefined) {
          total = tallied(total, message);
          if (message.failures.length > 0) {
            failed += 1;
            for (const words of message.failures.slice(0, 1).map(kindOf)) {
              const kind = kinds.get(words) ?? { count: 0, seeds: [] };
              kind.count += 1;
              if (kind.seeds.length < 4) kind.seeds.push(message.seed);
              kinds.set(words, kind);
            }
            console.log(
              `Seed ${message.seed} broke a promise (npm run simulate:long -- --seed ${message.seed}):`,
            );
            for (const words of message.failures.slice(0, 3)) console.log(`  ${words.slice(0, 400)}`);
          }
          if (total.days % 500 === 0) console.log(`${total.days} days, ${failed} of them bad`);
        }
        if (next < from + seeds) child.send(next++);
        else child.disconnect();
      });
      child.on('exit', (status) => {
        if (status !== 0) {
          failed += 1;
          console.log(`A child ended with ${status}`);
        }
        resolve();
      });
    });
  });
  await Promise.all(children);
  console.log(inWords(total, hours));
  for (const [words, { count, seeds: examples }] of [...kinds].toSorted(
    ([, one], [, other]) => other.count - one.count,
  ))
    console.log(`${String(count).padStart(6)} bad days: ${words} (seeds ${examples.join(', ')})`);
  console.log(
    `${total.days} seeds from ${from} on, ${failed} bad, in ${Math.round((performance.now() - startedAt) / 1_000)} s`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

/** A violation without what is another in each. */
function kindOf(words: string): string {
  return words
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d[\d.]*/g, 'N')
    .slice(0, 160);
}
