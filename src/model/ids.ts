/** Whether two ids name the same record: the cloud's ids are UUIDs, in which capitals make no difference. */
export function isSameId(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one.toLowerCase() === other.toLowerCase();
}

/** Values by id, in whatever spelling. Its keys are in lower case. */
export class IdMap<V> extends Map<string, V> {
  // Nearly all ids are in lower case already, and to make one so takes longer than to look for it.
  override get(id: string): V | undefined {
    const found = super.get(id);
    if (found !== undefined) return found;
    const lower = id.toLowerCase();
    return lower === id ? undefined : super.get(lower);
  }

  override has(id: string): boolean {
    return super.has(id) || super.has(id.toLowerCase());
  }

  override set(id: string, value: V): this {
    return super.set(id.toLowerCase(), value);
  }

  override delete(id: string): boolean {
    return super.delete(id.toLowerCase());
  }
}
