/** The options of the battery sensor; `other` is any word of the cloud that has no option. */
export const batteryOptions = ['high', 'medium', 'low', 'external_power_supply', 'other'] as const;
type BatteryOption = (typeof batteryOptions)[number];

/** How a device is powered, by the cloud's word; null where the word does not say. */
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

/** The words of all the vendor's interfaces: the cloud, the hub's websocket, and the local one of Wi-Fi sonics. */
const powerByWord: ReadonlyMap<string, Power> = new Map([
  ['high', onBattery('high')],
  ['medium', onBattery('medium')],
  ['mid', onBattery('medium')],
  ['low', onBattery('low')],
  ['external_power_supply', onMains],
  // The websocket has okay, low and critical, so that okay is the best of three.
  ['okay', onBattery('high')],
  ['critical', onBattery('low')],
  // Nobody has said whether that is no battery, or none of its charge left.
  ['none', { option: 'other', isLow: null, isExternal: null }],
  ['battery', { option: 'other', isLow: null, isExternal: false }],
  ['external', onMains],
  ['external+battery', onMains],
]);

const unknownPower = { isLow: null, isExternal: null } as const;

/** The words that the cloud may say of a battery. */
export const batteryWords: readonly string[] = [...powerByWord.keys()];

/** The battery as an option; null when the cloud says nothing. */
export function batteryOption(battery: string | null): BatteryOption | null {
  return battery === null ? null : (powerByWord.get(battery)?.option ?? 'other');
}

/** Whether the battery is low; null if the cloud's word does not say so. */
export function isBatteryLow(battery: string | null): boolean | null {
  return (powerByWord.get(battery ?? '') ?? unknownPower).isLow;
}

/** Whether the device runs on external power; null if the cloud's word does not say so. */
export function hasExternalPower(battery: string | null): boolean | null {
  return (powerByWord.get(battery ?? '') ?? unknownPower).isExternal;
}
