import { severalAtOnce } from '../base/severalAtOnce.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { OperationName } from '../cloud/operations.ts';
import { type Flaw, flawOf } from './flaw.ts';

/** What is asked for sonic by sonic; so many at a time leave room for the lists. */
const atOnce = 2;

/** A question that is asked for each sonic by itself; times are ms of the monotonic clock. */
export interface Question {
  readonly operation: OperationName;
  /** Whether others were left out that are not due: what befalls all that are asked need not befall all. */
  readonly isPart?: boolean;
  /** Asks for one sonic and takes in the answer. */
  readonly ask: (sonicId: string) => Promise<void>;
  /** The cloud has no such thing of this sonic. */
  readonly without: (sonicId: string, at: number) => void;
  /** Nobody knows: it could not be read. */
  readonly missed: (sonicId: string, at: number) => void;
  /** The cloud offers no such thing. */
  readonly drop: () => void;
}

/** What asking takes. */
export interface Asking {
  readonly client: CloudClient;
  /** Whether the cloud still knows the sonic. */
  readonly isThere: (sonicId: string) => Promise<boolean>;
  /** Waits until the next sonic's turn. */
  readonly turn: () => Promise<void>;
  readonly monotonic: () => number;
  readonly signal: AbortSignal;
}

/**
 * Asks for each sonic. Null is well, a flaw says what could not be read; rejects where nothing could. A 404 is about its
 * sonic, unless each is one, and one of them is still there: then the route is given up.
 */
export async function askEach(
  sonicIds: readonly string[],
  { operation, isPart = false, ask, without, missed, drop }: Question,
  { client, isThere, turn, monotonic, signal }: Asking,
): Promise<Flaw | null> {
  const [first] = sonicIds;
  const wanted = sonicIds.length;
  const failures: unknown[] = [];
  const missing: unknown[] = [];
  const isOffered = () => client.availability(operation) === 'available';
  await severalAtOnce(atOnce, sonicIds, async (id) => {
    if (!isOffered()) return;
    await turn();
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
  if (failures.length === 0) return null;
  const { words, gist } = flawOf(failures[0]);
  return { words: `${failures.length} of ${wanted} sonics: ${words}`, gist };
}

/** Whether another sonic may be answered all the same. */
function isAboutOne(error: unknown): boolean {
  return error instanceof CloudError && ['rejected', 'unreadable', 'forbidden'].includes(error.kind);
}
