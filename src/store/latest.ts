import { isSameRecord } from './sameRecord.ts';

/** Keeps the record's identity when nothing changed; says whether anything did. */
export function update<T extends object | null>(map: Map<string, T>, id: string, record: T): boolean {
  const before = map.get(id);
  if (before === record) return false;
  if (before && record && isSameRecord(before, record)) return false;
  map.set(id, record);
  return true;
}

/** The answer to a change; what it does not tell is as it was. */
export function merged<T extends object>(before: T, answer: T): T {
  const told = Object.entries(answer).filter(([field, value]) => field !== 'id' && value !== null);
  return { ...before, ...Object.fromEntries(told) };
}
