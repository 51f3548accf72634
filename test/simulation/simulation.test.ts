import { describe, expect, it } from 'vitest';
import { firstSeedWithCaches, simulateDay } from './day.ts';

/** For many more seeds and whole days, run npm run simulate:long. */
const seeds = 100;
const hours = 4;
const atATime = 20;

const everyCheck = [
  'a change was asked for, once, and in time',
  'a paused shut-off is on again in time, or shown as off',
  'a request that moves water has one recent command',
  'a total falls only by corrections',
  'a valve can be moved',
  'after a quiet time all is shown as it is',
  'after a quiet time no pause has run over',
  'an incident is announced once',
  'an open incident has been announced',
  'an open incident is shown',
  'each command has one outcome',
  'each vital list is asked for',
  'failed sign-ins keep to a back-off',
  'health is ok only if all is well',
  'no litre is lost',
  'rejected sign-ins keep to their limit',
  'the bridge stops in time',
  'the outcome of a command is true',
  'timers and requests are bounded',
  'what is deleted has left the cloud',
  'what is shown was true',
  'who moved a valve is true',
];

const groups = [
  ...Array.from({ length: seeds / atATime }, (_, index) => index * atATime + 1),
  firstSeedWithCaches,
];

describe('the whole bridge in simulated hours with faults', () => {
  const troubles = new Set<string>();
  const checks = new Set<string>();
  /** By seed. */
  const fingerprints = new Map<number, number>();

  it.each(groups)(
    `keeps its promises in ${atATime} seeds from %i on`,
    // A busy machine takes ten times as long.
    { timeout: 600_000 },
    async (first) => {
      for (let seed = first; seed < first + atATime; seed++) {
        const report = await simulateDay({ seed, hours });
        const story = `Seed ${seed} (npm run simulate:long -- --seed ${seed} --hours ${hours}):\n`;
        expect(report.violations, story + report.lastLines.slice(-40).join('\n')).toEqual([]);
        fingerprints.set(seed, report.fingerprint);
        for (const name of report.troubles.keys()) troubles.add(name);
        for (const name of report.checks.keys()) checks.add(name);
      }
    },
  );

  it('meets every kind of trouble, and makes every kind of check', () => {
    expect(troubles.size).toBe(70);
    expect([...checks].sort()).toEqual(everyCheck);
  });

  it('gives the same trace for the same seed', async () => {
    const again = await simulateDay({ seed: 4, hours });
    expect(again.fingerprint).toBe(fingerprints.get(4));
    expect(again.fingerprint).not.toBe(fingerprints.get(5));
  });
});
