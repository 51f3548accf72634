import { isConnected } from '../model/devices.ts';
import { Absences } from './absences.ts';
import { merged, update } from './latest.ts';
import type { Precedence } from './precedence.ts';
import type { CloudDeviceKind, Happening, Reading } from './readings.ts';
import { Sightings } from './sightings.ts';

export interface DevicesEvents<T> {
  /** Whether all are wanted, whatever they are. */
  readonly isAllSelected: () => boolean;
  /** Whether it is wanted at all. */
  readonly isSelected: (record: T) => boolean;
  /** The property in which it is; null, in none that is known. */
  readonly homeOf: (record: T) => string | null;
  /** Whether it is known of everything in which property it is, as far as that matters. */
  readonly arePlacesKnown: () => boolean;
  /** Whether what is in that property is shown by another bridge, or may be. */
  readonly isElsewhere: (home: string | null) => boolean;
  /** What it says of its link; null, nothing. */
  readonly linkOf: (record: T) => string | null;
  /** It has gone to that property, or come from there: another bridge's. */
  readonly crossed: (home: string) => void;
  /** Its own view shows something new. */
  readonly touched: (id: string) => void;
  /** Its record is another. */
  readonly changed: (id: string) => void;
  readonly added: (id: string) => void;
  /** It is listed for the first time, and not wanted. */
  readonly passed: (id: string) => void;
  readonly removed: (id: string) => void;
}

/** The devices of one kind, as the cloud last listed them; all times are ms of the monotonic clock. */
export class Devices<T extends { readonly id: string; readonly name: string | null }> {
  readonly #kind: CloudDeviceKind;
  readonly #precedence: Precedence;
  readonly #allowedMs: () => number;
  readonly #events: DevicesEvents<T>;
  readonly #records = new Map<string, T>();
  readonly #sightings = new Sightings();
  readonly #absences = new Absences();
  /** Those whose link a single reading said to be down, and when that was begun: the next one decides. */
  readonly #flaps = new Map<string, number>();
  /** Of those that are listed and not wanted, the property in which each is; null, in none that is known. */
  readonly #unwanted = new Map<string, string | null>();
  /** What is to be told with the next reading. */
  #untold: Happening[] = [];
  /** The complete list that was taken in last, as long as its records are those that stand. */
  #standing: readonly T[] | null = null;
  #isWhole = false;
  #isPlaced = false;

  constructor(
    kind: CloudDeviceKind,
    precedence: Precedence,
    allowedMs: () => number,
    events: DevicesEvents<T>,
  ) {
    this.#kind = kind;
    this.#precedence = precedence;
    this.#allowedMs = allowedMs;
    this.#events = events;
  }

  /** Takes in what a reading brought, be it all or not; one that was heard of by itself since keeps its newer record. */
  see(reading: Omit<Reading<T>, 'isComplete'>): Happening[] {
    return this.#take(reading).happenings;
  }

  /** Whether the records are those that stand, so that a complete reading of them says nothing new. */
  isStanding(records: readonly T[]): boolean {
    return records === this.#standing && this.#events.isAllSelected();
  }

  /** Takes in a reading; what complete ones miss is removed, what others miss for too long is unread. */
  replace(reading: Reading<T>): Happening[] {
    if (reading.isComplete && this.isStanding(reading.records)) {
      for (const id of this.#sightings.allSeen(reading.startedAt)) this.#events.touched(id);
      for (const id of this.#flaps.keys()) this.#lookAtLink(id, this.#records.get(id), reading.startedAt);
      return this.#untold.splice(0);
    }
    const { happenings, present, isSuperseded } = this.#take(reading);
    if (!reading.isComplete) {
      this.missed(reading.startedAt);
      return happenings;
    }
    this.#isWhole = true;
    this.#isPlaced = this.#events.arePlacesKnown();
    const isAll = present.length === reading.records.length && present.length === this.#records.size;
    if (isAll && !isSuperseded) this.#standing = reading.records;
    // A list names nothing twice: mostly it has all of them.
    if (present.length < this.#records.size) {
      const ids = new Set(present);
      for (const [id, record] of this.#records) {
        if (!ids.has(id) && this.#absences.missed(id)) happenings.push(this.#remove(id, record));
      }
    }
    if (this.#unwanted.size === 0) return happenings;
    const listed = new Set(reading.records.map(({ id }) => id));
    for (const id of this.#unwanted.keys()) {
      if (listed.has(id)) continue;
      // The absence of one that is still there was counted just before.
      if (this.#records.has(id) || this.#absences.missed(id)) this.#unwanted.delete(id);
    }
    return happenings;
  }

  /** Lets go of one that turned out to be in another property: from now on another bridge shows it. */
  leaveIfElsewhere(id: string): void {
    const record = this.#records.get(id);
    if (record) this.#untold.push(...this.#pass(record));
  }

  /** Takes in one that was read by itself, unless more is known of it by now; says whether its record is another. */
  set(record: T, startedAt: number): boolean {
    const { id } = record;
    const isListedSince = startedAt < (this.readAt(id) ?? startedAt);
    if (isListedSince || this.#precedence.isOlder(this.#kind, id, startedAt)) return false;
    this.#precedence.heard(this.#kind, id, startedAt);
    if (this.#sightings.seen(id, startedAt)) this.#events.touched(id);
    this.#lookAtLink(id, record, startedAt);
    return this.#update(id, record);
  }

  /** Takes in the answer to a change, heard at that time; says whether its record is another. */
  change(id: string, answer: T, at: number): boolean {
    const before = this.#records.get(id);
    this.#precedence.heard(this.#kind, id, at);
    this.#standing = null;
    return before ? this.#update(id, merged(before, answer)) : false;
  }

  /** Notes that they could not be read at that time, or not all: those that were read too long ago are unread. */
  missed(at: number): void {
    for (const id of this.#sightings.missed(at, this.#allowedMs())) this.#events.touched(id);
  }

  /** Whether readings have missed it for so long that what is known of it is old. */
  isUnread(id: string): boolean {
    return this.#sightings.isUnread(id);
  }

  /** Whether its link is down by a single reading only, which may be a flap. */
  isFlap(id: string): boolean {
    return this.#flaps.has(id);
  }

  /** When a reading that brought it was begun; undefined where none has. */
  readAt(id: string): number | undefined {
    return this.#sightings.at(id);
  }

  /** The property in which one is that is listed and not wanted: null, in none that is known; undefined for any other. */
  unwantedIn(id: string): string | null | undefined {
    return this.#unwanted.get(id);
  }

  /** Those that are listed and not wanted. */
  get unwanted(): ReadonlyMap<string, string | null> {
    return this.#unwanted;
  }

  get(id: string | null): T | undefined {
    return id === null ? undefined : this.#records.get(id);
  }

  has(id: string): boolean {
    return this.#records.has(id);
  }

  get all(): readonly T[] {
    return [...this.#records.values()];
  }

  get ids(): string[] {
    return [...this.#records.keys()];
  }

  get size(): number {
    return this.#records.size;
  }

  /** Whether the list was once read completely. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether it was known where everything is when the list was last read completely: else, what is in none may be wanted. */
  get isPlaced(): boolean {
    return this.#isPlaced;
  }

  /** Takes in what a reading brought; says also which of those that are wanted that were. */
  #take({ records, startedAt }: Omit<Reading<T>, 'isComplete'>) {
    const happenings = this.#untold.splice(0);
    const present: string[] = [];
    let isSuperseded = false;
    this.#standing = null;
    for (const listed of records) {
      const { id } = listed;
      const isWanted = this.#events.isSelected(listed);
      if (isWanted) {
        present.push(id);
        this.#absences.forget(id);
      } else happenings.push(...this.#pass(listed));
      const known = this.#records.get(id);
      // One that is wanted no more is shown for a while yet, and as it is.
      if (!isWanted && !known) continue;
      if (isWanted && known) this.#unwanted.delete(id);
      if (known && this.#precedence.isOlder(this.#kind, id, startedAt)) {
        isSuperseded = true;
        continue;
      }
      if (this.#sightings.seen(id, startedAt)) this.#events.touched(id);
      this.#lookAtLink(id, listed, startedAt);
      if (known === listed || !this.#update(id, listed)) continue;
      if (known) this.#events.changed(id);
      else this.#add(id);
      // What is there at the start was not added.
      if (!known && this.#isWhole)
        happenings.push({ event: 'device_added', kind: this.#kind, record: listed });
    }
    return { happenings, present, isSuperseded };
  }

  /** Weighs what a reading begun at that time says of the link: it is down by the second in a row, and up by one. */
  #lookAtLink(id: string, record: T | undefined, startedAt: number): void {
    const isDown = (each: T | undefined) => each && isConnected(this.#events.linkOf(each)) === false;
    const known = this.#records.get(id);
    const flapAt = this.#flaps.get(id);
    if (!isDown(record)) this.#flaps.delete(id);
    else if (known && isConnected(this.#events.linkOf(known))) this.#flaps.set(id, startedAt);
    else if (flapAt !== undefined && startedAt > flapAt) {
      this.#flaps.delete(id);
      this.#events.changed(id);
    }
  }

  #update(id: string, record: T): boolean {
    const isAnother = update(this.#records, id, record);
    if (isAnother) this.#standing = null;
    return isAnother;
  }

  /** Takes in one that is not wanted. What went to another bridge is gone from here at once. */
  #pass(listed: T): Happening[] {
    const { id } = listed;
    const home = this.#events.homeOf(listed);
    const known = this.#records.get(id);
    const isNews = !known && !this.#unwanted.has(id);
    this.#unwanted.set(id, home);
    if (isNews) this.#events.passed(id);
    if (!known) this.#absences.forget(id);
    if (!known || home === null || !this.#events.isElsewhere(home)) return [];
    this.#events.crossed(home);
    return [this.#remove(id, known)];
  }

  #add(id: string): void {
    const home = this.#unwanted.get(id) ?? null;
    this.#unwanted.delete(id);
    this.#events.added(id);
    if (home !== null && this.#events.isElsewhere(home)) this.#events.crossed(home);
  }

  #remove(id: string, record: T): Happening {
    this.#forget(id);
    this.#events.removed(id);
    return { event: 'device_removed', kind: this.#kind, record };
  }

  #forget(id: string): void {
    this.#standing = null;
    this.#records.delete(id);
    this.#absences.forget(id);
    this.#flaps.delete(id);
    this.#sightings.forget(id);
    this.#precedence.forget(this.#kind, id);
  }
}
