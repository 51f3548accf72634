/**
 * Sonics that are unreachable: an incident that only they can report would be missing. A property that has one cannot say
 * that no incident is open there.
 */
export class UnreachableSonics {
  /** By sonic, its property; null: that is not known, and it may be any. */
  readonly #properties = new Map<string, string | null>();
  readonly #counts = new Map<string | null, number>();

  /** Records the property of an unreachable sonic; undefined for one that is reachable. Returns the properties whose answer changes. */
  record(id: string, propertyId: string | null | undefined): (string | null)[] {
    const before = this.#properties.get(id);
    if (before === propertyId) return [];
    if (propertyId === undefined) this.#properties.delete(id);
    else this.#properties.set(id, propertyId);
    return [...this.#count(before, -1), ...this.#count(propertyId, 1)];
  }

  /** Whether a property has an unreachable sonic, or may have one. */
  mayBeIn(propertyId: string): boolean {
    return this.#counts.has(propertyId) || this.#counts.has(null);
  }

  /** Returns the property if it now has its first unreachable sonic, or has none any more. */
  #count(propertyId: string | null | undefined, step: 1 | -1): (string | null)[] {
    if (propertyId === undefined) return [];
    const before = this.#counts.get(propertyId) ?? 0;
    const count = before + step;
    if (count === 0) this.#counts.delete(propertyId);
    else this.#counts.set(propertyId, count);
    return (before === 0) === (count === 0) ? [] : [propertyId];
  }
}
