import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { LocalDays } from './localDays.ts';
import type { PollStatuses } from './pollStatus.ts';

/** The operations that read a single device, each with how to remove its data from the store. */
export const drops = {
  read_hub: (store: Store) => store.drop('hubs'),
  read_telemetry: (store: Store) => store.drop('hub'),
  read_wifi_telemetry: (store: Store) => store.drop('wifi'),
  read_daily_usage: (store: Store) => store.drop('usage'),
  read_pressure_tests: (store: Store) => store.drop('pressureTests'),
};

export type DeviceOperation = keyof typeof drops;
export const deviceOperations = Object.keys(drops) as DeviceOperation[];

/** By operation: the devices that the cloud refuses to show to this account. */
export type RefusedDevices = Readonly<Record<DeviceOperation, Set<string>>>;

export function noneRefused(): RefusedDevices {
  return Object.fromEntries(deviceOperations.map((each) => [each, new Set<string>()])) as RefusedDevices;
}

/** A run of a poll. */
export interface PollRun {
  /** Whether it reads only what the run before could not read. */
  readonly isRetry: boolean;
  /** By request: the devices that were read, or refused, since the last run that was no retry. */
  readonly done: Map<string, Set<string>>;
}

export function newRun(): PollRun {
  return { isRetry: false, done: new Map() };
}

/** What all polls work with. */
export interface PollParts {
  readonly client: CloudClient;
  readonly store: Store;
  readonly state: StateFile;
  readonly statuses: PollStatuses;
  readonly refused: RefusedDevices;
  readonly days: LocalDays;
  /** Aborts everything in progress when the bridge stops. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}
