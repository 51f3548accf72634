import type { WithIncidents } from './incidents.ts';
import type { ShownPause } from './pause.ts';
import type { PressureTestDays } from './pressureTests.ts';
import {
  type ApplianceCategories,
  connectionStates,
  type HubDetail,
  type NotificationSettings,
  type Property,
  type PropertySettings,
  type Signal,
  type Sonic,
  type Telemetry,
} from './records.ts';
import type { AcceptedSettings } from './settings.ts';
import type { Usage } from './usage.ts';
import { movementOf, type Valve } from './valve.ts';
import type { ValveRecord } from './valveCommand.ts';
import { knownWord } from './words.ts';

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

export interface SonicView extends WithIncidents {
  readonly kind: 'sonic';
  readonly sonic: Sonic;
  /** Whether it is on Wi-Fi and so has no signal. The cloud has separate routes for these sonics. */
  readonly isWifi: boolean;
  readonly signal: Signal | NoSignal;
  /** Whether its signal is reachable; null if that is not known. True for a sonic that has no signal. */
  readonly isSignalReachable: boolean | null;
  /** Whether only a single reading says that its link is down. That may be a short flap. */
  readonly isFlap: boolean;
  /** The same of the link of its signal. */
  readonly isSignalFlap: boolean;
  readonly propertyId: string | null;
  /** Whether its record is out of date, because recent lists did not have it. */
  readonly isStale: boolean;
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

interface SignalLink {
  readonly signal: Signal;
  /** Whether only a single reading says that its link is down. That may be a short flap. */
  readonly isFlap: boolean;
  /** Whether an open incident says that it has lost the cloud, and its record was last read before that incident. */
  readonly isCloudLost: boolean;
  /** Whether its record is out of date, because recent lists did not have it. */
  readonly isStale: boolean;
}

/** A signal, with the open incidents that name it but no known sonic. */
export interface SignalView extends WithIncidents, SignalLink {
  readonly kind: 'signal';
  readonly propertyId: string | null;
  /** Null if the cloud has none, undefined if it was not read yet. */
  readonly hub: HubDetail | null | undefined;
}

/** A property, with the open incidents of everything in it. */
export interface PropertyView extends WithIncidents {
  readonly kind: 'property';
  readonly property: Property;
  /** Whether its record is out of date, because recent lists did not have it. */
  readonly isStale: boolean;
  /** Null if the cloud does not show them to this account, undefined if they were not read yet. */
  readonly settings: PropertySettings | null | undefined;
  readonly notifications: NotificationSettings | null | undefined;
  readonly accepted: AcceptedSettings;
  /** Since when the oldest of its open incidents was not confirmed, in ms since 1970; null if all are. */
  readonly unconfirmedSince: number | null;
  /** The pause of the automatic shut-off; undefined if the pauses of an earlier run are not known yet. */
  readonly pause: ShownPause | undefined;
  /** How long a pause lasts if the command names no time, in minutes. */
  readonly pauseMinutes: number;
  readonly contents: () => {
    readonly signals: readonly SignalView[];
    readonly sonics: readonly SonicView[];
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
  readonly isWhole: boolean;
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

/** Whether the cloud says that the link is connected; null if it says nothing, or a word that is not known here. */
export function isConnected(link: string | null): boolean | null {
  const word = knownWord(connectionStates, link);
  return word === null ? null : word === 'connected';
}

/** Whether a link counts as up: it does unless the cloud says that it is down, or says nothing at all. */
export function isLinkUp(link: string | null): boolean {
  return link !== null && isConnected(link) !== false;
}

/** The same, but a link that only a single reading says is down counts as up. */
function isUp(link: string | null, isFlap: boolean): boolean {
  return isLinkUp(link) || (link !== null && isFlap);
}

/** Whether a signal's link is up; null if the cloud does not say, the reading is old, or an incident contradicts it. */
export function cloudLinkOf({ signal, isStale, isCloudLost }: SignalLink): boolean | null {
  const isUp = isStale ? null : isConnected(signal.cloud_connection);
  return isUp && isCloudLost ? null : isUp;
}

/** Whether the signal is reachable: its cloud link is up, no incident contradicts that, and the reading is not old. */
export function isSignalReachable({ signal, isFlap, isStale, isCloudLost }: SignalLink): boolean {
  return !isStale && !isCloudLost && isUp(signal.cloud_connection, isFlap);
}

/** A Wi-Fi sonic has no radio link to a signal, so its `radio_connection` may be null. */
export function isSonicReachable({
  sonic,
  isWifi,
  isSignalReachable: isLinked,
  isStale,
  isFlap,
}: Omit<SonicView, 'isReporting'>): boolean {
  const mayLackRadio = isWifi && sonic.radio_connection === null;
  return !isStale && isLinked === true && (mayLackRadio || isUp(sonic.radio_connection, isFlap));
}

/**
 * The state of the valve that screens show. A movement ends with its command: if the valve does not arrive in time, it is
 * not known where it stands, even if the cloud still says that it moves.
 */
export function valveSeen({ valve, valveRecord: { stopped } }: SonicView): Valve | null {
  return stopped !== null && valve === movementOf[stopped] ? null : valve;
}
