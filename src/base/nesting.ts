/**
 * Whether a value of JSON lies in more levels than anybody means. Reading such a text is no trouble, but writing it
 * again, here and in those who hear of it, overflows the stack.
 */
export function isTooDeeplyNested(value: unknown, levels = 64): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isTooDeeplyNested(each, levels - 1));
}
