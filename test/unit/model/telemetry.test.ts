import { describe, expect, it } from 'vitest';
import { measurementAgeMs, measurementOf } from '../../../src/model/telemetry.ts';
import { someTelemetry } from '../../support/views.ts';

describe('a measurement', () => {
  it('turns ml/min, mbar and Unix seconds into what people read', () => {
    expect(measurementOf(someTelemetry())).toEqual({
      flowLMin: 7.64,
      pressureBar: 3.252,
      waterTemperatureC: 17.1,
      probedAt: '2021-06-11T12:28:02.000Z',
    });
  });

  it('keeps zero apart from unknown', () => {
    const nothing = { pressure: null, water_flow: null, water_temp: null, probed_at: null };
    expect(measurementOf(nothing)).toEqual({
      flowLMin: null,
      pressureBar: null,
      waterTemperatureC: null,
      probedAt: null,
    });
    const still = { pressure: 0, water_flow: 0, water_temp: 0, probed_at: 0 };
    expect(measurementOf(still)).toEqual({
      flowLMin: 0,
      pressureBar: 0,
      waterTemperatureC: 0,
      probedAt: null,
    });
  });

  it('shows no more digits than the device can have meant', () => {
    const { pressureBar, flowLMin } = measurementOf(someTelemetry({ pressure: 3_252.49, water_flow: 0.3 }));
    expect([pressureBar, flowLMin]).toEqual([3.252, 0]);
  });
});

describe('the age of a measurement', () => {
  const now = 1_700_000_000_000;
  const never = Number.POSITIVE_INFINITY;

  it.each<[string, number | null, number]>([
    ['of a minute ago', 1_699_999_940, 60_000],
    ['of a year ago', 1_668_464_000, 31_536_000_000],
    ['of now', 1_700_000_000, 0],
    ['of a device whose clock is a little ahead', 1_700_000_299, 0],
    ['of an hour to come, which cannot be right', 1_700_003_600, never],
    ['in milliseconds', 1_700_000_000_000, never],
    ['of 1970, as of a device that has never measured', 0, now],
    ['of which no time is told', null, 0],
  ])('%s', (_, probed_at, ageMs) => {
    expect(measurementAgeMs(someTelemetry({ probed_at }), now)).toBe(ageMs);
  });
});
