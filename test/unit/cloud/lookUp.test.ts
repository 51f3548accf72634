import type { LookupAddress } from 'node:dns';
import { expect, it } from 'vitest';
import { joinedLookUp } from '../../../src/cloud/lookUp.ts';

type Answer = (error: Error | null, addresses?: LookupAddress[]) => void;

/** Look-ups that the test answers, and what those who wait were told. */
function start() {
  const asked: { host: string; answer: Answer }[] = [];
  const told: unknown[] = [];
  const lookUp = joinedLookUp(((host: string, _options: object, answer: Answer) => {
    asked.push({ host, answer });
  }) as Parameters<typeof joinedLookUp>[0]);
  const ask = (host: string, all = true) =>
    lookUp(host, { all }, (error, ...addresses) => void told.push(error?.message ?? addresses));
  return { asked, told, ask };
}

const addresses = [
  { address: '192.0.2.1', family: 4 },
  { address: '2001:db8::1', family: 6 },
];

it('a look-up of a host joins the one that is under way, and the next one begins after its end', () => {
  const { asked, told, ask } = start();
  ask('cloud.example');
  ask('cloud.example', false);
  ask('other.example');
  expect(asked.map(({ host }) => host)).toEqual(['cloud.example', 'other.example']);
  asked[0]?.answer(null, addresses);
  expect(told).toEqual([[addresses], ['192.0.2.1', 4]]);
  ask('cloud.example');
  expect(asked).toHaveLength(3);
});

it('an error is passed on to all that wait', () => {
  const { asked, told, ask } = start();
  ask('cloud.example');
  ask('cloud.example', false);
  asked[0]?.answer(new Error('no such host'));
  expect(told).toEqual(['no such host', 'no such host']);
});

it('an address that a filter has made up is none', () => {
  const { asked, told, ask } = start();
  const madeUp = [
    { address: '0.0.0.0', family: 4 },
    { address: '::', family: 6 },
  ];
  ask('cloud.example');
  asked[0]?.answer(null, madeUp);
  ask('cloud.example');
  asked[1]?.answer(null, [...madeUp, ...addresses]);
  expect(told).toEqual(['blocked', [addresses]]);
});
