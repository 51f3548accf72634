/**
 * The unreachable hubs and sonics. Such a device cannot report its incidents. So for its property, the absence of
 * incidents does not mean that no incident is open.
 */
export class UnreachableDevices {
  /** By device: its property; null if the property is not known, so that it may be any. */
  readonly #properties = new Map<string, string | null>();
  readonly #counts = new Map<string | null, number>();

  /**
   * Records the property of an unreachable device; `propertyId` is undefined if the device is reachable. Returns the
   * properties for which `mayBeIn` may now have another result; null in the list stands for all of them.
   */
  record(key: string, propertyId: string | null | undefined): (string | null)[] {
    const before = this.#properties.get(key);
    if (before === propertyId) return [];
    if (propertyId === undefined) this.#properties.delete(key);
    else this.#properties.set(key, propertyId);
    return [...this.#count(before, -1), ...this.#count(propertyId, 1)];
  }

  /** Whether a property has an unreachable device, or may have one. */
  mayBeIn(propertyId: string): boolean {
    return this.#counts.has(propertyId) || this.#counts.has(null);
  }

  /** Returns the property if its first unreachable device was added, or its last one was removed. */
  #count(propertyId: string | null | undefined, step: 1 | -1): (string | null)[] {
    if (propertyId === undefined) return [];
    const before = this.#counts.get(propertyId) ?? 0;
    const count = before + step;
    if (count === 0) this.#counts.delete(propertyId);
    else this.#counts.set(propertyId, count);
    return (before === 0) === (count === 0) ? [] : [propertyId];
  }
}
