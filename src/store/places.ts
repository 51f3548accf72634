import { type CloudDeviceKind, cloudKinds, namedProperty } from '../model/devices.ts';
import { IdMap, isSameId } from '../model/ids.ts';
import type { Property, Signal, Sonic } from '../model/records.ts';
import type { ReadonlyFilter } from './propertyFilter.ts';
import type { ReadonlySignalLists } from './signalLists.ts';
import type { ReadonlyTable } from './table.ts';

/*
 * Where each device is (property ← signal ← sonic), and whether this bridge shows it: one function of what the lists say. Only
 * the list of a property's signals shows what is in the property. A sonic on Wi-Fi names its property itself. What must not
 * jump with each list is a rule about the places before.
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
  readonly isReadOnce: boolean;
}

interface Place {
  readonly id: string;
  /** Null if it is not known. In an account with one property it is that one. */
  readonly propertyId: string | null;
  /** Its property that the account has lost. Until it is found elsewhere, it is not assumed to be in the only one left. */
  readonly lost: string | null;
  readonly isShown: boolean;
}

interface SonicPlace extends Place {
  readonly isWifi: boolean;
  /** Its signal; null if it is on Wi-Fi or names none. */
  readonly hub: string | null;
  /**
   * Since when it has a signal of which the lists do not show yet where it is, in ms of the monotonic clock; else null. Until
   * they do, it is taken to be in its former property.
   */
  readonly soughtSince: number | null;
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
  readonly areAllKnown: boolean;
  readonly isReadOnce: boolean;
  /** Whether the account has sonics, shown or not, whose property is not known. */
  readonly hasStraySonics: boolean;
  /** The kinds of which a complete list was read. A device that comes later is new. */
  readonly completeKinds: readonly CloudDeviceKind[];
}

export const noPlaces: Places = {
  property: new IdMap(),
  signal: new IdMap(),
  sonic: new IdMap(),
  shown: { property: [], signal: [], sonic: [] },
  onlyProperty: null,
  owners: new IdMap(),
  contents: new IdMap(),
  sonicsOn: new IdMap(),
  areAllKnown: false,
  isReadOnce: false,
  hasStraySonics: false,
  completeKinds: [],
};

export function placesOf(
  { devices, signalLists, wifi, isReadOnce }: DeviceLists,
  filter: ReadonlyFilter,
  before: Places,
): Places {
  const { property, signal, sonic } = devices;
  const ids = property.ids.filter((id) => filter.isSelected(id));
  const selected = new IdMap(ids.map((id) => [id, true]));
  const onlyProperty = property.isComplete && property.size === 1 ? (property.ids[0] ?? null) : null;
  const isAnswered = (id: string) => signalLists.completeAt(id) !== null || signalLists.isRefused(id);
  const areAllKnown = before.areAllKnown || (property.isComplete && ids.every(isAnswered));
  // A list that is refused or cannot be read must not hide a leak: a device without a property may be in that list.
  const isStrayShown = areAllKnown ? ids.some((id) => signalLists.isRefused(id)) : isReadOnce;
  const isShown = (propertyId: string | null) =>
    !filter.isOn || (propertyId === null ? isStrayShown : selected.has(propertyId));
  const owners = signalLists.owners();
  const readAts = ids.flatMap((id) => signalLists.completeAt(id) ?? []);
  const allReadAt = readAts.length > 0 ? Math.min(...readAts) : Number.NEGATIVE_INFINITY;

  const whereIs = (own: string | null, former: Place | undefined) => {
    const known = property.get(own)?.id ?? null;
    const was = former?.propertyId ?? former?.lost ?? null;
    const lost = known === null && was !== null && !property.has(was) ? was : null;
    const propertyId = known ?? (lost === null ? onlyProperty : null);
    return { propertyId, lost, isShown: isShown(propertyId) };
  };

  const signals = new IdMap<Place>();
  for (const id of [...signal.ids, ...owners.keys()]) {
    if (signals.has(id)) continue;
    const place = whereIs(owners.get(id) ?? null, before.signal.get(id));
    signals.set(id, { ...place, id, isShown: place.isShown && signal.has(id) });
  }

  const sonicPlace = (record: Sonic): SonicPlace => {
    const { id } = record;
    const former = before.sonic.get(id);
    const isWifi = wifi.has(id);
    const hub = isWifi ? null : record.signal_id;
    const own = { id, isWifi, hub, soughtSince: null };
    if (isWifi) return { ...own, ...whereIs(namedProperty(record), former) };
    const owner = hub === null ? null : (owners.get(hub) ?? null);
    // The new signal may have moved too. So the sonic stays until the lists of signals were read after it was read with it.
    const hasNewHub = former?.isWifi === false && former.hub !== hub && !isSameId(former.hub, hub);
    const since = hasNewHub ? (sonic.readAt(id) ?? 0) : (former?.soughtSince ?? null);
    const ownerReadAt = (owner === null ? null : signalLists.completeAt(owner)) ?? Number.NEGATIVE_INFINITY;
    const was = former?.propertyId ?? null;
    const isSought = since !== null && owner !== was && Math.max(ownerReadAt, allReadAt) <= since;
    if (isSought && was !== null && property.has(was)) {
      return { ...own, propertyId: was, lost: null, isShown: isShown(was), soughtSince: since };
    }
    const lost = (hub === null ? null : signals.get(hub)?.lost) ?? null;
    if (lost !== null) return { ...own, propertyId: null, lost, isShown: isShown(null) };
    return { ...own, ...whereIs(owner, former) };
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
    properties.set(id, { id, propertyId: id, lost: null, isShown: isShown(id) });
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
    areAllKnown,
    isReadOnce,
    hasStraySonics: [...sonics.values()].some(({ propertyId }) => propertyId === null),
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
    const ids = new Set([...before.shown[kind], ...after.shown[kind]]);
    return [...ids].flatMap((id) => {
      const [was, is] = [before, after].map((places) => {
        const place = places[kind].get(id);
        return place?.isShown ? place : undefined;
      });
      return !was === !is && was?.propertyId === is?.propertyId ? [] : { kind, id, was, is };
    });
  });
}
