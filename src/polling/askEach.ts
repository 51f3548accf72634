import { type Clock, sleep } from '../base/clock.ts';
import { severalAtOnce } from '../base/severalAtOnce.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type CloudError, isMissing } from '../cloud/errors.ts';
import type { OperationName } from '../cloud/operations.ts';

/** So many devices are asked about at a time: there are slots for two requests, unless the user wants more. */
export const devicesAtOnce = 2;

/** A question that is asked for each device by itself; times are ms of the monotonic clock. */
export interface Question {
  readonly operation: OperationName;
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
  /** One more was asked about, well or not. */
  readonly onAsked?: () => void;
  /** The time from one question to the next, at least, in ms; none unless given. */
  readonly gapMs?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Of how many devices how many could not be read, and why the first of these. */
export interface Shortfall {
  readonly failed: number;
  readonly wanted: number;
  readonly error: unknown;
}

/**
 * Asks for each device. Null is well, a shortfall says what could not be read; rejects where nothing could. A 404 or
 * 405 is about its device, unless each is one, and one of them is still there: then the route is given up.
 */
export async function askEach(
  ids: readonly string[],
  { operation, ask, without, missed, drop }: Question,
  { client, isThere, onAsked = () => {}, gapMs = 0, clock, signal }: Asking,
): Promise<Shortfall | null> {
  const [first] = ids;
  const wanted = ids.length;
  const failures: unknown[] = [];
  const missing: CloudError[] = [];
  let nextAt = clock.monotonic();
  const isOffered = () => client.availability(operation) === 'available';
  await severalAtOnce(devicesAtOnce, ids, async (id) => {
    if (!isOffered()) return;
    const waitMs = nextAt - clock.monotonic();
    nextAt += gapMs;
    if (waitMs > 0) await sleep(clock, waitMs, signal).catch(() => {});
    const at = clock.monotonic();
    try {
      if (!signal.aborted) await ask(id);
    } catch (error) {
      if (isMissing(error)) {
        missing.push(error);
        without(id, at);
      } else {
        failures.push(error);
        missed(id, at);
      }
    }
    onAsked();
  });
  if (signal.aborted) throw signal.reason;
  if (missing.length === wanted && first !== undefined && (await isThere(first)))
    client.giveUp(operation, missing[0]?.status);
  if (!isOffered()) {
    drop();
    return null;
  }
  const isNoneRead = missing.length + failures.length === wanted && wanted > 0;
  if (isNoneRead) throw failures[0] ?? missing[0];
  return failures.length === 0 ? null : { failed: failures.length, wanted, error: failures[0] };
}
