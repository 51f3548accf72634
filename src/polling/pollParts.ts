import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { LocalDays } from './localDays.ts';
import type { PollStatuses } from './pollStatus.ts';

/** What all reading of the cloud works with. */
export interface PollParts {
  readonly client: CloudClient;
  readonly store: Store;
  readonly state: StateFile;
  readonly statuses: PollStatuses;
  readonly days: LocalDays;
  /** Cancels what is in progress. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}
