import { describe, expect, it } from 'vitest';
import { simulateDay } from './day.ts';

/**
 * Each kind of days twice but that of which a day takes longest. The nightly tests run hundreds of others, with every kind
 * of trouble and check.
 */
const seeds = [1, 2, 3, 4, 6, 7, 8];
const hours = 4;

describe('the whole bridge in simulated hours with faults', () => {
  /** By seed. */
  const fingerprints = new Map<number, number>();

  it.each(seeds)(
    'keeps its promises in seed %i',
    // A busy machine takes ten times as long.
    { timeout: 300_000 },
    async (seed) => {
      const report = await simulateDay({ seed, hours });
      const story = `Seed ${seed} (npm run simulate:long -- --seed ${seed} --hours ${hours}):\n`;
      expect(report.violations, story + report.lastLines.slice(-40).join('\n')).toEqual([]);
      fingerprints.set(seed, report.fingerprint);
    },
  );

  it('gives the same trace for the same seed', async () => {
    const again = await simulateDay({ seed: 4, hours });
    expect(again.fingerprint).toBe(fingerprints.get(4));
    expect(again.fingerprint).not.toBe(fingerprints.get(3));
  });
});
