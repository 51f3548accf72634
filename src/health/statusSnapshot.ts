import type { HealthStatus, PropertyView, SignalView, SonicView } from '../model/devices.ts';
import type { Incident } from '../model/records.ts';
import type { PollProgress } from '../polling/pollStatus.ts';
import { isSonicPoll, type PollName, type PollStatus, pollNames } from '../polling/pollStatus.ts';
import type { Store } from '../store/store.ts';
import { emptyAccountWarning } from './accountWarnings.ts';
import type { Readiness } from './readiness.ts';

/** How the polls of one schedule went last. */
export interface PollSnapshot {
  readonly slice: PollName;
  /** Wall clock, ms; null before the first. */
  readonly lastSuccessAt: number | null;
  /** Why the last one failed, or was not complete, in words; null where it went well, or before the first. */
  readonly failure: string | null;
  readonly failures: number;
  /** Whether the first reading goes on, and has not failed. */
  readonly isPending: boolean;
  /** How many records there are of it so far; null where it is asked for sonic by sonic. */
  readonly records: number | null;
}

/** How the bridge itself fares. */
export interface BridgeSnapshot {
  /** Wall clock, ms. */
  readonly startedAt: number;
  /** Null until that is known. */
  readonly status: HealthStatus | null;
  readonly reason: string | null;
  readonly readiness: Readiness;
}

/** All that the bridge knows, for people to look at; gathered when it is asked for. */
export interface StatusSnapshot extends BridgeSnapshot {
  readonly polls: readonly PollSnapshot[];
  /** Why there is nothing to show, in words; null where there is something, or that is not known. */
  readonly emptiness: string | null;
  /** How far the first reading is of what was not read yet; empty once everything was. */
  readonly progress: readonly PollProgress[];
  /** Whether every list was once read completely, and it is known what of it is to be shown. */
  readonly isWhole: boolean;
  readonly properties: readonly PropertyView[];
  readonly signals: readonly SignalView[];
  readonly sonics: readonly SonicView[];
  readonly incidents: readonly Incident[];
  /** Whether no other incident is open. */
  readonly areIncidentsKnown: boolean;
  /** Wall clock, ms, of the last reading of incidents; null before the first. */
  readonly incidentsReadAt: number | null;
  /** When a sonic was last read, in ms of the wall clock; null where it never was. */
  readonly readAt: (sonicId: string) => number | null;
}

/** Gathers it. `readAt` of the store counts by a clock of which `aheadMs` is how far the wall clock is ahead of it. */
export function statusSnapshot(
  bridge: BridgeSnapshot,
  records: Readonly<Record<PollName, PollStatus>>,
  progress: StatusSnapshot['progress'],
  store: Store,
  aheadMs: number,
): StatusSnapshot {
  const counts = store.counts();
  const found: Partial<Record<PollName, number>> = { ...counts, incidents: counts.open_incidents };
  return {
    ...bridge,
    polls: pollNames.map((slice) => {
      const { lastSuccessAt, failure, consecutiveFailures } = records[slice];
      return {
        slice,
        lastSuccessAt,
        failure: failure?.message ?? null,
        failures: consecutiveFailures,
        isPending: progress.some((each) => each.slice === slice) && isUnhindered(slice, records),
        records: found[slice] ?? null,
      };
    }),
    emptiness: emptyAccountWarning(store, records.properties.lastSuccessAt !== null),
    progress,
    isWhole: store.isResolved,
    properties: store.ids('property').flatMap((id) => store.propertyView(id) ?? []),
    signals: store.ids('signal').flatMap((id) => store.signalView(id) ?? []),
    sonics: store.ids('sonic').flatMap((id) => store.sonicView(id) ?? []),
    incidents: store.ids('incident').flatMap((id) => store.incidents.get(id) ?? []),
    areIncidentsKnown: store.incidents.areKnown,
    incidentsReadAt: records.incidents.lastSuccessAt,
    readAt: (sonicId) => {
      const at = store.devices.sonic.readAt(sonicId);
      return at === undefined ? null : at + aheadMs;
    },
  };
}

/** Whether nothing stands in the way of the reading: nothing is asked for sonic by sonic before the sonics are known. */
function isUnhindered(slice: PollName, records: Readonly<Record<PollName, PollStatus>>): boolean {
  const { sonics } = records;
  const isBarred = isSonicPoll(slice) && sonics.failure !== null && sonics.lastSuccessAt === null;
  return records[slice].failure === null && !isBarred;
}
