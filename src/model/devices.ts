import type { WithIncidents } from './incidents.ts';
import type { ShownPause } from './pause.ts';
import type { PressureTestDays } from './pressureTests.ts';
import { isConnected, type Reach } from './reach.ts';
import type {
  ApplianceCategories,
  HubDetail,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
  Telemetry,
} from './records.ts';
import type { Usage } from './usage.ts';
import { movementOf, type Valve } from './valve.ts';
import type { ValveRecord } from './valveCommand.ts';

/*
 * The terms that all rooms share. `records.ts` has the records of the cloud. Files such as `incidents.ts`, `usage.ts`
 * and `valve.ts` say what the bridge makes of them. This file has the views. A view is a device with all related data,
 * and an entity may only use its view. Everything here is data and pure functions.
 */

/** The kinds of records that have a device in Home Assistant and topics of their own. */
export const deviceKinds = ['bridge', 'property', 'signal', 'sonic'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** The cloud's devices, parents first: Home Assistant makes an unknown parent without a name. */
export const cloudKinds = ['property', 'signal', 'sonic'] as const;
export type CloudDeviceKind = (typeof cloudKinds)[number];

/** Why a sonic has no signal to show. `none`: it needs none. `unknown`: no list so far has the signal that it names. */
type NoSignal = 'none' | 'unknown';

export const kindLabels: Readonly<Record<DeviceKind, string>> = {
  bridge: 'bridge',
  property: 'property',
  signal: 'hub',
  sonic: 'valve',
};

/** Whether a hub or a valve can be reached. */
interface Reachable {
  readonly reach: Reach;
  /** Whether only a single reading says that its link or that of its hub is down. That may be a short flap. */
  readonly isChecked: boolean;
}

export interface SonicView extends WithIncidents, Reachable {
  readonly kind: 'sonic';
  readonly sonic: Sonic;
  /** Whether it is on Wi-Fi and so has no signal. The cloud has separate routes for these sonics. */
  readonly isWifi: boolean;
  readonly signal: Signal | NoSignal;
  readonly propertyId: string | null;
  readonly valve: Valve | null;
  /** Seconds from the last confirmed command to its confirmation; null if there was none. */
  readonly travelTimeS: number | null;
  readonly valveRecord: ValveRecord;
  /** Null if the cloud has none, undefined if they were not read yet. */
  readonly telemetry: Telemetry | null | undefined;
  /** When it last measured that no water runs, in this run or an earlier one, in Unix seconds; null if it never did. */
  readonly restedAt: number | null;
  /** Null if the cloud has none, undefined if they were not read yet. */
  readonly usage: Usage | null | undefined;
  readonly pressureTests: PressureTestDays | null | undefined;
  /** The job of the last pressure test that this bridge has started; null if there was none. */
  readonly pressureTestJobId: string | null;
}

/** A signal, with the open incidents that name it but no known sonic. */
export interface SignalView extends WithIncidents, Reachable {
  readonly kind: 'signal';
  readonly signal: Signal;
  readonly propertyId: string | null;
  /** Null if the cloud has none, undefined if it was not read yet. */
  readonly hub: HubDetail | null | undefined;
}

/** A property, with the open incidents of everything in it. */
/** A setting, a pause, a test or an action of an alert that was not made as a message asked. */
export interface FailedChange {
  /** In ms since 1970. */
  readonly at: number;
  readonly reason: string;
}

export interface PropertyView extends WithIncidents {
  readonly kind: 'property';
  readonly property: Property;
  /** Whether its record is out of date, because recent lists did not have it. */
  readonly isStale: boolean;
  /** Null if the cloud does not show them to this account, undefined if they were not read yet. */
  readonly settings: PropertySettings | null | undefined;
  readonly notifications: NotificationSettings | null | undefined;
  /** Since when the oldest of its open incidents was not confirmed, in ms since 1970; null if all are. */
  readonly unconfirmedSince: number | null;
  /** The pause of the automatic shut-off; undefined if the pauses of an earlier run are not known yet. */
  readonly pause: ShownPause | undefined;
  /** The last change that was refused or has failed, for some minutes; null if there is none. */
  readonly failedChange: FailedChange | null;
  readonly contents: {
    readonly signals: readonly SignalView[];
    readonly sonics: readonly SonicView[];
    /** The shown valves that are in no known property, and so may be in this one. */
    readonly strays: readonly SonicView[];
    /** Whether it may have more valves: some valves of the account are in no known property. */
    readonly mayHaveMore: boolean;
  };
}

/** The statuses of the bridge, the worst last. */
export const healthStatuses = ['ok', 'degraded', 'cloud_unreachable', 'auth_failed'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** How one side of the bridge is: the cloud or the broker. */
export interface Side {
  /** `connecting`: no outcome since the start. `loading`: it answers, and the first reading or publishing goes on. */
  readonly status: 'connecting' | 'loading' | 'up' | 'down';
  /** Whether the cloud's data is fresh, or the devices are published, and no problem stops this side. */
  readonly isReady: boolean;
  /** Why it is not ready, for people; null if it is. */
  readonly reason: string | null;
  /** When it last worked, in wall-clock ms; null if it works now, or has never worked. */
  readonly workedAt: number | null;
}

/** The facts about the bridge itself that the headline needs. */
export interface BridgeFacts {
  readonly cloud: Pick<Side, 'status' | 'workedAt'>;
  readonly broker: Pick<Side, 'status' | 'workedAt'>;
  readonly health: HealthStatus | null;
  readonly isLoading: boolean;
  /** Whether every list was read completely once, so that all valves are known. */
  readonly isComplete: boolean;
  /** Whether `control` forbids to move valves. */
  readonly isWatchOnly: boolean;
}

/** The bridge itself, with the open incidents that are in no known property. */
export interface BridgeView extends WithIncidents {
  readonly kind: 'bridge';
  readonly version: string;
  /** Null before the first evaluation. */
  readonly status: HealthStatus | null;
  readonly isCloudFresh: boolean;
  readonly logLevel: string;
  /** ISO 8601; renewed from time to time, not at each poll. */
  readonly lastUpdate: string | null;
  readonly requestsLastHour: number;
  /** Null if the cloud has none, undefined if they were not read yet. */
  readonly applianceCategories: ApplianceCategories['categories'] | null | undefined;
}

/** The input of the rows of the entity tables: a device with all related data. */
export type DeviceView = BridgeView | PropertyView | SignalView | SonicView;

/**
 * The id of the property that a record names; null if it names none. Some records do, beyond the interface document.
 */
export function namedProperty(record: object): string | null {
  const { property_id: id } = record as { readonly property_id?: unknown };
  return typeof id === 'string' ? id : null;
}

/** Whether the account seems to be only a guest of the property: the cloud shows it no settings of either kind. */
export function isOfGuest({ settings, notifications }: PropertyView): boolean {
  return settings === null && notifications === null;
}

/** Whether a signal's link is up; null if the cloud does not say, the reading is old, or an incident contradicts it. */
export function cloudLinkOf({ signal, reach }: SignalView): boolean | null {
  const isUp = reach === 'stale' ? null : isConnected(signal.cloud_connection);
  return isUp && reach === 'offline' ? null : isUp;
}

/**
 * The state of the valve that screens show. A movement ends with its command: if the valve does not arrive in time, it is
 * not known where it stands, even if the cloud still says that it moves.
 */
export function valveSeen({ valve, valveRecord: { stopped } }: SonicView): Valve | null {
  return stopped !== null && valve === movementOf[stopped] ? null : valve;
}
