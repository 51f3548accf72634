import { Bench } from './mutations/bench.ts';
import { mutations } from './mutations/table.ts';
const bench = new Bench();
const mine = mutations.filter(({ file }) => /src\/cloud\/(client|http|session|requestQueue|pauses)|valveQueue|base\/clock/.test(file));
try {
  for (const { promise, ...mistake } of mutations) { const p = bench.problemOf(mistake); if (p) console.log('PROBLEM', promise, p); }
  for (const { promise, tests, ...mistake } of mine) {
    const { count, failed, output } = await bench.runMutated(mistake, tests);
    console.log(failed === null ? `MISSED ${promise} (${count})` : `caught ${promise}`);
    if (count===0) console.log(output.slice(-500));
  }
} finally { bench.remove(); }
