import { type CloudDeviceKind, namedProperty } from '../model/devices.ts';
import { idKey, isSameId } from '../model/ids.ts';
import type { Incident, Property, Signal, Sonic } from '../model/records.ts';
import { bridgeName, bridgeOf, isOurs, isShared, type Shard } from '../model/shard.ts';
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
 * Which device is where, property ← signal ← sonic, and which of them this bridge shows. Only the list of a property's
 * signals shows what is in it. A sonic on Wi-Fi names its property itself. This bridge shows a device if the filter selects
 * its property, and if the hash of the property's id selects this bridge.
 */
export class Topology {
  readonly #devices: ReadonlyDevices;
  readonly #filter: PropertyFilter;
  readonly #shard: Shard;
  readonly #signals = new SignalLists();
  /** The properties that this bridge shows. */
  #shown: ReadonlySet<string> = new Set();
  #arePlacesKnown: boolean;
  /** The only property, when the properties changed last. */
  #only: string | null = null;
  /** By the key of a signal. */
  readonly #sonicsOn = new Map<string, Set<string>>();
  /**
   * By the key of a sonic whose new signal is not known to be in its property: the property in which the sonic was, and when it
   * was first read with that signal. The signal may have moved too, so the sonic stays there until the signals were read since.
   */
  readonly #formerProperties = new Map<string, { readonly propertyId: string; readonly since: number }>();
  /** By the key of a device, the property that it was in when the account lost that: it is not in the only one that is left. */
  readonly #lostProperties = new Map<string, string>();
  /** Keys of sonics. */
  readonly #wifi = new Set<string>();

  constructor(devices: ReadonlyDevices, filter: PropertyFilter, shard: Shard) {
    this.#devices = devices;
    this.#filter = filter;
    this.#shard = shard;
    this.#arePlacesKnown = this.isWholeAccount;
  }

  // ---- what the cloud said --------------------------------------------------------------------------------------

  /** Follows a change of the properties or of their names. */
  propertiesChanged(): void {
    // What was in the only property is still there, though it is not the only one any more.
    if (this.#only !== null && this.onlyProperty === null) {
      this.#signals.adopt(this.#only, this.#devices.signal.ids);
    }
    this.#only = this.onlyProperty;
    this.#filter.update(this.#devices.property.records);
    const { ids } = this.#devices.property;
    this.#shown = new Set(ids.filter((id) => this.#filter.isSelected(id) && this.isOurs(id)));
    this.#notePlaces();
  }

  /** Stores the signals that these properties list. Returns whether any has moved to another property, or to none. */
  setSignals(lists: ReadonlyMap<string, Reading<Pick<Signal, 'id'>>>): boolean {
    const moves = [...lists].map(([propertyId, reading]) => this.#signals.set(propertyId, reading));
    const left = [...this.#formerProperties].filter(([key, { since }]) => this.#isLocatedSince(key, since));
    for (const [key] of left) this.#formerProperties.delete(key);
    this.#notePlaces();
    return moves.includes(true) || left.length > 0;
  }

  /** Whether the list that has the signal of a sonic was read since, or all lists were. */
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

  /** Notes on which signal a sonic was and is. Returns whether only the lists of signals show where it is now. */
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

  /** The property in which a device is, also if the account has no other; null while that is not known. */
  propertyOf(kind: CloudDeviceKind, id: string): string | null {
    return this.#ownProperty(kind, id) ?? (this.#isPropertyLost(id) ? null : this.onlyProperty);
  }

  /** The property in which an incident is, by the same rule. */
  propertyOfIncident({ sonic_id: sonicId, signal_id: signalId }: Incident): string | null {
    const ofSonic = sonicId === null ? null : this.#ownProperty('sonic', sonicId);
    const ofSignal = signalId === null ? null : this.#ownProperty('signal', signalId);
    const isPropertyLost = this.#isPropertyLost(sonicId ?? '') || this.#isPropertyLost(signalId ?? '');
    return ofSonic ?? ofSignal ?? (isPropertyLost ? null : this.onlyProperty);
  }

  /** Whether the account no longer has the property in which a device was. */
  #isPropertyLost(id: string): boolean {
    const propertyId = this.#lostProperties.get(idKey(id));
    return propertyId !== undefined && !this.#devices.property.has(propertyId);
  }

  /** The property that lists the device or its signal, or that it names itself; null without one. */
  #ownProperty(kind: CloudDeviceKind, id: string): string | null {
    if (kind === 'property') return id;
    if (kind === 'signal') return this.#signals.propertyOf(id);
    const sonic = this.#devices.sonic.get(id);
    if (!sonic) return null;
    const owner = this.#signals.propertyOf(sonic.signal_id ?? '');
    if (!this.isWifi(id)) return this.#formerProperties.get(idKey(id))?.propertyId ?? owner;
    return this.#devices.property.get(namedProperty(sonic))?.id ?? null;
  }

  /** The property if the account has no other; null with several, or while not all are known. */
  get onlyProperty(): string | null {
    const { property } = this.#devices;
    return property.isComplete && property.size === 1 ? (property.ids[0] ?? null) : null;
  }

  /** The sonics that are on a signal. */
  sonicsOn(signalId: string): Iterable<string> {
    return this.#sonicsOn.get(idKey(signalId)) ?? [];
  }

  /** Whether a sonic is on a signal, or may be, since it names none. */
  mayBeOn(sonicId: string, signalId: string): boolean {
    if (this.isWifi(sonicId)) return false;
    return this.isHubless(sonicId) || isSameId(this.#devices.sonic.get(sonicId)?.signal_id ?? null, signalId);
  }

  /** Whether a sonic needs no signal, or names none, so that the signals of a property do not show where it is. */
  isHubless(sonicId: string): boolean {
    return this.isWifi(sonicId) || this.#devices.sonic.get(sonicId)?.signal_id === null;
  }

  /** The signals that a property has. */
  signalsIn(propertyId: string): string[] {
    return this.#devices.signal.ids.filter((id) => this.#signals.propertyOf(id) === propertyId);
  }

  /** The sonics that the cloud lists among those without a signal. */
  get wifiSonics(): string[] {
    return this.#devices.sonic.ids.filter((id) => this.isWifi(id));
  }

  /** Whether the cloud lists the sonic among those without a signal. */
  isWifi(sonicId: string): boolean {
    return this.#wifi.has(idKey(sonicId));
  }

  /**
   * Whether the signals of all properties that matter were once read. From then on a device without a property has none, and
   * does not only wait for one.
   */
  get arePlacesKnown(): boolean {
    return this.#arePlacesKnown;
  }

  /** Whether a property is known to have no signal, and no sonic that needs none. */
  isWithoutDevices(propertyId: string): boolean {
    return (
      this.#signals.isEmpty(propertyId) &&
      ![...this.#wifi].some((id) => this.propertyOf('sonic', id) === propertyId)
    );
  }

  /** Whether all signals of a property are known: they were read, and not too long ago. */
  areSignalsKnown(propertyId: string): boolean {
    return this.#signals.isFresh(propertyId);
  }

  /** Notes that what was read before that time is too old; the properties whose signals are not known from now on. */
  markStale(readBefore: number): string[] {
    return this.#signals.markStale(readBefore);
  }

  // ---- what is shown --------------------------------------------------------------------------------------------

  /** Whether this bridge shows the device. One without a property is shown by the bridge of its hash, unless a filter is on. */
  isShown(kind: CloudDeviceKind, id: string): boolean {
    if (!this.#devices[kind].has(id)) return false;
    if (this.isWholeAccount) return true;
    const property = this.propertyOf(kind, id);
    if (property !== null) return this.#shown.has(property);
    return !this.#filter.isOn && this.#arePlacesKnown && this.isAnsweredHere(kind, id);
  }

  /** Whether the account has a device that this bridge leaves to another one, or may have to. */
  isLeftToOthers(kind: CloudDeviceKind, id: string): boolean {
    if (!this.#devices[kind].has(id) || this.isShown(kind, id)) return false;
    return this.isShared && (this.isUnplaced(kind, id) || !this.isAnsweredHere(kind, id));
  }

  /** Whether the device still waits for its property, so that nobody knows whether to show it. */
  isUnplaced(kind: CloudDeviceKind, id: string): boolean {
    return !this.arePlacesKnown && this.#devices[kind].has(id) && this.propertyOf(kind, id) === null;
  }

  /** Properties of the account that this bridge leaves to others. */
  get otherPropertyIds(): string[] {
    return this.#devices.property.ids.filter((id) => this.isLeftToOthers('property', id));
  }

  /** Whether every property is shown, so that everything is, wherever it is. */
  get isWholeAccount(): boolean {
    return !this.#filter.isOn && !this.isShared;
  }

  /** Whether other bridges show other parts of the account. */
  get isShared(): boolean {
    return isShared(this.#shard);
  }

  /** Whether the hash of this id selects this bridge: the id of a property, or of a record that is in none. */
  isOurs(id: string): boolean {
    return isOurs(id, this.#shard);
  }

  /** Properties whose signals must be known, and were never read. */
  unreadPropertyIds(): string[] {
    return this.propertyIdsToRead().filter((id) => !this.#signals.has(id));
  }

  /** Properties whose signals must be known: those that are shown and, where bridges share the account, all. */
  propertyIdsToRead(): string[] {
    const { ids } = this.#devices.property;
    return this.isShared ? ids : ids.filter((id) => this.#shown.has(id));
  }

  // ---- who answers ----------------------------------------------------------------------------------------------

  /** Whether this bridge answers commands for a device, shown or not. */
  isAnsweredHere(kind: CloudDeviceKind, id: string): boolean {
    return this.isOurs(this.#decisiveId(kind, id));
  }

  /** The other bridge that moves a valve, null where it is this one. */
  otherMover(sonicId: string): string | null {
    if (this.isAnsweredHere('sonic', sonicId)) return null;
    const { count } = this.#shard;
    return bridgeName({ index: bridgeOf(this.#decisiveId('sonic', sonicId), count), count });
  }

  /** The id whose hash decides which bridge a device belongs to: its property's, else its hub's, else its own. */
  #decisiveId(kind: CloudDeviceKind, id: string): string {
    const signalId = kind === 'sonic' ? this.#devices.sonic.get(id)?.signal_id : null;
    return this.propertyOf(kind, id) ?? signalId ?? id;
  }

  #notePlaces(): void {
    this.#arePlacesKnown ||= this.#devices.property.isComplete && this.unreadPropertyIds().length === 0;
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
