import type { RequestTotals } from '../cloud/requestCounter.ts';
import type { ValveOutcome } from '../commands/outcome.ts';
import type { PollCounts, PollName } from '../polling/pollStatus.ts';
import type { Readiness } from './readiness.ts';

/** How one schedule does. */
export interface ScheduleFigures {
  readonly slice: PollName;
  /** Wall clock, ms; null before the first. */
  readonly lastSuccessAt: number | null;
  readonly polls: PollCounts;
}

/** What the bridge can tell in numbers; counts are those since it was started. */
export interface MetricsSnapshot {
  readonly readiness: Readiness;
  readonly schedules: readonly ScheduleFigures[];
  readonly requests: RequestTotals;
  /** How long the next poll has to wait for the budget, or because the cloud asked for that. */
  readonly pollWaitMs: number;
  readonly devices: { readonly properties: number; readonly signals: number; readonly sonics: number };
  readonly openIncidents: number;
  readonly valveCommands: Readonly<Record<ValveOutcome, number>>;
  /** Messages that were given to the broker. */
  readonly published: number;
  readonly retainedTopics: number;
}
