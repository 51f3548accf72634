import { describe, expect, it } from 'vitest';
import { batteryOption, hasExternalPower, isBatteryLow } from '../../../src/model/power.ts';

describe.each([
  ['high', 'high', false, false],
  ['medium', 'medium', false, false],
  ['mid', 'medium', false, false],
  ['low', 'low', true, false],
  ['external_power_supply', 'external_power_supply', false, true],
  ['critical', 'low', true, false],
  ['okay', 'high', false, false],
  ['none', 'other', null, null],
  ['battery', 'other', null, false],
  ['external', 'external_power_supply', false, true],
  ['external+battery', 'external_power_supply', false, true],
  ['other', 'other', null, null],
  ['LOW', 'low', true, false],
  ['', 'other', null, null],
  ['constructor', 'other', null, null],
  [null, null, null, null],
] as const)('a battery that the cloud calls %s', (battery, option, isLow, isExternal) => {
  it(`is ${option}`, () => {
    expect(batteryOption(battery)).toBe(option);
  });

  it(`is low: ${isLow}, and external power: ${isExternal}`, () => {
    expect(isBatteryLow(battery)).toBe(isLow);
    expect(hasExternalPower(battery)).toBe(isExternal);
  });
});
