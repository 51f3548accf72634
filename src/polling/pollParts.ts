import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { DeviceReads } from './deviceReads.ts';
import type { LocalDays } from './localDays.ts';
import type { PollStatuses } from './pollStatus.ts';

/** What all polls work with. */
export interface PollParts {
  readonly client: CloudClient;
  readonly store: Store;
  readonly state: StateFile;
  readonly statuses: PollStatuses;
  readonly reads: DeviceReads;
  readonly days: LocalDays;
  /** Aborts everything in progress when the bridge stops. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}
