/**
 * When each thing was last heard of by itself, as the answer to a change or read alone: a list that was begun before
 * knows less, and must not bring the old value back. All times are ms of the monotonic clock.
 */
export class Precedence {
  readonly #heardAt = new Map<string, Map<string, number>>();

  /** Notes that it was heard of by itself, as it was at that time. */
  heard(kind: string, id: string, at: number): void {
    const times = this.#heardAt.get(kind) ?? new Map<string, number>();
    this.#heardAt.set(kind, times.set(id, at));
  }

  /** Whether a reading begun at that time knows less than is known already. */
  isOlder(kind: string, id: string, startedAt: number): boolean {
    return startedAt < (this.#heardAt.get(kind)?.get(id) ?? Number.NEGATIVE_INFINITY);
  }

  /** Forgets one that is gone. */
  forget(kind: string, id: string): void {
    this.#heardAt.get(kind)?.delete(id);
  }

  /** Forgets what every reading from then on is newer than. */
  forgetBefore(kind: string, startedAt: number): void {
    const times = this.#heardAt.get(kind) ?? [];
    for (const [id, at] of times) if (at <= startedAt) this.forget(kind, id);
  }
}
