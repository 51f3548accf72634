import type { HealthStatus, PropertyView, SignalView, SonicView } from '../model/devices.ts';
import type { Incident } from '../model/records.ts';
import { type Slice, type SliceRecord, slices } from './slices.ts';
import type { Store } from './store.ts';
import type { Wellbeing } from './wellbeing.ts';

/** How the polls of one schedule went last. */
export interface PollOverview {
  readonly slice: Slice;
  /** Wall clock, ms; null before the first. */
  readonly lastSuccessAt: number | null;
  /** Why the last one failed, or was not complete, in words; null where it went well, or before the first. */
  readonly failure: string | null;
  readonly failures: number;
}

/** How the bridge itself fares. */
export interface BridgeOverview {
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** Null until that is known. */
  readonly status: HealthStatus | null;
  readonly reason: string | null;
  readonly wellbeing: Wellbeing;
}

/** All that the bridge knows, for people to look at; gathered when it is asked for. */
export interface Overview extends BridgeOverview {
  readonly polls: readonly PollOverview[];
  /** Whether every list was once read completely, and it is known what of it is to be shown. */
  readonly isWhole: boolean;
  readonly properties: readonly PropertyView[];
  readonly signals: readonly SignalView[];
  readonly sonics: readonly SonicView[];
  readonly incidents: readonly Incident[];
  /** Whether no other incident is open. */
  readonly areIncidentsKnown: boolean;
  /** When a sonic was last read, in ms of the wall clock; null where it never was. */
  readonly readAt: (sonicId: string) => number | null;
}

/** Gathers it. `readAt` of the store counts by a clock of which `aheadMs` is how far the wall clock is ahead of it. */
export function overviewOf(
  bridge: BridgeOverview,
  records: Readonly<Record<Slice, SliceRecord>>,
  store: Store,
  aheadMs: number,
): Overview {
  return {
    ...bridge,
    polls: slices.map((slice) => {
      const { lastSuccessAt, failure, consecutiveFailures } = records[slice];
      return { slice, lastSuccessAt, failure: failure?.words ?? null, failures: consecutiveFailures };
    }),
    isWhole: store.isCertain,
    properties: store.ids('property').flatMap((id) => store.propertyView(id) ?? []),
    signals: store.ids('signal').flatMap((id) => store.signalView(id) ?? []),
    sonics: store.ids('sonic').flatMap((id) => store.sonicView(id) ?? []),
    incidents: store.ids('incident').flatMap((id) => store.incident(id) ?? []),
    areIncidentsKnown: store.areIncidentsKnown,
    readAt: (sonicId) => {
      const at = store.sonicReadAt(sonicId);
      return at === null ? null : at + aheadMs;
    },
  };
}
