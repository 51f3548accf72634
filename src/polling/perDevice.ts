import { type Clock, sleep } from '../base/clock.ts';
import { forEachLimit } from '../base/forEachLimit.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type CloudError, isMissing } from '../cloud/errors.ts';
import type { Store } from '../store/store.ts';

/** Requests for single devices in progress at a time; the other slots are for lists and commands. */
export const deviceConcurrency = 2;

/** The default pause between the requests for two of many devices, in ms. */
const maxGapMs = 100;

/** Up to so many devices are read without a pause. */
const maxDevicesWithoutGap = 20;

/** The operations that read one device each, and how the store shows nothing of what they read. */
const drops = {
  read_hub: (store: Store) => store.drop('hubs'),
  read_telemetry: (store: Store) => store.dropTelemetry(),
  read_wifi_telemetry: (store: Store) => store.dropTelemetry(true),
  read_daily_usage: (store: Store) => store.drop('usage'),
  read_pressure_tests: (store: Store) => store.drop('pressureTests'),
};

type DeviceOperation = keyof typeof drops;

/** A request that is sent for each device by itself; times are ms of the monotonic clock. */
export interface DeviceQuery {
  readonly operation: DeviceOperation;
  /** Reads one device and stores the answer to a request that is sent at that time. */
  readonly read: (id: string, sentAt: number) => Promise<void>;
  /** The cloud has no such data for this device, by a request that was sent at that time. */
  readonly onNone: (id: string, sentAt: number) => void;
}

export interface FetchOptions {
  readonly client: CloudClient;
  readonly store: Store;
  /** Called after each device, read or not. */
  readonly onProgress?: () => void;
  /** In which time all devices are to be read, in ms; many devices are spread over it. */
  readonly withinMs?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How many devices could not be read, and the error of the first of them. */
export interface PartialFailure {
  readonly failed: number;
  readonly wanted: number;
  readonly error: unknown;
}

/**
 * Reads each device. Resolves to null if all went well, or to what could not be read; rejects if nothing could be. A 404
 * or 405 is about its device, unless the client finds that the cloud does not offer the operation at all.
 */
export async function fetchPerDevice(
  ids: readonly string[],
  { operation, read, onNone }: DeviceQuery,
  { client, store, onProgress = () => {}, withinMs = 0, clock, signal }: FetchOptions,
): Promise<PartialFailure | null> {
  const wanted = ids.length;
  const gapMs = wanted <= maxDevicesWithoutGap ? 0 : Math.min(maxGapMs, withinMs / wanted);
  const failures: unknown[] = [];
  const missing: CloudError[] = [];
  let nextAt = clock.monotonic();
  const isOffered = () => client.availability(operation) === 'available';
  await forEachLimit(deviceConcurrency, ids, async (id) => {
    if (!isOffered()) return;
    const waitMs = nextAt - clock.monotonic();
    nextAt += gapMs;
    if (waitMs > 0) await sleep(clock, waitMs, signal).catch(() => {});
    const sentAt = clock.monotonic();
    try {
      if (!signal.aborted) await read(id, sentAt);
    } catch (error) {
      if (isMissing(error)) {
        missing.push(error);
        onNone(id, sentAt);
      } else failures.push(error);
    }
    onProgress();
  });
  if (signal.aborted) throw signal.reason;
  if (!isOffered()) {
    drops[operation](store);
    return null;
  }
  // The cloud may not have it for any device, or not offer it: the next lists tell.
  if (missing.length === wanted && client.isInDoubt(operation)) return null;
  const isNothingRead = missing.length + failures.length === wanted && wanted > 0;
  if (isNothingRead) throw failures[0] ?? missing[0];
  return failures.length === 0 ? null : { failed: failures.length, wanted, error: failures[0] };
}

/** Shows nothing of what the configuration says the cloud does not offer, so that no entity comes and goes at the start. */
export function dropUnavailable(client: CloudClient, store: Store): void {
  for (const operation of Object.keys(drops) as DeviceOperation[]) {
    if (client.availability(operation) !== 'available') drops[operation](store);
  }
}
