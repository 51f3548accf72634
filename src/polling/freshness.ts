import { isPermanent } from '../cloud/errors.ts';
import { type Slice, type SliceRecord, vitalSlices, wasPolled } from './slices.ts';

/** The slice by which freshness is judged: the first vital one; what is refused for good tells nothing of the rest. */
function judgedSlice(records: Readonly<Record<Slice, SliceRecord>>): Slice | null {
  return vitalSlices.find((slice) => !isPermanent(records[slice].failure)) ?? null;
}

/** Whether the slice by which freshness is judged was polled, well or not. */
export function isJudged(records: Readonly<Record<Slice, SliceRecord>>): boolean {
  const judged = judgedSlice(records);
  return judged === null || wasPolled(records[judged]);
}

/** Until when the cloud's data as a whole counts as fresh, in ms of the monotonic clock. */
export function freshUntil(records: Readonly<Record<Slice, SliceRecord>>): number {
  const judged = judgedSlice(records);
  return judged === null ? Number.NEGATIVE_INFINITY : records[judged].freshUntil;
}

/**
 * Until when, in ms of the monotonic clock, what this slice brought grows old by itself: as long as the cloud answered
 * where freshness is judged. A cloud that is away makes everything unavailable, and changes no value.
 */
export function agesUntil(slice: Slice, records: Readonly<Record<Slice, SliceRecord>>): number {
  const judged = judgedSlice(records);
  if (judged === null) return Number.POSITIVE_INFINITY;
  const { failure, answeredAt } = records[judged];
  const isThere = failure === null || failure.kind === 'incomplete';
  return slice !== judged && isThere ? answeredAt : Number.NEGATIVE_INFINITY;
}
