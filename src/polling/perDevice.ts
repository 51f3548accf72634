import { forEachLimit } from '../base/forEachLimit.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type CloudError, isMissing } from '../cloud/errors.ts';
import type { PollName } from '../model/polls.ts';
import type { ReadonlyDetails } from '../store/details.ts';
import type { Store } from '../store/store.ts';
import type { PollParts } from './pollParts.ts';
import { type PollProblem, toProblem } from './pollStatus.ts';

/** The operations that read a single device, each with how to remove its data from the store. */
const drops = {
  read_hub: (store: Store) => store.drop('hubs'),
  read_telemetry: (store: Store) => store.dropTelemetry(),
  read_wifi_telemetry: (store: Store) => store.dropTelemetry(true),
  read_daily_usage: (store: Store) => store.drop('usage'),
  read_pressure_tests: (store: Store) => store.drop('pressureTests'),
};

type DeviceOperation = keyof typeof drops;

/** A request that is sent for each device. Times are ms of the monotonic clock. */
export interface DeviceQuery {
  readonly operation: DeviceOperation;
  /** The poll whose progress it counts; null for hubs, which have no poll of their own. */
  readonly poll: PollName | null;
  /** Reads one device and stores the answer. The request is sent at `sentAt`. */
  readonly read: (id: string, sentAt: number) => Promise<void>;
  /** Called if the cloud has no such data for this device, according to a request sent at `sentAt`. */
  readonly onNone: (id: string, sentAt: number) => void;
}

/**
 * Reads each device. Resolves to null if all were read, or to a problem if some could not be read; rejects if none
 * could. A 404 or 405 means that its device has no such data, unless the client finds that the cloud does not offer the
 * operation.
 */
export async function queryDevices(
  { client, store, statuses, stopping, clock }: PollParts,
  ids: readonly string[],
  { operation, poll, read, onNone }: DeviceQuery,
): Promise<PollProblem | null> {
  let readCount = 0;
  const failures: unknown[] = [];
  const missing: CloudError[] = [];
  const isOffered = () => client.isOffered(operation);
  await forEachLimit(client.maxConcurrency, ids, async (id) => {
    if (!isOffered() || stopping.aborted) return;
    const sentAt = clock.monotonic();
    try {
      await read(id, sentAt);
    } catch (error) {
      if (!isMissing(error)) {
        failures.push(error);
        return;
      }
      missing.push(error);
      onNone(id, sentAt);
    }
    readCount += 1;
    if (poll) statuses.recordProgress(poll, readCount, ids.length);
  });
  if (stopping.aborted) throw stopping.reason;
  if (!isOffered()) {
    drops[operation](store);
    return null;
  }
  // Either the cloud has no data for any of these devices, or it does not offer the operation. Later runs will show
  // which.
  if (missing.length === ids.length && client.mayBeMissing(operation)) return null;
  const isNothingRead = missing.length + failures.length === ids.length && ids.length > 0;
  if (isNothingRead) throw failures[0] ?? missing[0];
  if (failures.length === 0) return null;
  const { message, key } = toProblem(failures[0]);
  return { message: `${failures.length} of ${ids.length} devices: ${message}`, key };
}

/** The shown sonics. Sonics that are not in the table yet come first. */
export function unknownFirst(store: Store, table: ReadonlyDetails<object>): string[] {
  const ids = store.ids('sonic');
  const unknown = new Set(ids.filter((id) => table.of(id) === undefined));
  return [...unknown, ...ids.filter((id) => !unknown.has(id))];
}

/**
 * Removes the data of operations that the configuration switches off. Otherwise entities would appear and vanish at the
 * start.
 */
export function dropUnavailable(client: CloudClient, store: Store): void {
  for (const operation of Object.keys(drops) as DeviceOperation[]) {
    if (!client.isOffered(operation)) drops[operation](store);
  }
}
