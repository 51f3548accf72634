/** What the battery sensor can say; `other` stands for a word of the cloud that is not known yet. */
export const batteryOptions = ['high', 'medium', 'low', 'external_power_supply', 'other'] as const;
export type BatteryOption = (typeof batteryOptions)[number];

/** The battery as an option; `mid` is medium (cloud facts 3). Null when the cloud says nothing. */
export function batteryOption(battery: string | null): BatteryOption | null {
  if (battery === null) return null;
  if (battery === 'mid') return 'medium';
  return batteryOptions.find((option) => option === battery) ?? 'other';
}

/** Whether the battery is low; null where the cloud's word does not tell. */
export function isBatteryLow(battery: string | null): boolean | null {
  const option = batteryOption(battery);
  return option === null || option === 'other' ? null : option === 'low';
}

/** Whether the device runs on external power; null where the cloud's word does not tell. */
export function hasExternalPower(battery: string | null): boolean | null {
  const option = batteryOption(battery);
  return option === null || option === 'other' ? null : option === 'external_power_supply';
}
