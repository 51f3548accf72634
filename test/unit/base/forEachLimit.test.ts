import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forEachLimit } from '../../../src/base/forEachLimit.ts';

it('Each item has its turn, so many at a time', async () => {
  let underWay = 0;
  let most = 0;
  const done: number[] = [];
  await forEachLimit(3, Array.from({ length: 20 }).keys(), async (item) => {
    most = Math.max(most, ++underWay);
    for (let turns = item % 4; turns >= 0; turns--) await turn();
    underWay -= 1;
    done.push(item);
  });
  expect(most).toBe(3);
  expect(done.toSorted((left, right) => left - right)).toEqual([...Array(20).keys()]);
});

it('A failure is passed on, and nothing more is begun', async () => {
  const begun: number[] = [];
  const task = async (item: number) => {
    begun.push(item);
    await turn();
    if (item === 1) throw new Error('the second');
  };
  await expect(forEachLimit(2, [0, 1, 2, 3, 4, 5, 6, 7], task)).rejects.toThrow('the second');
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(begun.length).toBeLessThan(5);
});
