/** Any text as one line for people, without control characters, and cut to `longest` characters. */
export function oneLine(text: string, longest = 200): string {
  const line = text
    .slice(0, 5 * longest)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
