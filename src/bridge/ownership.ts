/** Which property each signal belongs to, as the properties tell; signals themselves do not say. */
export class Ownership {
  readonly #owners = new Map<string, string>();
  /** Properties whose signals were read completely. */
  readonly #surveyed = new Set<string>();

  /** Takes in which signals a property has; the ids of signals for which that is news. */
  set(propertyId: string, signalIds: readonly string[], isComplete: boolean): string[] {
    const news = signalIds.filter((id) => this.#owners.get(id) !== propertyId);
    const lost = isComplete
      ? [...this.#owners].flatMap(([id, owner]) =>
          owner === propertyId && !signalIds.includes(id) ? [id] : [],
        )
      : [];
    if (isComplete) this.#surveyed.add(propertyId);
    for (const id of news) this.#owners.set(id, propertyId);
    for (const id of lost) this.#owners.delete(id);
    return [...news, ...lost];
  }

  /** Forgets a property that is gone; the ids of the signals that it had. */
  forget(propertyId: string): string[] {
    const lost = this.set(propertyId, [], true);
    this.#surveyed.delete(propertyId);
    return lost;
  }

  /** The property of a signal; null while that is not known. */
  of(signalId: string | null): string | null {
    return signalId === null ? null : (this.#owners.get(signalId) ?? null);
  }

  /** The signals that belong to any property. */
  signalIds(): string[] {
    return [...this.#owners.keys()];
  }

  /** Whether it is known of each of these properties that it has no signal; those of which it is. */
  without(propertyIds: Iterable<string>): string[] {
    const owners = new Set(this.#owners.values());
    return [...propertyIds].filter((id) => this.#surveyed.has(id) && !owners.has(id));
  }
}
