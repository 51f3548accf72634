import { Absences } from './absences.ts';

/** Which property each signal belongs to, as the properties tell; signals themselves do not say. */
export class Ownership {
  readonly #owners = new Map<string, string>();
  readonly #owned = new Map<string, Set<string>>();
  /** What the list of each property had last, be it taken for its own or for another's. */
  readonly #listed = new Map<string, ReadonlySet<string>>();
  /** Properties whose signals were read completely. */
  readonly #surveyed = new Set<string>();
  readonly #absences = new Absences();

  /**
   * Takes in which signals a property has; the ids of signals for which that is news. One that complete lists miss
   * stays where it was until they are to be believed, unless another property has it; one that two have is in the one
   * that came by it later, lest it move with each list.
   */
  set(propertyId: string, signalIds: readonly string[], isComplete: boolean): string[] {
    const owned = this.#owned.get(propertyId) ?? new Set();
    const before = this.#listed.get(propertyId);
    const listed = new Set([...(isComplete ? [] : (before ?? [])), ...signalIds]);
    this.#listed.set(propertyId, listed);
    const news = signalIds.filter((id) =>
      owned.has(id) ? this.#absences.has(id) : this.of(id) === null || !before?.has(id),
    );
    const missed = [...owned].filter((id) => !listed.has(id) && isComplete);
    const lost = missed.filter((id) => this.#whoLists(id) !== undefined || this.#absences.missed(id));
    if (isComplete) this.#surveyed.add(propertyId);
    for (const id of news) this.#give(id, propertyId);
    for (const id of lost) {
      const other = this.#whoLists(id);
      if (other === undefined) this.#take(id);
      else this.#give(id, other);
    }
    return [...news, ...lost];
  }

  /** Forgets a property that is gone; the ids of the signals that it had. */
  forget(propertyId: string): string[] {
    const lost = [...(this.#owned.get(propertyId) ?? [])];
    for (const id of lost) this.#take(id);
    this.#listed.delete(propertyId);
    this.#surveyed.delete(propertyId);
    return lost;
  }

  /** The property of a signal; null while that is not known. */
  of(signalId: string | null): string | null {
    return signalId === null ? null : (this.#owners.get(signalId) ?? null);
  }

  /** Whether the last complete list of its property missed the signal. */
  isMissed(signalId: string): boolean {
    return this.#absences.has(signalId);
  }

  /** Whether the last complete list of the property missed any that it had. */
  isAnyMissedIn(propertyId: string): boolean {
    return [...(this.#owned.get(propertyId) ?? [])].some((id) => this.isMissed(id));
  }

  /** The signals that belong to any property. */
  signalIds(): string[] {
    return [...this.#owners.keys()];
  }

  /** Whether all signals of these properties are known. */
  isWhole(propertyIds: Iterable<string>): boolean {
    return [...propertyIds].every((id) => this.#surveyed.has(id));
  }

  /** Those of these properties of which it is known that they have no signal. */
  without(propertyIds: Iterable<string>): string[] {
    const hasNone = (id: string) => !this.#owned.has(id) && this.#listed.get(id)?.size === 0;
    return [...propertyIds].filter((id) => this.#surveyed.has(id) && hasNone(id));
  }

  #whoLists(signalId: string): string | undefined {
    return [...this.#listed].find(([, ids]) => ids.has(signalId))?.[0];
  }

  #give(signalId: string, propertyId: string): void {
    this.#take(signalId);
    this.#owners.set(signalId, propertyId);
    const owned = this.#owned.get(propertyId) ?? new Set();
    this.#owned.set(propertyId, owned.add(signalId));
  }

  #take(signalId: string): void {
    const owner = this.of(signalId);
    if (owner === null) return;
    this.#absences.forget(signalId);
    this.#owners.delete(signalId);
    const owned = this.#owned.get(owner);
    owned?.delete(signalId);
    if (owned?.size === 0) this.#owned.delete(owner);
  }
}
