/** How old what was read of each device is; all times are ms of the monotonic clock. */
export class Ages {
  readonly #readAt = new Map<string, number>();
  /** What could not be read for so long that what is known of them is old. */
  readonly #old = new Set<string>();

  /** Notes that a device was read at that time. */
  read(id: string, at: number): void {
    this.#readAt.set(id, at);
    this.#old.delete(id);
  }

  /** Notes that a device could not be read at that time; says whether that makes it old. */
  missed(id: string, at: number, allowedMs: number): boolean {
    const readAt = this.#readAt.get(id);
    if (readAt === undefined || this.#old.has(id) || at - readAt <= allowedMs) return false;
    this.#old.add(id);
    return true;
  }

  /** Whether a device was ever read. */
  isRead(id: string): boolean {
    return this.#readAt.has(id);
  }

  isOld(id: string): boolean {
    return this.#old.has(id);
  }

  /** Forgets a device that is gone. */
  forget(id: string): void {
    this.#readAt.delete(id);
    this.#old.delete(id);
  }

  /** Forgets all devices but these; says which. */
  keepOnly(ids: readonly string[]): string[] {
    const kept = new Set(ids);
    const gone = [...this.#readAt.keys()].filter((id) => !kept.has(id));
    for (const id of gone) this.forget(id);
    return gone;
  }
}
