import type { Clock } from '../base/clock.ts';
import type { CloudDeviceKind } from '../model/devices.ts';
import { IdMap } from '../model/ids.ts';
import type { PollName } from '../model/polls.ts';
import { type PressureTestDays, withoutToday } from '../model/pressureTests.ts';
import type {
  HubDetail,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
} from '../model/records.ts';
import { withoutSettings } from '../model/settings.ts';
import { type Usage, withoutPresent } from '../model/usage.ts';
import type { Kept } from '../state/sections.ts';
import { DetailTable, TelemetryTable } from './details.ts';
import { OpenIncidents } from './incidents.ts';
import { noPlaces, type Places } from './places.ts';
import { PropertyFilter } from './propertyFilter.ts';
import { SignalLists } from './signalLists.ts';
import { Table } from './table.ts';
import { ValveRecords } from './valveRecords.ts';

/** Discovery is planned for these: devices by kind, and open incidents. */
export type PlannedKind = CloudDeviceKind | 'incident';

/** What is read device by device, besides telemetry. */
export interface DetailRecords {
  readonly settings: PropertySettings;
  readonly notifications: NotificationSettings;
  readonly hubs: HubDetail;
  readonly usage: Usage;
  readonly pressureTests: PressureTestDays;
}

export type DetailName = keyof DetailRecords;

/** The kind of device that shows each. */
export const detailKinds = {
  settings: 'property',
  notifications: 'property',
  hubs: 'signal',
  usage: 'sonic',
  pressureTests: 'sonic',
} as const satisfies Record<DetailName, CloudDeviceKind>;
const detailNames = Object.keys(detailKinds) as DetailName[];

/** A table whose records grow stale, even if its poll reads nothing. */
interface Aging {
  /** Records that were read before that time are too old. Returns whether this makes anything too old. */
  readonly markStale: (readBefore: number) => boolean;
}

/** All data of the account. Only the store writes here, and emits an event for each change. */
export class Account {
  /** All devices of the account, shown by this bridge or not. */
  readonly devices = {
    property: new Table<Property>(),
    signal: new Table<Signal>(),
    sonic: new Table<Sonic>(),
  };
  readonly filter: PropertyFilter;
  readonly signalLists = new SignalLists();
  /** The sonics that the cloud lists among those on Wi-Fi. */
  readonly wifi = new IdMap<true>();
  /** Whether all lists were requested, whatever the cloud answered. From then on, a filter hides only what it surely may. */
  areListsAsked = false;
  /** Where each device is, by the lists that were stored last. */
  places: Places = noPlaces;
  readonly incidents: OpenIncidents;
  readonly valveRecords: ValveRecords;
  readonly kept: Kept;
  readonly details: { readonly [Name in DetailName]: DetailTable<DetailRecords[Name]> } = {
    settings: new DetailTable(withoutSettings),
    notifications: new DetailTable(withoutSettings),
    hubs: new DetailTable<HubDetail>(() => undefined),
    usage: new DetailTable(withoutPresent),
    pressureTests: new DetailTable(withoutToday),
  };
  readonly telemetry = { hub: new TelemetryTable(), wifi: new TelemetryTable() };
  /** By sonic: the job of the last pressure test that this bridge has started. */
  readonly pressureTestJobs = new Map<string, string>();
  readonly readBy: Readonly<Record<PollName, readonly Aging[]>>;

  /** `onRecord` is called when a command of a valve was recorded. */
  constructor(selection: readonly string[], kept: Kept, clock: Clock, onRecord: (sonicId: string) => void) {
    const shownValve = (id: string) =>
      this.places.sonic.get(id)?.isShown ? this.devices.sonic.get(id) : undefined;
    this.valveRecords = new ValveRecords({ kept, clock, shownValve, onRecord });
    this.kept = kept;
    this.filter = new PropertyFilter(selection);
    const isFilterOn = this.filter.isOn;
    this.incidents = new OpenIncidents(
      () => ({
        devices: this.devices,
        isFilterOn,
        areHubsAsked: (id) => this.signalLists.isAsked(id),
        areHubsListed: (id) => this.signalLists.completeAt(id) !== null,
        places: this.places,
      }),
      clock,
    );
    const { devices, details } = this;
    this.readBy = {
      properties: [devices.property, this.signalLists, details.settings, details.notifications, details.hubs],
      signals: [devices.signal],
      sonics: [devices.sonic, this.valveRecords],
      incidents: [this.incidents],
      // Measured values expire by themselves.
      telemetry: [],
      usage: [details.usage],
      pressure_tests: [details.pressureTests],
    };
  }

  /** Forgets all about a device that is no longer shown, except its record. */
  forgetDetails(kind: CloudDeviceKind, id: string): void {
    for (const name of detailNames) if (detailKinds[name] === kind) this.details[name].forget(id);
    if (kind !== 'sonic') return;
    const { telemetry, valveRecords } = this;
    for (const table of [telemetry.hub, telemetry.wifi, valveRecords]) table.forget(id);
    this.pressureTestJobs.delete(id);
    this.kept.rested.delete(id);
  }
}
