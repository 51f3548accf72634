import { forEachLimit } from '../base/forEachLimit.ts';
import { listNames } from '../base/listNames.ts';
import type { CloudClient } from '../cloud/client.ts';
import { isMissing, isPermanent } from '../cloud/errors.ts';
import { type CloudDeviceKind, kindLabels } from '../model/devices.ts';
import type { PollName } from '../model/polls.ts';
import type { ReadonlyDetails } from '../store/details.ts';
import type { Store } from '../store/store.ts';
import { type DeviceOperation, deviceOperations, drops, type PollParts, type PollRun } from './pollParts.ts';
import { type PollProblem, toProblem } from './pollProblem.ts';

/** A request that is sent for each device. Times are ms of the monotonic clock. */
export interface DeviceQuery {
  readonly operation: DeviceOperation;
  /** The poll whose progress it counts; null for hubs, which have no poll of their own. */
  readonly poll: PollName | null;
  /** Reads one device and stores the answer. The request is sent at `sentAt`. */
  readonly read: (id: string, sentAt: number) => Promise<void>;
  /** Called if the cloud has no such data for this device, or shows none, according to a request sent at `sentAt`. */
  readonly onNone: (id: string, sentAt: number) => void;
}

interface DueDevices {
  readonly kind: CloudDeviceKind;
  readonly request: string;
  readonly ids: readonly string[];
}

/** Reads each device that the run has not read yet. The problem names those that could not be read. */
export async function readEach(
  { client, store, stopping }: PollParts,
  { done }: PollRun,
  { kind, request, ids }: DueDevices,
  readOne: (id: string) => Promise<PollProblem | null>,
): Promise<PollProblem | null> {
  const failed = new Map<string, PollProblem>();
  const read = done.get(request) ?? new Set();
  done.set(request, read);
  const due = ids.filter((id) => !read.has(id));
  await forEachLimit(client.maxConcurrency, due, async (id) => {
    if (stopping.aborted) return;
    const problem = await readOne(id).catch(toProblem);
    if (problem) failed.set(id, problem);
    else read.add(id);
  });
  if (stopping.aborted) throw stopping.reason;
  const [first] = failed.values();
  if (!first) return null;
  const names = listNames([...failed.keys()].map((id) => store.label(kind, id)));
  return { ...first, message: `${first.message}, for ${kindLabels[kind]} ${names}` };
}

/**
 * Reads each device. Resolves to null if all were read, or to a problem if some could not be read; rejects if none
 * could. A 403, 404 or 405 means that this account has no such data of the device, unless the client finds that the cloud
 * does not offer the operation.
 */
export async function queryDevices(
  parts: PollParts,
  run: PollRun,
  ids: readonly string[],
  { operation, poll, read, onNone }: DeviceQuery,
): Promise<PollProblem | null> {
  const { client, store, statuses, refused, clock } = parts;
  const kind = operation === 'read_hub' ? 'signal' : 'sonic';
  let readCount = 0;
  const failures: unknown[] = [];
  const none: unknown[] = [];
  const isOffered = () => client.isOffered(operation);
  const problem = await readEach(parts, run, { kind, request: operation, ids }, async (id) => {
    if (!isOffered()) return null;
    const sentAt = clock.monotonic();
    try {
      await read(id, sentAt);
      refused[operation].delete(id);
    } catch (error) {
      if (!isMissing(error) && !isPermanent(error)) {
        failures.push(error);
        throw error;
      }
      none.push(error);
      if (isMissing(error)) refused[operation].delete(id);
      else refused[operation].add(id);
      onNone(id, sentAt);
    }
    readCount += 1;
    if (poll) statuses.recordProgress(poll, readCount, ids.length);
    return null;
  });
  if (!isOffered()) {
    drops[operation](store);
    return null;
  }
  // Perhaps the cloud does not offer the operation. Later runs will show that.
  if (none.length === ids.length && none.every(isMissing) && client.mayBeMissing(operation)) return null;
  const isNothingRead = !run.isRetry && none.length + failures.length === ids.length;
  if (isNothingRead && ids.length > 0) throw failures[0] ?? none[0];
  return problem;
}

/** The shown sonics. Sonics that are not in the table yet come first. */
export function unknownFirst(store: Store, table: ReadonlyDetails<object>): string[] {
  const ids = store.ids('sonic');
  const unknown = new Set(ids.filter((id) => table.of(id) === undefined));
  return [...unknown, ...ids.filter((id) => !unknown.has(id))];
}

/** Removes the data of operations that are switched off. Otherwise entities would appear and vanish at the start. */
export function dropUnavailable(client: CloudClient, store: Store): void {
  for (const operation of deviceOperations) {
    if (!client.isOffered(operation)) drops[operation](store);
  }
}
