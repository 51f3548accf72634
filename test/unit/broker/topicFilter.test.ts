import { expect, it } from 'vitest';
import { matchesAny } from '../../../src/broker/topicFilter.ts';

const isFound = matchesAny(['home/status', 'base/sonic/+/valve/set', 'base/+/set']);

it.each([
  ['home/status', true],
  ['base/sonic/1/valve/set', true],
  ['base/sonic//valve/set', true],
  ['base/log_level/set', true],
  ['home', false],
  ['home/status/', false],
  ['/home/status', false],
  ['base/sonic/1/2/valve/set', false],
  ['base/sonic/valve/set', false],
  ['base/sonic/1/valve/get', false],
  ['base/a/b/set', false],
  ['', false],
])('a topic is found by any of several filters, level by level: %j, %j', (topic, isIt) => {
  expect(isFound(topic)).toBe(isIt);
});

it('without a filter nothing is found', () => {
  expect(matchesAny([])('home/status')).toBe(false);
});
