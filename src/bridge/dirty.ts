/** What is planned for: devices by kind, and open incidents. */
export const plannedKinds = ['property', 'signal', 'sonic', 'incident'] as const;
export type PlannedKind = (typeof plannedKinds)[number];

/** Ids of what changed since it was last asked, by kind. */
export type Dirty = Readonly<Record<PlannedKind, ReadonlySet<string>>>;

/** Collects what must be planned anew. */
export class DirtySet {
  #ids = nothing();

  add(kind: PlannedKind, id: string): void {
    this.#ids[kind].add(id);
  }

  /** What was added since the last time this was asked. */
  take(): Dirty {
    const taken = this.#ids;
    this.#ids = nothing();
    return taken;
  }
}

function nothing(): Record<PlannedKind, Set<string>> {
  return { property: new Set(), signal: new Set(), sonic: new Set(), incident: new Set() };
}
