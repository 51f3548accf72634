import { expect, it } from 'vitest';
import { singleFlight } from '../../../src/base/singleFlight.ts';

it('all who ask while it runs share one run and its result', async () => {
  let runs = 0;
  let finish: (value: string) => void = () => {};
  const ask = singleFlight(() => {
    runs += 1;
    return new Promise<string>((resolve) => {
      finish = resolve;
    });
  });
  const answers = [ask(), ask(), ask()];
  finish('done');
  expect(await Promise.all(answers)).toEqual(['done', 'done', 'done']);
  expect(runs).toBe(1);
});

it('who asks after its end gets a new run', async () => {
  let runs = 0;
  const ask = singleFlight(async () => ++runs);
  expect([await ask(), await ask()]).toEqual([1, 2]);
});

it('a failure is shared too, and the next run starts afresh', async () => {
  let runs = 0;
  const ask = singleFlight(async () => {
    runs += 1;
    if (runs === 1) throw new Error('no luck');
    return runs;
  });
  const results = await Promise.allSettled([ask(), ask()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toBe(1);
  expect(await ask()).toBe(2);
});
