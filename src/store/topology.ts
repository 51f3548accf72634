import { type CloudDeviceKind, namedProperty } from '../model/devices.ts';
import { idKey, isSameId } from '../model/ids.ts';
import { isAboutHub } from '../model/incidents.ts';
import type { Incident, Property, Signal, Sonic } from '../model/records.ts';
import type { PropertyFilter } from './propertyFilter.ts';
import { SignalLists } from './signalLists.ts';
import type { Reading, ReadonlyTable } from './table.ts';

/** All devices of the account, shown by this bridge or not. */
export interface ReadonlyDevices {
  readonly property: ReadonlyTable<Property>;
  readonly signal: ReadonlyTable<Signal>;
  readonly sonic: ReadonlyTable<Sonic>;
}

/**
 * Which device is where (property ← signal ← sonic), and which devices this bridge shows. Only the list of a property's
 * signals shows what is in the property. A sonic on Wi-Fi names its property itself. This bridge shows a device if the
 * filter selects its property, or may select it because the cloud does not show the list of a selected property.
 */
export class Topology {
  readonly #devices: ReadonlyDevices;
  readonly #filter: PropertyFilter;
  readonly #signals = new SignalLists();
  /** The properties that this bridge shows. */
  #shown: ReadonlySet<string> = new Set();
  #arePlacesKnown: boolean;
  /** The account's only property at the last change of the properties; null if it had several, or none. */
  #only: string | null = null;
  /** By the key of a signal: the ids of the sonics on it. */
  readonly #sonicsOn = new Map<string, Set<string>>();
  /**
   * Sonics, by key, whose new signal is not known to be in the same property as the old one. For each, the property in
   * which the sonic was, and when it was first read with the new signal. The signal itself may have moved too, so the
   * sonic stays in its former property until the lists of signals were read after that time.
   */
  readonly #formerProperties = new Map<string, { readonly propertyId: string; readonly since: number }>();
  /**
   * By the key of a device: the property in which it was when the account lost that property. If only one property is
   * left, such a device is not assumed to be in it.
   */
  readonly #lostProperties = new Map<string, string>();
  /** The keys of the sonics on Wi-Fi. */
  readonly #wifi = new Set<string>();

  constructor(devices: ReadonlyDevices, filter: PropertyFilter) {
    this.#devices = devices;
    this.#filter = filter;
    this.#arePlacesKnown = this.isWholeAccount;
  }

  // ---- what the cloud said --------------------------------------------------------------------------------------

  /** Call this after a change of the properties or of their names. */
  propertiesChanged(): void {
    // The account had only one property and now has more. Its signals stay there until its lists miss them.
    if (this.#only !== null && this.onlyProperty === null) {
      this.#signals.adopt(this.#only, this.#devices.signal.ids);
    }
    this.#only = this.onlyProperty;
    this.#filter.update(this.#devices.property.records);
    const { ids } = this.#devices.property;
    this.#shown = new Set(ids.filter((id) => this.#filter.isSelected(id)));
    this.#notePlaces();
  }

  /**
   * Stores the lists of these properties' signals, and which lists the cloud refuses to show. Returns whether any device
   * has moved to another property, or to none, or is shown because of a refusal.
   */
  setSignals(lists: ReadonlyMap<string, Reading<Pick<Signal, 'id'>>>, refused: readonly string[]): boolean {
    const moves = [
      ...[...lists].map(([propertyId, reading]) => this.#signals.set(propertyId, reading)),
      ...refused.map((propertyId) => this.#signals.refuse(propertyId)),
    ];
    const left = [...this.#formerProperties].filter(([key, { since }]) => this.#isLocatedSince(key, since));
    for (const [key] of left) this.#formerProperties.delete(key);
    this.#notePlaces();
    return moves.includes(true) || left.length > 0;
  }

  /** Whether the lists now show where the sonic is: its signal's list, or every list, was requested after `at`. */
  #isLocatedSince(sonicKey: string, at: number): boolean {
    const owner = this.#signals.propertyOf(this.#devices.sonic.get(sonicKey)?.signal_id ?? '');
    if (owner !== null && this.#signals.isReadSince(owner, at)) return true;
    const known = this.propertyIdsToRead().filter((id) => this.areSignalsKnown(id));
    return known.every((id) => this.#signals.isReadSince(id, at));
  }

  /** Forgets a property that has left the account. */
  forgetProperty(propertyId: string): void {
    for (const key of this.#signals
      .forget(propertyId)
      .flatMap((id) => [id, ...[...this.sonicsOn(id)].map(idKey)])) {
      this.#lostProperties.set(key, propertyId);
    }
    for (const id of this.wifiSonics) {
      const named = namedProperty(this.#devices.sonic.get(id) ?? {});
      if (isSameId(named, propertyId)) this.#lostProperties.set(idKey(id), propertyId);
    }
    for (const [id, former] of this.#formerProperties)
      if (former.propertyId === propertyId) this.#formerProperties.delete(id);
  }

  /** Forgets a sonic that has left the account. */
  forgetSonic(id: string): void {
    this.setWifi(id, false);
    this.#formerProperties.delete(idKey(id));
  }

  /**
   * Notes on which signal a sonic was and on which it is now. Returns whether only the lists of signals can show where
   * the sonic is now.
   */
  moveSonic(id: string, before: string | null, after: string | null): boolean {
    const former =
      this.#formerProperties.get(idKey(id))?.propertyId ?? this.#signals.propertyOf(before ?? '');
    const isElsewhere = !isSameId(before, after) && this.#signals.propertyOf(after ?? '') !== former;
    const isSought = former !== null && isElsewhere;
    if (isSought) {
      this.#formerProperties.set(idKey(id), {
        propertyId: former,
        since: this.#devices.sonic.readAt(id) ?? 0,
      });
    }
    if (before !== null) this.#sonicsOn.get(idKey(before))?.delete(id);
    if (after !== null) {
      this.#sonicsOn.set(idKey(after), (this.#sonicsOn.get(idKey(after)) ?? new Set()).add(id));
    }
    return isSought && after !== null;
  }

  /** Records whether the cloud lists a sonic among those on Wi-Fi. Returns whether that has changed. */
  setWifi(sonicId: string, isWifi: boolean): boolean {
    if (this.isWifi(sonicId) === isWifi) return false;
    if (isWifi) this.#wifi.add(idKey(sonicId));
    else this.#wifi.delete(idKey(sonicId));
    return true;
  }

  // ---- where things are -----------------------------------------------------------------------------------------

  /**
   * The property in which a device is. If the account has only one property, it is that one. Null if it is not known.
   */
  propertyOf(kind: CloudDeviceKind, id: string): string | null {
    return this.#ownProperty(kind, id) ?? (this.#isPropertyLost(id) ? null : this.onlyProperty);
  }

  /** The property in which an incident is, by the same rule as for devices. */
  propertyOfIncident(incident: Incident): string | null {
    const { sonic_id: sonicId, signal_id: signalId } = incident;
    const ofSonic = sonicId === null ? null : this.#ownProperty('sonic', sonicId);
    const ofSignal = signalId === null ? null : this.#ownProperty('signal', signalId);
    const isPropertyLost = this.#isPropertyLost(sonicId ?? '') || this.#isPropertyLost(signalId ?? '');
    // What a hub reports of itself is in no property if no list has the hub: a replaced hub is no trouble of a home.
    const isOfStranger = isAboutHub(incident) && !this.#devices.signal.has(signalId);
    return ofSonic ?? ofSignal ?? (isPropertyLost || isOfStranger ? null : this.onlyProperty);
  }

  /** Whether the device was in a property that the account no longer has. */
  #isPropertyLost(id: string): boolean {
    const propertyId = this.#lostProperties.get(idKey(id));
    return propertyId !== undefined && !this.#devices.property.has(propertyId);
  }

  /** The property that lists the device or its signal, or that a sonic on Wi-Fi names itself; null if there is none. */
  #ownProperty(kind: CloudDeviceKind, id: string): string | null {
    if (kind === 'property') return id;
    if (kind === 'signal') return this.#signals.propertyOf(id);
    const sonic = this.#devices.sonic.get(id);
    if (!sonic) return null;
    const owner = this.#signals.propertyOf(sonic.signal_id ?? '');
    if (!this.isWifi(id)) return this.#formerProperties.get(idKey(id))?.propertyId ?? owner;
    return this.#devices.property.get(namedProperty(sonic))?.id ?? null;
  }

  /** The account's only property; null if it has several, or if not all are known. */
  get onlyProperty(): string | null {
    const { property } = this.#devices;
    return property.isComplete && property.size === 1 ? (property.ids[0] ?? null) : null;
  }

  /** The sonics that are on a signal. */
  sonicsOn(signalId: string): Iterable<string> {
    return this.#sonicsOn.get(idKey(signalId)) ?? [];
  }

  /** Whether a sonic is on a signal, or may be on it because the sonic names no signal. */
  mayBeOn(sonicId: string, signalId: string): boolean {
    if (this.isWifi(sonicId)) return false;
    return this.isHubless(sonicId) || isSameId(this.#devices.sonic.get(sonicId)?.signal_id ?? null, signalId);
  }

  /** Whether a sonic is on Wi-Fi or names no signal. Then the lists of signals do not show where it is. */
  isHubless(sonicId: string): boolean {
    return this.isWifi(sonicId) || this.#devices.sonic.get(sonicId)?.signal_id === null;
  }

  /** The signals that a property has. */
  signalsIn(propertyId: string): string[] {
    return this.#devices.signal.ids.filter((id) => this.#signals.propertyOf(id) === propertyId);
  }

  /** The sonics on Wi-Fi, which have no signal: the cloud lists them separately. */
  get wifiSonics(): string[] {
    return this.#devices.sonic.ids.filter((id) => this.isWifi(id));
  }

  /** Whether the cloud lists the sonic among the sonics on Wi-Fi. */
  isWifi(sonicId: string): boolean {
    return this.#wifi.has(idKey(sonicId));
  }

  /**
   * Whether the signals of all relevant properties were read or refused at least once. After that, a device without a property
   * really has none. Before that, its property may not have been read yet.
   */
  get arePlacesKnown(): boolean {
    return this.#arePlacesKnown;
  }

  /** Whether it is known that a property has no signals and no sonics on Wi-Fi. */
  isWithoutDevices(propertyId: string): boolean {
    return (
      this.#signals.isEmpty(propertyId) &&
      ![...this.#wifi].some((id) => this.propertyOf('sonic', id) === propertyId)
    );
  }

  /** Whether all signals of a property are known, from a reading that is not too old. */
  areSignalsKnown(propertyId: string): boolean {
    return this.#signals.isFresh(propertyId);
  }

  /**
   * Marks lists that were read before that time as too old; returns the properties whose signals are no longer known.
   */
  markStale(readBefore: number): string[] {
    return this.#signals.markStale(readBefore);
  }

  // ---- what is shown --------------------------------------------------------------------------------------------

  /**
   * Whether this bridge shows the device. If a filter is on, a device without a property is shown only if it may be in a
   * selected property whose list the cloud refuses: a refusal must not hide a leak.
   */
  isShown(kind: CloudDeviceKind, id: string): boolean {
    if (!this.#devices[kind].has(id)) return false;
    if (this.isWholeAccount) return true;
    const property = this.propertyOf(kind, id);
    return property === null ? this.arePlacesKnown && this.isAnyListRefused : this.#shown.has(property);
  }

  /**
   * Whether the device's property was not read yet. Then it is not known whether this bridge should show the device.
   */
  isUnplaced(kind: CloudDeviceKind, id: string): boolean {
    return !this.arePlacesKnown && this.#devices[kind].has(id) && this.propertyOf(kind, id) === null;
  }

  /** Whether this bridge shows the whole account, because no filter is on. */
  get isWholeAccount(): boolean {
    return !this.#filter.isOn;
  }

  /** The shown properties. Their signals must be known. */
  propertyIdsToRead(): string[] {
    return this.#devices.property.ids.filter((id) => this.#shown.has(id));
  }

  /** Whether the cloud has never shown the list of signals of a shown property. */
  get isAnyListRefused(): boolean {
    return this.propertyIdsToRead().some((id) => this.#signals.isRefused(id));
  }

  #notePlaces(): void {
    const isAnswered = (id: string) => this.#signals.has(id) || this.#signals.isRefused(id);
    this.#arePlacesKnown ||= this.#devices.property.isComplete && this.propertyIdsToRead().every(isAnswered);
  }
}

/** The topology as the other rooms see it: only the store writes it. */
export type ReadonlyTopology = Omit<
  Topology,
  | 'propertiesChanged'
  | 'setSignals'
  | 'forgetProperty'
  | 'forgetSonic'
  | 'moveSonic'
  | 'setWifi'
  | 'markStale'
>;
