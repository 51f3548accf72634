import type { CloudErrorKind } from '../cloud/errors.ts';
import type { Flaw } from './flaw.ts';

/** What is polled, each with a schedule of its own. */
export const slices = [
  'properties',
  'signals',
  'sonics',
  'incidents',
  'telemetry',
  'usage',
  'pressure_tests',
] as const;
export type Slice = (typeof slices)[number];

/** What is asked for sonic by sonic. */
export const sonicSlices = ['telemetry', 'usage', 'pressure_tests'] as const satisfies readonly Slice[];
export type SonicSlice = (typeof sonicSlices)[number];

/** Whether the slice is asked for sonic by sonic. */
export function isSonicSlice(slice: Slice): slice is SonicSlice {
  return sonicSlices.some((each) => each === slice);
}

/** What the bridge is there for, first what matters most: a valve's position, and whether there is a leak. */
export const vitalSlices = ['sonics', 'incidents'] as const satisfies readonly Slice[];

/** Why a poll went wrong, or not all the way. */
export interface Failure extends Flaw {
  readonly kind: CloudErrorKind | 'incomplete';
}

/** What could not be read, of a slice that was taken in as far as it could be; null where it was all read. */
export function incomplete(flaw: Flaw | null): Failure | null {
  return flaw && { kind: 'incomplete', ...flaw };
}

/** How the polls of a slice went. */
export interface SliceRecord {
  /** Wall clock, ms; null before the first. */
  readonly lastSuccessAt: number | null;
  /** Monotonic clock, ms; until then the last success counts as fresh. */
  readonly freshUntil: number;
  /** Monotonic clock, ms; when the last poll began that the cloud answered. */
  readonly answeredAt: number;
  readonly failure: Failure | null;
  readonly consecutiveFailures: number;
}

/** Whether the slice was polled, well or not. */
export function wasPolled({ lastSuccessAt, failure }: SliceRecord): boolean {
  return lastSuccessAt !== null || failure !== null;
}

/** A slice that was not polled yet. */
export const neverPolled: SliceRecord = {
  lastSuccessAt: null,
  freshUntil: Number.NEGATIVE_INFINITY,
  answeredAt: Number.NEGATIVE_INFINITY,
  failure: null,
  consecutiveFailures: 0,
};
