import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';

/** How soon a change must be on disk, in ms after it. Fewer writes spare a memory card. */
export const saveIn = { now: 0, aMinute: 60_000, aQuarter: 900_000 } as const;

/** What writes the values to the disk. */
export interface Keeper {
  /** Asks for a write after this time. */
  readonly changed: (delayMs: number) => void;
  /** Resolves once all changes so far are on disk, or cannot be written. */
  readonly saved: () => Promise<void>;
}

export interface FileTimes {
  /** Whether the run that wrote the file may have read more water than the file has. */
  readonly isBehind: boolean;
  /** Whether the wall clock is behind the file. */
  readonly isClockBehind: boolean;
  /** When it is read or written, in ms of the monotonic clock. */
  readonly monotonic: number;
}

/** Which of two values is newer. */
export interface FoundAge {
  /** Whether this run has set the known one. */
  readonly isOfThisRun: boolean;
  /** Whether the found one is from a later run, or from a later moment of the same one. */
  readonly isNewer: boolean;
}

/** One kind of data that survives a restart: values by id, and their form in the file. */
export interface Section<V> {
  /** The values in the file; null if they are damaged. */
  readonly read: (stored: unknown, times: FileTimes) => readonly (readonly [string, V])[] | null;
  readonly write: (values: ReadonlyMap<string, V>, times: FileTimes) => unknown;
  /** How soon a change is written. Undefined stands for no value. */
  readonly saveIn: (value: V | undefined, before: V | undefined) => number;
  /** The value of an id that is known already, and was found in a file or on the broker. */
  readonly merge: (found: V, known: V, which: FoundAge) => V;
}

export function section<Stored, V>(
  stored: z.ZodType<Stored>,
  form: Pick<Section<V>, 'write'> &
    Partial<Pick<Section<V>, 'saveIn' | 'merge'>> & {
      readonly read: (stored: Stored, times: FileTimes) => readonly (readonly [string, V])[];
    },
): Section<V> {
  return {
    saveIn: () => saveIn.now,
    merge: (found, known, { isOfThisRun, isNewer }) => (isNewer && !isOfThisRun ? found : known),
    ...form,
    read: (value, times) => {
      const { success, data } = stored.safeParse(value);
      return success ? form.read(data, times) : null;
    },
  };
}

/** The values of a section. Every change asks for a write by itself. */
export class KeptMap<V> extends Map<string, V> {
  readonly #section: Section<V>;
  readonly #keeper: Keeper;
  /** Ids that this run has set or deleted. What a file says of them is older. */
  readonly #own = new Set<string>();
  #written: ReadonlyMap<string, V> = new Map();
  #onDisk: ReadonlyMap<string, V> = new Map();

  constructor(of: Section<V>, keeper: Keeper) {
    super();
    this.#section = of;
    this.#keeper = keeper;
  }

  override set(id: string, value: V): this {
    const before = this.get(id);
    this.#own.add(id);
    if (isDeepStrictEqual(before, value)) return this;
    super.set(id, value);
    this.#keeper.changed(this.#section.saveIn(value, before));
    return this;
  }

  override delete(id: string): boolean {
    const before = this.get(id);
    this.#own.add(id);
    if (!super.delete(id)) return false;
    this.#keeper.changed(this.#section.saveIn(undefined, before));
    return true;
  }

  keepOnly(ids: readonly string[], value: V): void {
    const wanted = new Set(ids);
    for (const id of this.keys()) if (!wanted.has(id)) this.delete(id);
    for (const id of ids) this.set(id, value);
  }

  /** Resolves once all changes so far are on disk, or cannot be written. */
  saved(): Promise<void> {
    return this.#keeper.saved();
  }

  /** From now on, what this run has set or deleted is as old as what an earlier run has left. */
  disown(): void {
    this.#own.clear();
  }

  onDisk(id: string): V | undefined {
    return this.#onDisk.get(id);
  }

  isSaved(id: string): boolean {
    return isDeepStrictEqual(this.#onDisk.get(id), this.get(id));
  }

  /** Adds what an earlier run has left, in a file or on the broker. What this run has ended stays ended. */
  adopt(found: Iterable<readonly [string, V]>, isNewer: boolean): void {
    for (const [id, value] of found) {
      const known = this.get(id);
      const isOfThisRun = this.#own.has(id);
      if (known !== undefined) super.set(id, this.#section.merge(value, known, { isOfThisRun, isNewer }));
      else if (!isOfThisRun) super.set(id, value);
    }
  }

  /** Changes what an earlier run has left. */
  correct(correctionOf: (value: V) => V): void {
    for (const [id, value] of this) if (!this.#own.has(id)) super.set(id, correctionOf(value));
  }

  /** Adds the values in a file. Returns whether they are intact. */
  read(stored: unknown, times: FileTimes, isNewer: boolean): boolean {
    const found = this.#section.read(stored, times);
    if (found === null) return false;
    this.adopt(found, isNewer);
    this.#onDisk = new Map([...this.#onDisk, ...found]);
    return true;
  }

  write(times: FileTimes): unknown {
    this.#written = new Map(this);
    return this.#section.write(this, times);
  }

  /** The last written values are on disk now. */
  confirmWritten(): void {
    this.#onDisk = this.#written;
  }
}
