import type { Clock } from '../base/clock.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { Store } from '../store/store.ts';
import type { LocalDays } from './localDays.ts';
import { type DeviceQuery, fetchPerDevice } from './perDevice.ts';
import { type PollProblem, type PollStatuses, type SonicPollName, toProblem } from './pollStatus.ts';

/** What the polls that send one request for each sonic work with. */
export interface SonicPollParts {
  readonly client: CloudClient;
  readonly store: Store;
  readonly statuses: PollStatuses;
  readonly days: LocalDays;
  /** Cancels what is in progress. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** A machine whose clock is not set yet says that it is 1970. */
const minPlausibleTime = Date.UTC(2024, 0);

/** A clock that is days off would close months that are not over, or show past days as today. */
const maxClockErrorMs = 24 * 3_600_000;

/**
 * Sends the query for each of the sonics; resolves to what could not be read. Rejects if nothing could be read.
 */
export async function querySonics(
  { client, store, statuses, signal, clock }: SonicPollParts,
  poll: SonicPollName,
  sonicIds: readonly string[],
  query: DeviceQuery,
): Promise<PollProblem | null> {
  let read = 0;
  const failure = await fetchPerDevice(sonicIds, query, {
    client,
    store,
    onProgress: () => statuses.recordProgress(poll, ++read, sonicIds.length),
    // The last sonic is read well before the first is due again, even if as many Wi-Fi sonics follow.
    withinMs: 0.4 * statuses.periodMs(poll),
    clock,
    signal,
  });
  if (failure === null) return null;
  const { message, key } = toProblem(failure.error);
  return { message: `${failure.failed} of ${failure.wanted} sonics: ${message}`, key };
}

/** The sonics with those first of which nothing is known yet. */
export function unknownFirst(store: Store, key: 'usage' | 'pressureTests'): string[] {
  const ids = store.ids('sonic');
  const unknown = new Set(ids.filter((id) => store[key].of(id) === undefined));
  return [...unknown, ...ids.filter((id) => !unknown.has(id))];
}

/** Why data cannot be read day by day; null if the clock of this machine is plausible. */
export function clockProblem({ client, clock }: SonicPollParts): PollProblem | null {
  const isWrong = clock.now() < minPlausibleTime || Math.abs(client.clockAheadMs) > maxClockErrorMs;
  if (!isWrong) return null;
  const date = new Date(clock.now()).toISOString().slice(0, 10);
  return {
    message: `the clock of this computer is wrong (${date}). Water usage cannot be read`,
    key: 'the clock of this computer is wrong',
  };
}
