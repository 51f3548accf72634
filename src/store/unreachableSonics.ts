/**
 * The unreachable sonics. Such a sonic cannot report its incidents. So for its property, the absence of incidents does
 * not mean that no incident is open.
 */
export class UnreachableSonics {
  /** By sonic: its property; null if the property is not known, so that it may be any. */
  readonly #properties = new Map<string, string | null>();
  readonly #counts = new Map<string | null, number>();

  /**
   * Records the property of an unreachable sonic; `propertyId` is undefined if the sonic is reachable. Returns the
   * properties for which `mayBeIn` may now have another result; null in the list stands for all of them.
   */
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

  /** Returns the property if its first unreachable sonic was added, or its last one was removed. */
  #count(propertyId: string | null | undefined, step: 1 | -1): (string | null)[] {
    if (propertyId === undefined) return [];
    const before = this.#counts.get(propertyId) ?? 0;
    const count = before + step;
    if (count === 0) this.#counts.delete(propertyId);
    else this.#counts.set(propertyId, count);
    return (before === 0) === (count === 0) ? [] : [propertyId];
  }
}
