import { wordOf } from './words.ts';

/** The options of the battery sensor. `other` stands for a word of the cloud that has no option. */
export const batteryOptions = ['high', 'medium', 'low', 'external_power_supply', 'other'] as const;
type BatteryOption = (typeof batteryOptions)[number];

/** How a device is powered, according to the cloud's word. A value is null if the word does not say. */
interface Power {
  readonly option: BatteryOption;
  readonly isLow: boolean | null;
  readonly isExternal: boolean | null;
}

const onBattery = (option: 'high' | 'medium' | 'low'): Power => ({
  option,
  isLow: option === 'low',
  isExternal: false,
});
const onMains: Power = { option: 'external_power_supply', isLow: false, isExternal: true };

/**
 * The words of all interfaces of the vendor: the cloud, the hub's websocket, and the local interface of Wi-Fi sonics.
 */
const powerByWord: ReadonlyMap<string, Power> = new Map([
  ['high', onBattery('high')],
  ['medium', onBattery('medium')],
  ['mid', onBattery('medium')],
  ['low', onBattery('low')],
  ['external_power_supply', onMains],
  // The websocket has `okay`, `low` and `critical`, so `okay` is the best of three.
  ['okay', onBattery('high')],
  ['critical', onBattery('low')],
  // No source says whether this means that there is no battery, or that it is empty.
  ['none', { option: 'other', isLow: null, isExternal: null }],
  ['battery', { option: 'other', isLow: null, isExternal: false }],
  ['external', onMains],
  ['external+battery', onMains],
]);

const unknownPower = { isLow: null, isExternal: null } as const;

export const batteryWords: readonly string[] = [...powerByWord.keys()];

/** The battery as an option; null if the cloud says nothing. */
export function batteryOption(battery: string | null): BatteryOption | null {
  return battery === null ? null : (powerByWord.get(wordOf(battery))?.option ?? 'other');
}

/** Whether the battery is low; null if the cloud's word does not say so. */
export function isBatteryLow(battery: string | null): boolean | null {
  return (powerByWord.get(wordOf(battery ?? '')) ?? unknownPower).isLow;
}

/** Whether the device runs on external power; null if the cloud's word does not say so. */
export function hasExternalPower(battery: string | null): boolean | null {
  return (powerByWord.get(wordOf(battery ?? '')) ?? unknownPower).isExternal;
}
