import { describe, expect, it } from 'vitest';
import { firstSeedWithCaches, simulateDay } from './day.ts';

/** Many more, and whole days: npm run simulate:long */
const seeds = 100;
const hours = 4;
const atATime = 20;

const everyCheck = [
  'a change was asked for, once, and in time',
  'a total falls by corrections alone',
  'a valve can be moved',
  'after a quiet time all is shown as it is',
  'after a quiet time nothing is owed',
  'an incident is announced once',
  'an open incident has been announced',
  'an open incident is heard of',
  'each command has one outcome',
  'each vital list is asked for',
  'health is ok only where all is well',
  'no litre is lost',
  'sign-ins keep to their cap',
  'sign-ins that fail keep to a back-off',
  'the bridge stops in time',
  'what became of a command is told truly',
  'what is deleted is gone from the cloud',
  'what is shown was so',
  'what moves water was wanted, once, in time, and last',
  'what waits is bounded',
  'what was paused is on again in time, or it is said',
  'who moved a valve is told truly',
];

const groups = [
  ...Array.from({ length: seeds / atATime }, (_, index) => index * atATime + 1),
  firstSeedWithCaches,
];

describe('the whole bridge in hours of trouble', () => {
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

  it('is the same again from the same seed', async () => {
    const again = await simulateDay({ seed: 4, hours });
    expect(again.fingerprint).toBe(fingerprints.get(4));
    expect(again.fingerprint).not.toBe(fingerprints.get(5));
  });
});
