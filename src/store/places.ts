import { type CloudDeviceKind, cloudKinds, namedProperty } from '../model/devices.ts';
import { IdMap, isSameId } from '../model/ids.ts';
import type { Property, Signal, Sonic } from '../model/records.ts';
import type { ReadonlyFilter } from './propertyFilter.ts';
import type { ReadonlySignalLists } from './signalLists.ts';
import type { ReadonlyTable } from './table.ts';

/*
 * Where each device is, and whether this bridge shows it: one function of what the lists say.
 *
 * 1. A signal is in the property whose list has it.
 * 2. A sonic is where its signal is.
 * 3. A sonic on Wi-Fi is in the property that its record names.
 * 4. Everything else is unplaced. It may be in any property, so in an account with one property it is in that one.
 *
 * A filter hides what is in another property. It hides what is unplaced only while the lists of the selected properties
 * show that it is in none of them.
 */

/** All devices of the account, shown by this bridge or not. */
export interface ReadonlyDevices {
  readonly property: ReadonlyTable<Property>;
  readonly signal: ReadonlyTable<Signal>;
  readonly sonic: ReadonlyTable<Sonic>;
}

export interface DeviceLists {
  readonly devices: ReadonlyDevices;
  readonly signalLists: ReadonlySignalLists;
  /** The sonics on Wi-Fi: the cloud lists them separately. */
  readonly wifi: ReadonlyMap<string, true>;
  readonly areListsAsked: boolean;
}

interface Place {
  readonly id: string;
  /** Null if it is unplaced. */
  readonly propertyId: string | null;
  readonly isShown: boolean;
}

interface SonicPlace extends Place {
  readonly isWifi: boolean;
  /** Its signal; null if it is on Wi-Fi or names none. */
  readonly hub: string | null;
  /** When it was first read with another signal than before, in ms of the monotonic clock; minus infinity if it never was. */
  readonly newHubAt: number;
}

interface Contents {
  readonly signals: string[];
  readonly sonics: string[];
}

export interface Places {
  readonly property: ReadonlyMap<string, Place>;
  readonly signal: ReadonlyMap<string, Place>;
  readonly sonic: ReadonlyMap<string, SonicPlace>;
  readonly shown: Readonly<Record<CloudDeviceKind, readonly string[]>>;
  /** The account's only property; null if it has several, or if not all are known. */
  readonly onlyProperty: string | null;
  /** By signal, the property that lists it. */
  readonly owners: ReadonlyMap<string, string>;
  /** By property, or the empty text for none. */
  readonly contents: ReadonlyMap<string, Contents>;
  readonly sonicsOn: ReadonlyMap<string, readonly string[]>;
  /**
   * Whether the signals of all shown properties were read or refused at least once. After that, a device without a property
   * really has none. Before that, its property may not have been read yet.
   */
  readonly areHubListsRead: boolean;
  readonly areListsAsked: boolean;
  /** Whether the account has unplaced sonics, shown or not. */
  readonly hasUnplacedSonics: boolean;
  /** The kinds of which a complete list was read. A device that comes later is new. */
  readonly completeKinds: readonly CloudDeviceKind[];
}

const never = Number.NEGATIVE_INFINITY;

export const noPlaces: Places = {
  property: new IdMap(),
  signal: new IdMap(),
  sonic: new IdMap(),
  shown: { property: [], signal: [], sonic: [] },
  onlyProperty: null,
  owners: new IdMap(),
  contents: new IdMap(),
  sonicsOn: new IdMap(),
  areHubListsRead: false,
  areListsAsked: false,
  hasUnplacedSonics: false,
  completeKinds: [],
};

export function placesOf(
  { devices, signalLists, wifi, areListsAsked }: DeviceLists,
  filter: ReadonlyFilter,
  before: Places,
): Places {
  const { property, signal, sonic } = devices;
  const ids = property.ids.filter((id) => filter.isSelected(id));
  const selected = new IdMap(ids.map((id) => [id, true]));
  const onlyProperty = property.isComplete && property.size === 1 ? (property.ids[0] ?? null) : null;
  const isAnswered = (id: string) => signalLists.completeAt(id) !== null || signalLists.isRefused(id);
  const areHubListsRead = before.areHubListsRead || (property.isComplete && ids.every(isAnswered));
  // A list that is refused, or older than the signal of a sonic, must not hide a leak: the device may be in its property.
  const mayBeIn = (id: string, newHubAt: number) =>
    signalLists.isRefused(id) || (signalLists.completeAt(id) ?? Number.POSITIVE_INFINITY) <= newHubAt;
  const isShown = (propertyId: string | null, newHubAt = never) => {
    if (!filter.isOn) return true;
    if (propertyId !== null) return selected.has(propertyId);
    return areHubListsRead ? ids.some((id) => mayBeIn(id, newHubAt)) : areListsAsked;
  };
  // What is in a property that has left the account is not in the only one that is left.
  const placeBy = (named: string | null) =>
    named === null ? onlyProperty : (property.get(named)?.id ?? null);
  const owners = signalLists.owners();

  const signals = new IdMap<Place>();
  for (const id of [...signal.ids, ...owners.keys()]) {
    if (signals.has(id)) continue;
    const propertyId = placeBy(owners.get(id) ?? null);
    signals.set(id, { id, propertyId, isShown: isShown(propertyId) && signal.has(id) });
  }

  const sonicPlace = (record: Sonic): SonicPlace => {
    const { id } = record;
    const former = before.sonic.get(id);
    const isWifi = wifi.has(id);
    const hub = isWifi ? null : record.signal_id;
    const hasNewHub = former?.isShown && former.hub !== hub && !isSameId(former.hub, hub);
    const newHubAt = (hasNewHub ? sonic.readAt(id) : former?.newHubAt) ?? never;
    const propertyId = placeBy(isWifi ? namedProperty(record) : (owners.get(hub ?? '') ?? null));
    return { id, isWifi, hub, propertyId, isShown: isShown(propertyId, newHubAt), newHubAt };
  };

  const sonics = new IdMap<SonicPlace>();
  const sonicsOn = new IdMap<string[]>();
  for (const record of sonic.records) {
    const place = sonicPlace(record);
    sonics.set(record.id, place);
    if (place.hub !== null) addTo(sonicsOn, place.hub, () => []).push(record.id);
  }
  const properties = new IdMap<Place>();
  for (const id of property.ids) {
    properties.set(id, { id, propertyId: id, isShown: isShown(id) });
  }
  const contents = new IdMap<Contents>();
  const contentsOf = (id: string | null) => addTo(contents, id ?? '', () => ({ signals: [], sonics: [] }));
  for (const { id, propertyId, isShown } of signals.values()) {
    if (isShown) contentsOf(propertyId).signals.push(id);
  }
  for (const { id, propertyId, isShown } of sonics.values()) {
    if (isShown) contentsOf(propertyId).sonics.push(id);
  }
  const shownOf = (places: ReadonlyMap<string, Place>) =>
    [...places.values()].flatMap(({ id, isShown }) => (isShown ? id : []));
  return {
    property: properties,
    signal: signals,
    sonic: sonics,
    shown: { property: shownOf(properties), signal: shownOf(signals), sonic: shownOf(sonics) },
    onlyProperty,
    owners,
    contents,
    sonicsOn,
    areHubListsRead,
    areListsAsked,
    hasUnplacedSonics: [...sonics.values()].some(({ propertyId }) => propertyId === null),
    completeKinds: cloudKinds.filter((kind) => devices[kind].isComplete),
  };
}

function addTo<V>(map: Map<string, V>, id: string, make: () => V): V {
  const known = map.get(id) ?? make();
  map.set(id, known);
  return known;
}

/** A device that has come, left or moved, as far as this bridge shows it. */
export interface Move {
  readonly kind: CloudDeviceKind;
  readonly id: string;
  /** Undefined if it was not shown. */
  readonly was: Place | undefined;
  /** Undefined if it is not shown. */
  readonly is: Place | undefined;
}

export function movesBetween(before: Places, after: Places): Move[] {
  return cloudKinds.flatMap((kind) => {
    const moveOf = (id: string): Move | [] => {
      const was = shownPlace(before[kind], id);
      const is = shownPlace(after[kind], id);
      return !was === !is && was?.propertyId === is?.propertyId ? [] : { kind, id, was, is };
    };
    const isNew = (id: string) => !shownPlace(before[kind], id);
    return [...before.shown[kind], ...after.shown[kind].filter(isNew)].flatMap(moveOf);
  });
}

function shownPlace(places: ReadonlyMap<string, Place>, id: string): Place | undefined {
  const place = places.get(id);
  return place?.isShown ? place : undefined;
}
