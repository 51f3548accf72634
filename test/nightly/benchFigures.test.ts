import { expect, it } from 'vitest';
import { type Figure, isMet, ratioOf, tableOf } from '../../scripts/bench/figures.ts';
import { median, quantile } from '../../scripts/measure/statistics.ts';

const wall: Figure = {
  story: 'refresh',
  sonics: 10,
  what: 'wall',
  unit: 'ms',
  bridge: [130, 90, 110],
  raw: [100, 90, 110],
  target: { by: 'ratio', most: 1.2 },
};

it('the median of an even number of values lies between the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([9, 1, 5])).toBe(5);
  expect(median([])).toBe(0);
});

it('a quantile lies between its neighbours in proportion, whatever the order of the values', () => {
  expect(quantile([40, 10, 30, 20, 50], 0.25)).toBe(20);
  expect(quantile([0, 10], 0.99)).toBeCloseTo(9.9);
  expect([quantile([7, 3], 0), quantile([7, 3], 1)]).toEqual([3, 7]);
});

it('a ratio is judged by the medians, and a target that is just met is met', () => {
  expect(ratioOf(wall)).toBeCloseTo(1.1);
  expect(isMet(wall)).toBe(true);
  expect(isMet({ ...wall, bridge: [120] })).toBe(true);
  expect(isMet({ ...wall, bridge: [121] })).toBe(false);
});

it('a difference and a value are judged as such', () => {
  const latency: Figure = { ...wall, target: { by: 'difference', most: 10 } };
  expect(isMet(latency)).toBe(true);
  expect(isMet({ ...latency, bridge: [111] })).toBe(false);
  const alone: Figure = { ...wall, raw: null, target: { by: 'value', most: 109 } };
  expect([isMet(alone), isMet({ ...alone, bridge: [109] })]).toEqual([false, true]);
});

it('what has no target, no raw loop or no value is not judged', () => {
  expect(isMet({ ...wall, target: null })).toBeNull();
  expect(isMet({ ...wall, raw: null })).toBeNull();
  expect(isMet({ ...wall, raw: [0] })).toBeNull();
  expect(isMet({ ...wall, bridge: [], target: { by: 'value', most: 1 } })).toBeNull();
});

it('the table names each figure with its spread, its ratio and its verdict', () => {
  const lines = tableOf([
    wall,
    { ...wall, what: 'CPU', raw: null, target: null, bridge: [1.5] },
    { ...wall, bridge: [0.5, 150], raw: [1], target: { by: 'difference', most: 2 } },
  ]).map((line) => line.split(/ {2,}/));
  const told = ['110 ms (90.0 to 130)', '100 ms (90.0 to 110)'];
  expect(lines).toEqual([
    ['story', 'sonics', 'figure', 'bridge', 'raw loop', 'ratio', 'target'],
    ['refresh', '10', 'wall', ...told, '1.10', 'at most 1.2 times', 'met'],
    ['refresh', '10', 'CPU', '1.50 ms'],
    ['refresh', '10', 'wall', '75.3 ms (0.50 to 150)', '1.00 ms', '75.25', 'at most +2 ms', 'MISSED'],
  ]);
});
