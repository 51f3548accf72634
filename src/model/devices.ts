import type { WithIncidents } from './incidents.ts';
import type { ShownPause } from './pause.ts';
import type { PressureTestDays } from './pressureTests.ts';
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
import type { AcceptedSettings } from './settings.ts';
import type { Usage } from './usage.ts';
import type { Valve } from './valve.ts';
import type { ValveRecord } from './valveCommand.ts';

/*
 * What everything else speaks about: the records of the cloud (`records.ts`), what the bridge makes of them, a file for each
 * (`incidents.ts`, `usage.ts`, `valve.ts`), and here the views. A view is a device with all that is known around it, which is
 * all that an entity may look at. Everything is data and pure functions.
 */

/** The kinds of records that have a device in Home Assistant and topics of their own. */
export const deviceKinds = ['bridge', 'property', 'signal', 'sonic'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** Those that the cloud has; parents first: Home Assistant makes a nameless device of one that it does not know. */
export const cloudKinds = ['property', 'signal', 'sonic'] as const;
export type CloudDeviceKind = (typeof cloudKinds)[number];

/** Why there is no signal to show for a sonic: it has none, or no list that was read has the one that it names. */
type NoSignal = 'none' | 'unknown';

/** Names of the kinds, for people. */
export const kindLabels: Readonly<Record<DeviceKind, string>> = {
  bridge: 'bridge',
  property: 'property',
  signal: 'hub',
  sonic: 'valve',
};

/** A sonic with all that is known around it. */
export interface SonicView extends WithIncidents {
  readonly kind: 'sonic';
  readonly sonic: Sonic;
  /** Whether it has no signal at all: the cloud has routes of their own for those. */
  readonly isWifi: boolean;
  readonly signal: Signal | NoSignal;
  /** Whether its signal is reachable; null while that is not known. One that has no signal needs none. */
  readonly isSignalReachable: boolean | null;
  /** Whether its link is said to be down by a single reading alone, which may be a flap. */
  readonly isFlap: boolean;
  readonly propertyId: string | null;
  /** Whether the cloud's lists have missed it for so long that its values are old. */
  readonly isStale: boolean;
  readonly valve: Valve | null;
  /** Seconds from the last confirmed command to its confirmation; null before the first. */
  readonly travelTimeS: number | null;
  readonly valveRecord: ValveRecord;
  /** Null where the cloud has none, undefined as long as it could not be asked. */
  readonly telemetry: Telemetry | null | undefined;
  /** When it last measured that no water runs, in Unix seconds, in this run or an earlier one; null if it never did. */
  readonly restedAt: number | null;
  /** Null where the cloud has none, undefined as long as it could not be asked. */
  readonly usage: Usage | null | undefined;
  readonly pressureTests: PressureTestDays | null | undefined;
  /** Of the last pressure test that this bridge has started; null before the first. */
  readonly pressureTestJobId: string | null;
}

/** A signal, and all that decides whether it is reachable. */
interface SignalLink {
  readonly signal: Signal;
  /** Whether its link is said to be down by a single reading alone, which may be a flap. */
  readonly isFlap: boolean;
  /** Whether an open incident says that it has lost the cloud, and its record was read before that. */
  readonly isCloudLost: boolean;
  /** Whether the cloud's lists have missed it for so long that its values are old. */
  readonly isStale: boolean;
}

/** A signal, with the open incidents that name it and no known sonic. */
export interface SignalView extends WithIncidents, SignalLink {
  readonly kind: 'signal';
  readonly propertyId: string | null;
  /** Null where the cloud has none, undefined as long as it could not be asked. */
  readonly hub: HubDetail | null | undefined;
}

/** A property, with the open incidents of everything in it. */
export interface PropertyView extends WithIncidents {
  readonly kind: 'property';
  readonly property: Property;
  /** Whether the cloud's lists have missed it for so long that its values are old. */
  readonly isStale: boolean;
  /** Null where the cloud does not show them, undefined as long as it could not be asked. */
  readonly settings: PropertySettings | null | undefined;
  readonly notifications: NotificationSettings | null | undefined;
  readonly accepted: AcceptedSettings;
  /** Of the automatic shut-off; undefined while the pauses of an earlier run are not known. */
  readonly pause: ShownPause | undefined;
  /** How long a pause is that is not given a time. */
  readonly pauseMinutes: number;
  /** What is in it, looked up when it is called. */
  readonly contents: () => {
    readonly signals: readonly SignalView[];
    readonly sonics: readonly SonicView[];
    /** Whether more valves may be in it: those that are in no property that is known. */
    readonly mayHaveMore: boolean;
  };
}

/** The status of the bridge, worst last. */
export const healthStatuses = ['ok', 'degraded', 'cloud_unreachable', 'auth_failed'] as const;
export type HealthStatus = (typeof healthStatuses)[number];

/** One of the two sides of the bridge: the cloud, or the broker. */
export interface SideStatus {
  /**
   * Its status now. `connecting`: it has neither worked nor failed since the start. `loading`: it answers, and the first
   * reading or publishing goes on.
   */
  readonly status: 'connecting' | 'loading' | 'up' | 'down';
  /** Wall clock, ms, when it last worked; null while it works, and if it never did. */
  readonly workedAt: number | null;
}

/** What the headline needs to know of the bridge itself. */
export interface BridgeFacts {
  readonly cloud: SideStatus;
  readonly broker: SideStatus;
  readonly health: HealthStatus | null;
  /** Whether the first reading of anything is still under way. */
  readonly isLoading: boolean;
  /** Whether every list was once read completely, so that there are no other valves. */
  readonly isWhole: boolean;
}

/** The bridge itself, with the open incidents that are in no property that is known. */
export interface BridgeView extends WithIncidents {
  readonly kind: 'bridge';
  readonly version: string;
  /** Null until the cloud has answered, or has had the time to. */
  readonly status: HealthStatus | null;
  readonly isCloudFresh: boolean;
  readonly logLevel: string;
  /** ISO 8601; refreshed now and then, not at each poll. */
  readonly lastUpdate: string | null;
  readonly requestsLastHour: number;
  /** Null where the cloud has none, undefined as long as it could not be asked. */
  readonly applianceCategories: ApplianceCategories['categories'] | null | undefined;
}

/** What the rows of the entity tables are given: a device with all that is known around it. */
export type DeviceView = BridgeView | PropertyView | SignalView | SonicView;

/** The id of the property that a record names itself, as some do beyond the interface document; null without one. */
export function namedProperty(record: object): string | null {
  const { property_id: id } = record as { readonly property_id?: unknown };
  return typeof id === 'string' ? id : null;
}

/** Whether the account is only a guest there, as far as is known: the cloud shows it no settings of either kind. */
export function isOfGuest({ settings, notifications }: PropertyView): boolean {
  return settings === null && notifications === null;
}

/** Whether the cloud calls the link connected; null when it says nothing. Any other word is no. */
export function isConnected(link: string | null): boolean | null {
  return link === null ? null : link === 'connected';
}

/** Whether a link counts as up: an unknown one is down, and a single reading that says so (a flap) is not. */
function isUp(link: string | null, isFlap: boolean): boolean {
  return isConnected(link) === true || (link !== null && isFlap);
}

/** What a signal's link is known to be: null when nothing is said of it, the reading is old, or an incident denies it. */
export function cloudLinkOf({ signal, isStale, isCloudLost }: SignalLink): boolean | null {
  const isUp = isStale ? null : isConnected(signal.cloud_connection);
  return isUp && isCloudLost ? null : isUp;
}

/** Whether the signal is reachable: its cloud link is up, no incident denies that, and what is known of it is not old. */
export function isSignalReachable({ signal, isFlap, isStale, isCloudLost }: SignalLink): boolean {
  return !isStale && !isCloudLost && isUp(signal.cloud_connection, isFlap);
}

/**
 * Whether the sonic is reachable: its radio link is up, its signal is reachable, and what is known of it is not old. A
 * Wi-Fi sonic has no radio link to a signal, so its `radio_connection` may be null.
 */
export function isSonicReachable({
  sonic,
  isWifi,
  isSignalReachable: isLinked,
  isStale,
  isFlap,
}: SonicView): boolean {
  const mayLackRadio = isWifi && sonic.radio_connection === null;
  return !isStale && isLinked === true && (mayLackRadio || isUp(sonic.radio_connection, isFlap));
}
