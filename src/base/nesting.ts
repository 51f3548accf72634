/**
 * Whether a JSON value has more levels than any useful one. Such a value can be parsed, but writing it again overflows
 * the stack, here and in other programs.
 */
export function isTooDeeplyNested(value: unknown, levels = 64): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isTooDeeplyNested(each, levels - 1));
}
