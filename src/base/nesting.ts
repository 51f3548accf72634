/** Whether a value is nested too deeply: writing it would overflow the stack, here and in other programs. */
export function isTooDeeplyNested(value: unknown, levels = 64): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isTooDeeplyNested(each, levels - 1));
}
