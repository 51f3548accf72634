import { severalAtOnce } from '../base/severalAtOnce.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { OperationName } from '../cloud/operations.ts';

/** So many devices are asked about at a time: there are slots for two requests, unless the user wants more. */
export const devicesAtOnce = 2;

/** A question that is asked for each device by itself; times are ms of the monotonic clock. */
export interface Question {
  readonly operation: OperationName;
  /** Whether others were left out that are not due: what befalls all that are asked need not befall all. */
  readonly isPart?: boolean;
  /** Asks for one device and takes in the answer. */
  readonly ask: (id: string) => Promise<void>;
  /** The cloud has no such thing of this device. */
  readonly without: (id: string, at: number) => void;
  /** Nobody knows: it could not be read. */
  readonly missed: (id: string, at: number) => void;
  /** The cloud offers no such thing. */
  readonly drop: () => void;
}

/** What asking takes. */
export interface Asking {
  readonly client: CloudClient;
  /** Whether the cloud still knows the device. */
  readonly isThere: (id: string) => Promise<boolean>;
  /** Waits until the next device's turn; none waits unless given. */
  readonly turn?: () => Promise<void>;
  readonly monotonic: () => number;
  readonly signal: AbortSignal;
}

/** Of how many devices how many could not be read, and why the first of these. */
export interface Shortfall {
  readonly failed: number;
  readonly wanted: number;
  readonly error: unknown;
}

/**
 * Asks for each device. Null is well, a shortfall says what could not be read; rejects where nothing could. A 404 is
 * about its device, unless each is one, and one of them is still there: then the route is given up.
 */
export async function askEach(
  ids: readonly string[],
  { operation, isPart = false, ask, without, missed, drop }: Question,
  { client, isThere, turn, monotonic, signal }: Asking,
): Promise<Shortfall | null> {
  const [first] = ids;
  const wanted = ids.length;
  const failures: unknown[] = [];
  const missing: unknown[] = [];
  const isOffered = () => client.availability(operation) === 'available';
  await severalAtOnce(devicesAtOnce, ids, async (id) => {
    if (!isOffered()) return;
    await turn?.();
    const at = monotonic();
    try {
      if (!signal.aborted) await ask(id);
    } catch (error) {
      const isMissing = error instanceof CloudError && error.kind === 'notFound';
      (isMissing ? missing : failures).push(error);
      if (isMissing) without(id, at);
      else missed(id, at);
    }
  });
  if (signal.aborted) throw signal.reason;
  const isNobodys = missing.length === wanted && !isPart;
  if (isNobodys && first !== undefined && (await isThere(first))) client.giveUp(operation);
  if (!isOffered()) {
    drop();
    return null;
  }
  const isNoneRead = missing.length + failures.length === wanted && wanted > 0;
  if (isNoneRead && !(isPart && failures.every(isAboutOne))) throw failures[0] ?? missing[0];
  return failures.length === 0 ? null : { failed: failures.length, wanted, error: failures[0] };
}

/** Whether another device may be answered all the same. */
function isAboutOne(error: unknown): boolean {
  return error instanceof CloudError && ['rejected', 'unreadable', 'forbidden'].includes(error.kind);
}
