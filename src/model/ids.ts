/** The same key for all spellings of an id: the cloud's ids are UUIDs, in which capitals make no difference. */
export function idKey(id: string): string {
  return id.toLowerCase();
}

/** Whether two ids name the same record. */
export function isSameId(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && idKey(one) === idKey(other);
}
