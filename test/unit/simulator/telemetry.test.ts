import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lastProbe, reading } from '../../../src/simulator/telemetry.ts';

const seed = fc.integer({ min: 1, max: 2 ** 30 });
const probeMs = 60_000;
const time = fc.integer({ min: Date.UTC(2024), max: Date.UTC(2034) });

it('a closed valve stops the flow and keeps the pressure, leak or not', () => {
  fc.assert(
    fc.property(seed, time, time, fc.boolean(), (house, one, other, isLeaking) => {
      const first = reading({ seed: house, probedAt: one, valveIsOpen: false, isLeaking, probeMs });
      const second = reading({ seed: house, probedAt: other, valveIsOpen: false, isLeaking, probeMs });
      expect(first.water_flow).toBe(0);
      expect(second).toEqual({ ...first, probed_at: Math.floor(other / 1_000) });
    }),
  );
});

it('a reading is one that a home could give, and pressure drops while water flows', () => {
  fc.assert(
    fc.property(seed, time, (house, probedAt) => {
      const closed = reading({ seed: house, probedAt, valveIsOpen: false, isLeaking: false, probeMs });
      const leaking = reading({ seed: house, probedAt, valveIsOpen: true, isLeaking: true, probeMs });
      expect(leaking.water_flow).toBeGreaterThan(2_000);
      expect(leaking.water_flow).toBeLessThan(12_000);
      expect(leaking.pressure).toBeLessThan(closed.pressure ?? 0);
      expect(leaking.pressure).toBeGreaterThan(2_000);
      expect(leaking.water_temp).toBeGreaterThan(5);
      expect(leaking.water_temp).toBeLessThan(20);
    }),
  );
});

it('the last probe is at most a minute old', () => {
  fc.assert(
    fc.property(seed, time, (house, now) => {
      const age = now - lastProbe(house, now, probeMs);
      expect(age).toBeGreaterThanOrEqual(0);
      expect(age).toBeLessThan(60_000);
    }),
  );
});
