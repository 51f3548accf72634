import type { Reading } from '../../src/store/table.ts';

/** The list of a property's hubs, in the form that the store takes. */
export function ownedSignals(
  propertyId: string,
  signalIds: readonly string[],
  isComplete = true,
  startedAt = 0,
): ReadonlyMap<string, Reading<{ readonly id: string }>> {
  return new Map([[propertyId, { records: signalIds.map((id) => ({ id })), isComplete, startedAt }]]);
}
