import { isOpen } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { PlannedKind } from './dirty.ts';
import { merged } from './latest.ts';
import type { Precedence } from './precedence.ts';
import type { CloudDeviceKind, Happening, Reading } from './readings.ts';
import { isSameRecord } from './sameRecord.ts';

/** The device that announces an incident. */
export interface AnnouncingDevice {
  readonly kind: 'sonic' | 'signal';
  readonly id: string;
}

/** What is known around an incident. */
export interface Surroundings {
  /** Its sonic if known, else its signal if known. */
  readonly announcerOf: (incident: Incident) => AnnouncingDevice | null;
  /** The property in which it is; null while that is not known. */
  readonly propertyOf: (incident: Incident) => string | null;
  readonly isSelected: (incident: Incident) => boolean;
  /** Whether it names no device that the account has, as far as is known. */
  readonly isDeviceless: (incident: Incident) => boolean;
  /** Whether it is known of everything in which property it is, as far as that matters. */
  readonly arePlacesKnown: () => boolean;
  /** Whether what is in that property is shown by another bridge, or may be; null, in none that is known. */
  readonly isElsewhere: (propertyId: string | null) => boolean;
  /** Something shows it, or does so no more. */
  readonly touch: (kind: PlannedKind, id: string) => void;
  /** Whether all are known is no longer what it was. */
  readonly touchAll: () => void;
}

/** An open incident that names no device that the account has, and the property in which it is; null, in none that is known. */
interface Deviceless {
  readonly incident: Incident;
  readonly home: string | null;
}

/** What is derived from the incidents and what is around them. */
interface Index {
  /** Those that each device shows, by `kind/id`. */
  readonly shown: ReadonlyMap<string, readonly Incident[]>;
  /** Also those that another bridge shows: they may be at a device of this one all the same. */
  readonly deviceless: readonly Deviceless[];
}

/** The incidents that are open; all times are ms of the monotonic clock. */
export class OpenIncidents {
  readonly #open = new Map<string, Incident>();
  /** Those that are open and not wanted, each with the property in which it was when it was read; null, in none. */
  readonly #unwanted = new Map<string, { readonly incident: Incident; readonly home: string | null }>();
  /** What is to be told with the next reading. */
  #untold: Happening[] = [];
  readonly #precedence: Precedence;
  readonly #around: Surroundings;
  /** When the last complete reading was begun; null while they are not all known. */
  #readAt: number | null = null;
  #isWhole = false;
  #isPlaced = false;
  #cachedIndex: Index | null = null;
  /** The deviceless ones as they were when everything that they may belong to was marked last. */
  #markedDeviceless = '';

  constructor(precedence: Precedence, around: Surroundings) {
    this.#precedence = precedence;
    this.#around = around;
  }

  /** Takes in the open ones; one that a complete reading does not list is closed, as is one that any lists as such. */
  replace({ records, isComplete, startedAt }: Reading<Incident>): Happening[] {
    const happenings = this.#untold.splice(0);
    const isOlder = ({ id }: Incident) => this.#precedence.isOlder('incident', id, startedAt);
    const listed = records.filter((incident) => isOpen(incident) && !isOlder(incident));
    const open = listed.filter((incident) => this.#around.isSelected(incident));
    for (const incident of open) {
      const before = this.#open.get(incident.id);
      if (before && isSameRecord(before, incident)) continue;
      this.#put(before, incident);
      happenings.push({ event: before ? 'incident_changed' : this.#newsOf(incident), record: incident });
    }
    const openIds = new Set(open.map(({ id }) => id));
    // Others may be unwanted now.
    this.#cachedIndex = null;
    if (isComplete) this.#unwanted.clear();
    for (const incident of listed) {
      if (openIds.has(incident.id)) this.#unwanted.delete(incident.id);
      else this.#unwanted.set(incident.id, { incident, home: this.#around.propertyOf(incident) });
    }
    const told = new Map(records.map((incident) => [incident.id, incident]));
    for (const [id, incident] of this.#open) {
      if (openIds.has(id) || isOlder(incident)) continue;
      const word = told.get(id);
      // One that is open still has only left what is shown here.
      if (word && isOpen(word)) this.#drop(incident);
      else if (word || isComplete) happenings.push(this.#close(incident, word));
    }
    if (!isComplete) return happenings;
    this.#isWhole = true;
    this.#isPlaced = this.#around.arePlacesKnown();
    this.#precedence.forgetBefore('incident', startedAt);
    this.#setReadAt(startedAt);
    return happenings;
  }

  /** Takes in the answer to a change, heard at that time. */
  change(id: string, answer: Incident, at: number): Happening[] {
    const before = this.#open.get(id);
    this.#precedence.heard('incident', id, at);
    if (!before) return [];
    const incident = { ...merged(before, answer), id };
    if (!isOpen(incident)) return [this.#close(before, incident)];
    if (isSameRecord(before, incident)) return [];
    this.#put(before, incident);
    return [{ event: 'incident_changed', record: incident }];
  }

  /** Notes a reading begun at that time that was incomplete or failed: what was read too long ago is unread. */
  missed(at: number, allowedMs: number): void {
    if (this.#readAt !== null && at - this.#readAt > allowedMs) this.#setReadAt(null);
  }

  /** Whether it is open, be it wanted or not. */
  has(id: string): boolean {
    return this.#open.has(id) || this.#unwanted.has(id);
  }

  /** The property in which one is that is open and not wanted: null, in none that is known; undefined for any other. */
  unwantedIn(id: string): string | null | undefined {
    const unwanted = this.#unwanted.get(id);
    return unwanted && this.#around.propertyOf(unwanted.incident);
  }

  /** Null once it is not open. */
  get(id: string): Incident | null {
    return this.#open.get(id) ?? null;
  }

  get ids(): string[] {
    return [...this.#open.keys()];
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether the list was once read completely. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether it was known where everything is when the list was last read completely: else, what is in none may be wanted. */
  get isPlaced(): boolean {
    return this.#isPlaced;
  }

  /** Whether no other is open: all were read, and not too long ago. */
  get areKnown(): boolean {
    return this.#readAt !== null;
  }

  /** Those that this list does not name. */
  missingFrom(listed: readonly Incident[]): Incident[] {
    const ids = new Set(listed.map(({ id }) => id));
    return [...this.#open.values()].filter(({ id }) => !ids.has(id));
  }

  /** Those that a device shows. */
  shownBy(kind: CloudDeviceKind, id: string): readonly Incident[] {
    return this.#index.shown.get(`${kind}/${id}`) ?? [];
  }

  /** Those that may be at a device in this property, or at any; null, it is in none that is known. */
  possibleAt(home: string | null): readonly Incident[] {
    return this.#index.deviceless
      .filter((each) => each.home === null || home === null || each.home === home)
      .map(({ incident }) => incident);
  }

  /** Those that name no device that the account has, and are in no property that is known. */
  get unassigned(): readonly Incident[] {
    return this.#index.deviceless.filter(({ home }) => home === null).map(({ incident }) => incident);
  }

  /** Those that name no device that the account has, in a property that is shown or in none that is known. */
  get deviceless(): readonly Incident[] {
    const isElsewhere = ({ incident, home }: Deviceless) => home !== null && !this.#open.has(incident.id);
    return this.#index.deviceless.filter((each) => !isElsewhere(each)).map(({ incident }) => incident);
  }

  /** Marks all, where what may belong anywhere is no longer what it was. */
  markDeviceless(): void {
    const present = this.#index.deviceless.map(({ incident: { id, type }, home }) => [id, type, home]);
    const words = JSON.stringify(present);
    if (words === this.#markedDeviceless) return;
    this.#markedDeviceless = words;
    this.#around.touchAll();
  }

  /** Which device shows which incident is no longer what it was. */
  surroundingsChanged(): void {
    this.#cachedIndex = null;
  }

  /** A device that comes, here or elsewhere, or goes takes its incidents along, also those that were read before it. */
  touchNaming(deviceId: string): void {
    const isNaming = (incident: Incident) =>
      incident.sonic_id === deviceId || incident.signal_id === deviceId;
    const { isSelected, propertyOf } = this.#around;
    for (const [id, incident] of this.#open) {
      if (!isNaming(incident)) continue;
      if (isSelected(incident)) this.#touch(incident);
      else {
        this.#drop(incident);
        this.#unwanted.set(id, { incident, home: propertyOf(incident) });
      }
    }
    for (const [id, { incident }] of this.#unwanted) {
      if (!isNaming(incident) || !isSelected(incident)) continue;
      this.#untold.push({ event: this.#newsOf(incident), record: incident });
      this.#put(undefined, incident);
      this.#unwanted.delete(id);
    }
  }

  /** What it is that an incident is wanted which was not. */
  #newsOf({ id }: Incident): 'incident_moved' | 'incident_opened' {
    const before = this.#unwanted.get(id);
    return before && this.#around.isElsewhere(before.home) ? 'incident_moved' : 'incident_opened';
  }

  #put(before: Incident | undefined, incident: Incident): void {
    if (before) this.#touch(before);
    this.#open.set(incident.id, incident);
    this.#touch(incident);
  }

  #close(before: Incident, record: Incident = { ...before, open: false }): Happening {
    this.#drop(before);
    return { event: 'incident_closed', record };
  }

  #drop(incident: Incident): void {
    this.#open.delete(incident.id);
    this.#touch(incident);
  }

  #setReadAt(readAt: number | null): void {
    const isNews = (readAt === null) !== (this.#readAt === null);
    this.#readAt = readAt;
    if (isNews) this.#around.touchAll();
  }

  #touch(incident: Incident): void {
    this.#cachedIndex = null;
    const { propertyOf, touch } = this.#around;
    touch('incident', incident.id);
    // Both: one that has just become known takes it from the other.
    if (incident.sonic_id !== null) touch('sonic', incident.sonic_id);
    if (incident.signal_id !== null) touch('signal', incident.signal_id);
    const property = propertyOf(incident);
    if (property !== null) touch('property', property);
  }

  get #index(): Index {
    this.#cachedIndex ??= this.#indexed();
    return this.#cachedIndex;
  }

  #indexed(): Index {
    const shown = new Map<string, Incident[]>();
    const add = (key: string, incident: Incident) => {
      const list = shown.get(key);
      if (list) list.push(incident);
      else shown.set(key, [incident]);
    };
    for (const incident of this.#open.values()) {
      const announcer = this.#around.announcerOf(incident);
      if (announcer) add(`${announcer.kind}/${announcer.id}`, incident);
      const property = this.#around.propertyOf(incident);
      if (property !== null) add(`property/${property}`, incident);
    }
    const unwanted = [...this.#unwanted.values()].map(({ incident }) => incident);
    const deviceless = [...this.#open.values(), ...unwanted]
      .filter((incident) => this.#around.isDeviceless(incident))
      .map((incident) => ({ incident, home: this.#around.propertyOf(incident) }));
    return { shown, deviceless };
  }
}
