/** What all spellings of an id share: the ids of the cloud are UUIDs, which mean the same in capitals. */
export function idKey(id: string): string {
  return id.toLowerCase();
}

/** Whether two ids name the same record. */
export function isSameId(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && idKey(one) === idKey(other);
}
