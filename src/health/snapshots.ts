import type { Clock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { Outcomes } from '../commands/outcome.ts';
import { type PollName, pollNames } from '../model/polls.ts';
import type { Poller } from '../polling/poller.ts';
import type { Store } from '../store/store.ts';
import { emptyAccount } from './accountProblems.ts';
import type { HealthMonitor } from './healthMonitor.ts';
import { isPending, type PublishingProgress } from './sides.ts';

/** What the snapshots are made from. */
interface SnapshotParts {
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly store: Store;
  readonly poller: Poller;
  readonly health: HealthMonitor;
  readonly outcomes: Outcomes;
  readonly publisher: PublishingProgress;
  readonly clock: Clock;
  /** Whether the metrics include single valves. */
  readonly hasDeviceMetrics: boolean;
  readonly isWatchOnly: boolean;
}

export type Snapshots = ReturnType<typeof snapshotsOf>;

/** Everything that the status page shows. */
export type StatusSnapshot = ReturnType<Snapshots['status']>;

/** Everything that the metrics show. Counters start with the process. */
export type MetricsSnapshot = ReturnType<Snapshots['metrics']>;

/** The data of the status page and the metrics, collected at each request. Times are ms of the wall clock. */
export function snapshotsOf(parts: SnapshotParts) {
  const { client, connection, mirror, store, poller, health, outcomes, publisher, clock } = parts;
  const { hasDeviceMetrics, isWatchOnly } = parts;
  const { statuses } = poller;

  /** How both sides of the bridge are. */
  function readiness() {
    return { cloud: health.cloud, broker: health.broker(publisher) };
  }

  /** The data of the metrics. */
  function metrics() {
    const { open_incidents: openIncidents, ...devices } = store.counts();
    return {
      readiness: readiness(),
      schedules: pollNames.map((poll) => ({
        poll,
        lastSuccessAt: statuses.records[poll].lastSuccessAt,
        polls: statuses.records[poll].counts,
      })),
      requests: client.counter.totals,
      pollWaitMs: client.traffic().pollWaitMs,
      devices,
      openIncidents,
      valveCommands: outcomes.valveCounts,
      published: connection.published,
      retainedTopics: mirror.size,
      /** Empty unless `http.device_metrics` is on. */
      valves: hasDeviceMetrics ? store.ids('sonic').flatMap((id) => valve(id) ?? []) : [],
    };
  }

  /** A valve with the name of its property, and when it was last read; null if it is not shown. */
  function valve(id: string) {
    const view = store.sonicView(id);
    if (view === null) return null;
    const property = store.devices.property.get(view.propertyId ?? '')?.name ?? null;
    return { view, property, readAt: readAt(id) };
  }

  /** When a sonic was last read, in ms since 1970; null if it was never read. */
  function readAt(sonicId: string): number | null {
    const at = store.devices.sonic.readAt(sonicId);
    return at === undefined ? null : at + clock.now() - clock.monotonic();
  }

  /** The data of the status page: the bridge itself, the polls and the account. */
  function status() {
    const { records, progress } = statuses;
    const { startedAt, reason } = health;
    const counts = store.counts();
    const incidents = store.ids('incident').flatMap((id) => store.incidents.get(id) ?? []);
    const found: Partial<Record<PollName, number>> = { ...counts, incidents: counts.open_incidents };
    return {
      startedAt,
      status: health.status,
      reason,
      readiness: readiness(),
      polls: pollNames.map((poll) => {
        const { lastSuccessAt, failure, consecutiveFailures } = records[poll];
        return {
          poll,
          lastSuccessAt,
          failure: failure?.message ?? null,
          failures: consecutiveFailures,
          /** Whether the first run is not finished and has not failed. */
          isPending: isPending(poll, records),
          /** How many records the account has; null for data of single valves. */
          records: found[poll] ?? null,
        };
      }),
      /** Why there is nothing to show, for people; null if there is something, or if the reason is not known. */
      emptiness: emptyAccount(store, records.properties.lastSuccessAt !== null),
      /** The progress of the first reading; empty once everything was read. */
      progress,
      /** Whether every list was read completely once, and it is known which records this bridge shows. */
      isComplete: store.isComplete,
      isWatchOnly,
      properties: store.ids('property').flatMap((id) => store.propertyView(id) ?? []),
      signals: store.ids('signal').flatMap((id) => store.signalView(id) ?? []),
      sonics: store.ids('sonic').flatMap((id) => store.sonicView(id) ?? []),
      incidents,
      unconfirmedSince: store.incidents.unconfirmedSince(incidents),
      /** Whether `incidents` is certainly complete. */
      areIncidentsFresh: store.incidents.areFresh,
      readAt,
    };
  }

  return { readiness, metrics, status };
}
