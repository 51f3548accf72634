import type { Incident } from '../model/records.ts';
import type { PlannedKind } from './dirty.ts';
import { areCertain, areWhole, type Lists } from './lists.ts';
import type { CloudDeviceKind } from './readings.ts';
import type { Territory } from './territory.ts';
import type { Whereabouts } from './whereabouts.ts';

/** Which bridge shows what the cloud lists: this one, another, or nobody knows yet. */
export class Neighbourhood {
  readonly #territory: Territory;
  readonly #lists: Lists;
  readonly #whereabouts: Whereabouts;
  /** In which property what the broker keeps was, by `kind/id`. */
  #remembered: ReadonlyMap<string, string> = new Map();

  constructor(territory: Territory, lists: Lists, whereabouts: Whereabouts) {
    this.#territory = territory;
    this.#lists = lists;
    this.#whereabouts = whereabouts;
  }

  // ---- what is shown here -------------------------------------------------------------------------------------

  /** Whether what is in that property is wanted; null, in none that is known. */
  isHere(propertyId: string | null): boolean {
    if (this.#territory.isWholeAccount) return true;
    return propertyId !== null && this.#lists.property.has(propertyId);
  }

  /** One that is in no property, and names no device that the account has, is shown all the same: by one bridge. */
  isIncidentHere(incident: Incident): boolean {
    const home = this.#whereabouts.propertyOf(incident);
    if (home === null && this.isDeviceless(incident) && this.#areDevicesKnownFor(incident)) {
      return this.#territory.isOurs(incident.id);
    }
    // It leaves with the device that shows it, and not before: that would look as if it had closed.
    return this.isHere(home) || (this.#isAtShown(incident) && (home === null || !this.isHomeElsewhere(home)));
  }

  /** Whether the incident names no device that the account has, as far as is known. */
  isDeviceless({ sonic_id: sonicId, signal_id: signalId }: Incident): boolean {
    const { sonic, signal } = this.#lists;
    return !isListed(sonic, sonicId) && !isListed(signal, signalId);
  }

  /** Whether it is known of each signal in which property it is: in one that is shown, and where bridges share, in any. */
  get arePlacesKnown(): boolean {
    if (this.#territory.isWholeAccount) return true;
    return this.#lists.property.isWhole && this.unsurveyedPropertyIds().length === 0;
  }

  /** Properties of which it matters which signals they have, and is not known. */
  unsurveyedPropertyIds(): string[] {
    const ids = [...this.#lists.property.ids, ...this.unshownPropertyIds()];
    return ids.filter((id) => !this.#whereabouts.signals.isWhole([id]));
  }

  // ---- what other bridges show --------------------------------------------------------------------------------

  /** Whether other bridges show other parts of the account. */
  get isShared(): boolean {
    return this.#territory.isShared;
  }

  /** Properties whose signals are worth knowing although they are not shown: what is in them is another bridge's. */
  unshownPropertyIds(): string[] {
    return this.isShared ? [...this.#lists.property.unwanted.keys()] : [];
  }

  /** How many sonics no bridge shows, as they are in no property that is known. */
  get leftOut(): number {
    if (!this.isShared || !areCertain(this.#lists)) return 0;
    return [...this.#lists.sonic.unwanted.values()].filter((home) => home === null).length;
  }

  /** Whether it is shown here and in no property at present, as the last list of its own says: which one soon shows. */
  isUnsettled(kind: CloudDeviceKind, id: string): boolean {
    if (!this.isShared || kind === 'property' || !this.#lists[kind].has(id)) return false;
    const { signals } = this.#whereabouts;
    const sonic = kind === 'sonic' ? this.#lists.sonic.get(id) : undefined;
    const home = sonic ? this.#whereabouts.propertyOfSonic(sonic) : signals.of(id);
    const signalId = sonic ? sonic.signal_id : id;
    return home === null || (signalId !== null && signals.isMissed(signalId));
  }

  /** Whether a signal of that property is. */
  isAnyUnsettledIn(propertyId: string): boolean {
    return this.isShared && this.#whereabouts.signals.isAnyMissedIn(propertyId);
  }

  /** Whether the cloud has it, and another bridge shows it, or may, or nobody knows yet whether this one is to. */
  isElsewhere(kind: PlannedKind, id: string): boolean {
    const list = this.#lists[kind];
    const home = list.unwantedIn(id);
    if (home === undefined) return false;
    return (home === null && !list.isPlaced) || this.isHomeElsewhere(home);
  }

  /** Whether what is in that property is another bridge's, or may be: null, in none that is known. */
  isHomeElsewhere(home: string | null): boolean {
    if (!this.isShared) return false;
    if (home !== null) return !this.#territory.isOurs(home);
    return !this.arePlacesKnown;
  }

  /** Whether the cloud has what is not shown here any more, so that another bridge may show it by now. */
  mayBeTakenOver(kind: PlannedKind, id: string): boolean {
    return this.isShared && kind !== 'property' && this.#lists[kind].unwantedIn(id) !== undefined;
  }

  // ---- who answers --------------------------------------------------------------------------------------------

  /** The bridge that answers for what is not shown: that of its property, or of its id where none is known. */
  bridgeFor(kind: PlannedKind, id: string): string {
    return this.#territory.bridgeOf(this.#homeOf(kind, id) ?? id);
  }

  /** Whether this bridge is the one that answers for what it does not show. */
  answersFor(kind: PlannedKind, id: string): boolean {
    return this.#territory.isOurs(this.#homeOf(kind, id) ?? id);
  }

  /** The other bridge that moves a valve, null where it is this one. A cloud may take two spellings of an id for one. */
  otherMover(sonicId: string): string | null {
    const spelled = sonicId.toLowerCase();
    const isSame = (id: string) => id.toLowerCase() === spelled;
    if (!this.isShared || this.#lists.sonic.ids.some(isSame)) return null;
    const id = [...this.#lists.sonic.unwanted.keys()].find(isSame) ?? spelled;
    return this.answersFor('sonic', id) ? null : this.bridgeFor('sonic', id);
  }

  /** Notes in which property what the broker keeps was, by `kind/id`: it counts until the cloud was read. */
  remember(homes: ReadonlyMap<string, string>): void {
    if (this.isShared) this.#remembered = homes;
  }

  /** What names no device at all is looked for in no list. */
  #areDevicesKnownFor({ sonic_id: sonicId, signal_id: signalId }: Incident): boolean {
    const { sonic, signal } = this.#lists;
    return (sonicId === null && signalId === null) || (sonic.isWhole && signal.isWhole);
  }

  /** Whether the incident names a device that is shown. */
  #isAtShown({ sonic_id: sonicId, signal_id: signalId }: Incident): boolean {
    const { sonic, signal } = this.#lists;
    return sonic.get(sonicId) !== undefined || signal.get(signalId) !== undefined;
  }

  /** The property in which something is that is not shown; null, in none that is known. */
  #homeOf(kind: PlannedKind, id: string): string | null {
    if (kind === 'property') return id;
    const listed = this.#lists[kind].unwantedIn(id);
    if (listed !== undefined || areWhole(this.#lists)) return listed ?? null;
    return this.#remembered.get(`${kind}/${id}`) ?? null;
  }
}

/** Whether the account has such a device, be it shown here or not. */
function isListed(devices: Lists['signal' | 'sonic'], id: string | null): boolean {
  return id !== null && (devices.has(id) || devices.unwantedIn(id) !== undefined);
}
