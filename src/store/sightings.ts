/** When each sonic, or signal, was last brought by a reading; all times are ms of the monotonic clock. */
export class Sightings {
  readonly #seenAt = new Map<string, number>();
  /** Missed by readings for too long: what is known of them is old. */
  readonly #unread = new Set<string>();
  /** When a reading was begun that brought all of them. */
  #allSeenAt = Number.NEGATIVE_INFINITY;

  /** Notes that a reading begun at that time brought it; says whether it was unread. */
  seen(id: string, startedAt: number): boolean {
    this.#seenAt.set(id, Math.max(startedAt, this.#seenAt.get(id) ?? startedAt));
    return this.#unread.delete(id);
  }

  /** Notes that a reading begun at that time brought all that are known; those that were unread. */
  allSeen(startedAt: number): string[] {
    this.#allSeenAt = Math.max(startedAt, this.#allSeenAt);
    const unread = [...this.#unread];
    this.#unread.clear();
    return unread;
  }

  /** Notes a reading begun at that time that was incomplete or failed; the ids missed for longer than allowed. */
  missed(startedAt: number, allowedMs: number): string[] {
    const overdue = [...this.#seenAt]
      .filter(([id, seenAt]) => startedAt - this.#latest(seenAt) > allowedMs && !this.#unread.has(id))
      .map(([id]) => id);
    for (const id of overdue) this.#unread.add(id);
    return overdue;
  }

  /** When a reading that brought it was begun; undefined where none has. */
  at(id: string): number | undefined {
    const seenAt = this.#seenAt.get(id);
    return seenAt === undefined ? undefined : this.#latest(seenAt);
  }

  isUnread(id: string): boolean {
    return this.#unread.has(id);
  }

  /** Forgets one that is gone. */
  forget(id: string): void {
    this.#seenAt.delete(id);
    this.#unread.delete(id);
  }

  #latest(seenAt: number): number {
    return Math.max(seenAt, this.#allSeenAt);
  }
}
