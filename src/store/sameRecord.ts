/** Whether two records hold the same, so that nothing need be planned anew. */
export function isSameRecord(left: object, right: object): boolean {
  if (left === right) return true;
  const [before, after] = [Object.entries(left), Object.entries(right)];
  if (before.length !== after.length) return false;
  const values = right as Record<string, unknown>;
  return before.every(([key, value]) => {
    const other = values[key];
    if (Object.is(value, other)) return true;
    if (typeof value !== 'object' || typeof other !== 'object') return false;
    return JSON.stringify(value) === JSON.stringify(other);
  });
}
