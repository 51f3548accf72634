import { expect, it } from 'vitest';
import { type Figure, isWithin, judgedOf, ratioOf } from '../../scripts/bench/figures.ts';
import { comparison, tableOf } from '../../scripts/bench/report.ts';
import { inOrder } from '../../scripts/bench/script.ts';
import { median, quantile, spread } from '../../scripts/measure/statistics.ts';

const wall: Figure = {
  case: 'refresh',
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

it('few values are spread from the least to the largest, many from quartile to quartile', () => {
  expect(spread([3, 1, 2])).toEqual({ low: 1, high: 3 });
  expect(spread([1, 2, 3, 4, 5, 6, 7, 8, 900])).toEqual({ low: 3, high: 7 });
});

it('a ratio is judged by the medians, and a target that is just met is met', () => {
  expect(ratioOf(wall)).toBeCloseTo(1.1);
  expect(isWithin(wall)).toBe(true);
  expect(isWithin({ ...wall, bridge: [120] })).toBe(true);
  expect(isWithin({ ...wall, bridge: [121] })).toBe(false);
});

it('a difference and a value are judged as such', () => {
  const latency: Figure = { ...wall, target: { by: 'difference', most: 10 } };
  expect(judgedOf(latency)).toBe(10);
  expect(isWithin(latency)).toBe(true);
  expect(isWithin({ ...latency, bridge: [111] })).toBe(false);
  const alone: Figure = { ...wall, raw: null, target: { by: 'value', most: 109 } };
  expect([judgedOf(alone), isWithin(alone)]).toEqual([110, false]);
});

it('what has no target, no raw loop or no value is not judged', () => {
  expect(isWithin({ ...wall, target: null })).toBeNull();
  expect(isWithin({ ...wall, raw: null })).toBeNull();
  expect(isWithin({ ...wall, raw: [0] })).toBeNull();
  expect(isWithin({ ...wall, bridge: [], target: { by: 'value', most: 1 } })).toBeNull();
});

it('the table names each figure with its spread, its ratio and its verdict', () => {
  const lines = tableOf([
    wall,
    { ...wall, what: 'CPU', raw: null, target: null, bridge: [1.5] },
    { ...wall, bridge: [0.5, 150], raw: [1], target: { by: 'difference', most: 2 } },
  ]).map((line) => line.split(/ {2,}/));
  expect(lines).toEqual([
    ['case', 'sonics', 'figure', 'bridge', 'raw loop', 'ratio', 'target'],
    [
      'refresh',
      '10',
      'wall',
      '110 ms (90.0 to 130)',
      '100 ms (90.0 to 110)',
      '1.10',
      'at most 1.2 times',
      'within',
    ],
    ['refresh', '10', 'CPU', '1.50 ms'],
    ['refresh', '10', 'wall', '75.3 ms (0.50 to 150)', '1.00 ms', '75.25', 'at most 2.00 ms more', 'OVER'],
  ]);
});

it('a comparison tells the change of what both runs have measured', () => {
  const before: Figure[] = [wall, { ...wall, sonics: 1_000 }];
  const now: Figure[] = [
    { ...wall, bridge: [55] },
    { ...wall, what: 'CPU' },
  ];
  const lines = comparison(before, now).map((line) => line.split(/ {2,}/));
  expect(lines).toEqual([
    ['case', 'sonics', 'figure', 'before', 'now', 'change', 'ratio'],
    ['refresh', '10', 'wall', '110 ms', '55.0 ms', '-50.0 %', '1.10 > 0.55'],
  ]);
});

it('the raw loop publishes in the order of the bridge: parents first, and of each its discovery message', () => {
  const topics = [
    'sonic2mqtt/incident/i1',
    'sonic2mqtt/sonic/s2/availability',
    'sonic2mqtt/sonic/s1',
    'homeassistant/device/sonic2mqtt_s1/config',
    'sonic2mqtt/signal/h1',
    'homeassistant/device/sonic2mqtt_p1/config',
    'homeassistant/device/sonic2mqtt_s2/config',
    'sonic2mqtt/property/p1',
    'sonic2mqtt/bridge/state',
    'homeassistant/device/sonic2mqtt_bridge/config',
    'homeassistant/device/sonic2mqtt_h1/config',
  ];
  const ordered = inOrder(topics.map((topic) => ({ topic, payload: '{}' })));
  expect(ordered.map(({ topic }) => topic)).toEqual([
    'homeassistant/device/sonic2mqtt_bridge/config',
    'sonic2mqtt/bridge/state',
    'homeassistant/device/sonic2mqtt_p1/config',
    'sonic2mqtt/property/p1',
    'homeassistant/device/sonic2mqtt_h1/config',
    'sonic2mqtt/signal/h1',
    'homeassistant/device/sonic2mqtt_s1/config',
    'sonic2mqtt/sonic/s1',
    'homeassistant/device/sonic2mqtt_s2/config',
    'sonic2mqtt/sonic/s2/availability',
    'sonic2mqtt/incident/i1',
  ]);
});
