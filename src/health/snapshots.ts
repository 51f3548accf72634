import type { Clock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { CommandRouter } from '../commands/router.ts';
import type { Poller } from '../polling/poller.ts';
import { isJudged, pollNames, vitalPolls, wasPolled } from '../polling/pollStatus.ts';
import type { Store } from '../store/store.ts';
import type { HealthMonitor } from './healthMonitor.ts';
import type { MetricsSnapshot } from './metricsSnapshot.ts';
import { evaluateReadiness, type Readiness } from './readiness.ts';
import { type StatusSnapshot, statusSnapshot } from './statusSnapshot.ts';

/** What the snapshots are taken of. */
export interface SnapshotParts {
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly store: Store;
  readonly poller: Poller;
  readonly health: HealthMonitor;
  readonly commands: CommandRouter;
  readonly publisher: { readonly isShowingDevices: boolean; readonly hasShownDevices: boolean };
  readonly clock: Clock;
}

/** What HTTP shows of the bridge, gathered when somebody asks for it. */
export class Snapshots {
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** How the two sides of the bridge are doing. */
  readiness(): Readiness {
    const { connection, poller, health, publisher } = this.#parts;
    const { records } = poller.statuses;
    const readAt = Math.max(...vitalPolls.map((poll) => records[poll].lastSuccessAt ?? 0));
    return evaluateReadiness({
      cloud: {
        isFresh: health.isCloudFresh,
        status: health.status,
        reason: health.cloudReason,
        isTried: pollNames.some((poll) => wasPolled(records[poll])),
        isJudged: isJudged(records),
        readAt: readAt || null,
      },
      broker: {
        isConnected: connection.isConnected,
        trouble: connection.trouble,
        lostAt: health.brokerLostAt,
        isShown: publisher.hasShownDevices,
        isShowing: publisher.isShowingDevices,
      },
    });
  }

  /** What the bridge can tell in numbers. */
  metrics(): MetricsSnapshot {
    const { client, connection, retained, store, poller, commands } = this.#parts;
    const { open_incidents: openIncidents, ...devices } = store.counts();
    const { statuses } = poller;
    return {
      readiness: this.readiness(),
      schedules: pollNames.map((slice) => ({
        slice,
        lastSuccessAt: statuses.records[slice].lastSuccessAt,
        polls: statuses.counts(slice),
      })),
      requests: client.requestTotals,
      pollWaitMs: client.traffic().pollWaitMs,
      devices,
      openIncidents,
      valveCommands: commands.valveOutcomes,
      published: connection.published,
      retainedTopics: retained.size,
    };
  }

  /** All that the bridge knows. */
  status(): StatusSnapshot {
    const { store, poller, health, clock } = this.#parts;
    const { startedAt, status, reason } = health;
    return statusSnapshot(
      { startedAt, status, reason, readiness: this.readiness() },
      poller.statuses.records,
      poller.statuses.progress,
      store,
      clock.now() - clock.monotonic(),
    );
  }
}
