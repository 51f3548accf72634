import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDuration, parseDuration } from '../../../src/base/duration.ts';

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
    ['0.4ms', 0],
    [' 30s\n', 30_000],
  ])('reads %j as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '30', 's', '30 s', '-1s', '1d', '1S', '1e3s', '.5s', '5.s', '1h30m', '１s', 'NaNs', '0x1s'])(
    'is not %j',
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );

  it('of any text is a whole number of ms or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,4}(ms|s|m|h)$/)), (text) => {
        const ms = parseDuration(text) ?? 0;
        expect(Number.isInteger(ms) && ms >= 0).toBe(true);
      }),
    );
  });
});

it.each([
  [0, '0 ms'],
  [850.4, '850 ms'],
  [1_000, '1 s'],
  [42_300, '42 s'],
  [119_400, '119 s'],
  [120_000, '2 min'],
  [300_000, '5 min'],
  [7_140_000, '119 min'],
  [7_200_000, '2 h'],
  [259_200_000, '72 h'],
])('%d ms reads %s', (ms, words) => {
  expect(describeDuration(ms)).toBe(words);
});
