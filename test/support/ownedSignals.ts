import type { Reading } from '../../src/store/table.ts';

/** What a property says of its signals, as the store takes it. */
export function ownedSignals(
  propertyId: string,
  signalIds: readonly string[],
  isComplete = true,
  startedAt = 0,
): ReadonlyMap<string, Reading<{ readonly id: string }>> {
  return new Map([[propertyId, { records: signalIds.map((id) => ({ id })), isComplete, startedAt }]]);
}
