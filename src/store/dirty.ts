/** What is planned for: devices by kind, and open incidents. */
export const plannedKinds = ['property', 'signal', 'sonic', 'incident'] as const;
export type PlannedKind = (typeof plannedKinds)[number];

/** Ids of what must be planned anew, by kind. */
export type Dirty = Readonly<Record<PlannedKind, ReadonlySet<string>>>;
