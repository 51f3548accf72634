import { update } from './latest.ts';

/** What the cloud has of each device of a kind, where it offers such a thing at all. */
export class PerDevice<T extends object> {
  /** Null: the cloud has none of this device. */
  readonly #latest = new Map<string, T | null>();
  #isOffered = true;

  /** Null where the cloud has none, undefined as long as that is not known. */
  of(id: string): T | null | undefined {
    return this.#isOffered ? this.#latest.get(id) : null;
  }

  /** Takes in what is known; says whether it shows anything new. */
  set(id: string, value: T | null): boolean {
    return this.#isOffered && update(this.#latest, id, value);
  }

  /** The cloud does not offer any; says whether that is new. */
  drop(): boolean {
    const isNew = this.#isOffered;
    this.#isOffered = false;
    this.#latest.clear();
    return isNew;
  }

  /** Forgets a device that is gone. */
  forget(id: string): void {
    this.#latest.delete(id);
  }
}
