import type { DeviceKind } from '../model/devices.ts';
import type { Incident } from '../model/records.ts';

/** Kinds of devices that the cloud has; parents first: Home Assistant makes a nameless device of one that it does not know. */
export const cloudKinds = ['property', 'signal', 'sonic'] as const satisfies readonly DeviceKind[];

export type CloudDeviceKind = (typeof cloudKinds)[number];

/** What a reading of a list brought. */
export interface Reading<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read; only such a reading removes anything. */
  readonly isComplete: boolean;
  /** When it was begun, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** Something that a reading changed and that is worth telling. */
export type Happening =
  | {
      readonly event: 'device_added' | 'device_removed';
      readonly kind: CloudDeviceKind;
      readonly record: object;
    }
  | {
      /** Moved: it was open already, and another bridge's. */
      readonly event: 'incident_opened' | 'incident_moved' | 'incident_changed' | 'incident_closed';
      readonly record: Incident;
    };
