/** Licences that ask for no more than to be named, by their SPDX names. */
const permissive = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0'],
  ...['Unlicense', 'CC0-1.0', 'Zlib'],
]);

/** Whether an SPDX expression can be fulfilled by permissive licences alone; no licence is no permission. */
export function isPermissive(expression: string | undefined): boolean {
  if (expression === undefined) return false;
  // Brackets first: what they come to stands for them.
  const flat = expression.replace(/\(([^()]*)\)/, (_, inner) => (isPermissive(inner) ? 'MIT' : 'UNLICENSED'));
  if (flat !== expression) return isPermissive(flat);
  return flat
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((each) => permissive.has(each.trim())));
}
