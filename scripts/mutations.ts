// Makes one mistake after the other in a copy of the safety code; the tests must notice each:  npm run mutations
// Only those whose promise contains some words:  npm run mutations -- 'a pause'
import { Bench } from './mutations/bench.ts';
import type { Mutation } from './mutations/mutation.ts';
import { mutations as all } from './mutations/table.ts';

const benchCount = 2;
const wanted = process.argv[2] ?? '';
const mutations = all.filter(({ promise }) => promise.includes(wanted));

/** Whether every mistake can still be made: where the sources go on, the table must go with them. */
function isUpToDate(bench: Bench): boolean {
  const problems = mutations.flatMap(({ promise, ...mistake }) => {
    const problem = bench.problemOf(mistake);
    return problem === null ? [] : [`${promise}: ${problem}`];
  });
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

/** Whether the tests pass as they are: only then does a failure tell of the mistake. */
async function pass(bench: Bench): Promise<boolean> {
  const { count, failed, output } = await bench.run([...new Set(mutations.flatMap(({ tests }) => tests))]);
  if (count > 0 && failed === null) return true;
  console.error(failed === null ? output : `Without any mistake this fails: ${failed}`);
  return false;
}

/** Whether the tests notice the mistake, which is said. */
async function isCaught(bench: Bench, { promise, tests, ...mistake }: Mutation): Promise<boolean> {
  const { count, failed, output } = await bench.runMutated(mistake, tests);
  if (count === 0) throw new Error(`${promise}: no test ran\n${output}`);
  console.log(failed === null ? `MISSED  ${promise}` : `caught  ${promise}   (${failed})`);
  return failed !== null;
}

const benches = Array.from({ length: benchCount }, () => new Bench());
try {
  const [first] = benches;
  if (first && isUpToDate(first) && (await pass(first))) {
    const left = [...mutations];
    let caught = 0;
    const work = async (bench: Bench) => {
      for (let next = left.shift(); next; next = left.shift()) if (await isCaught(bench, next)) caught += 1;
    };
    await Promise.all(benches.map(work));
    console.log(`${caught} of ${mutations.length} mutations caught`);
    process.exitCode = caught === mutations.length ? 0 : 1;
  } else process.exitCode = 1;
} finally {
  for (const bench of benches) bench.remove();
}
