// JSON in which numbers keep their digits: JSON.parse would round an ID of twenty digits, and write 1.0 as 1.

/**
 * Replaces the texts of a JSON document, each with its quotes, and what is between them. It is a loop, because a regular
 * expression needs too much stack for a text of some megabytes.
 */
export function mapTexts(
  json: string,
  ofText: (text: string) => string,
  between = (part: string) => part,
): string {
  let mapped = '';
  let from = 0;
  for (let start = json.indexOf('"'); start >= 0; start = json.indexOf('"', from)) {
    let end = start + 1;
    while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
    mapped += between(json.slice(from, start)) + ofText(json.slice(start, end + 1));
    from = end + 1;
  }
  return mapped + between(json.slice(from));
}

/**
 * A number that JSON.stringify would write differently becomes a text that begins with a null character. A text that begins
 * with one gets a second one.
 */
export function parseExact(json: string): unknown {
  // Throws if it is not JSON.
  const value: unknown = JSON.parse(json);
  const exact = mapTexts(
    json,
    (text) => text.replace(/^"(?=\\u0000)/, '"\\u0000'),
    (part) =>
      part.replace(/-?\d[\d.eE+-]*/g, (number) =>
        String(Number(number)) === number ? number : `"\\u0000${number}"`,
      ),
  );
  return exact === json ? value : JSON.parse(exact);
}

export function writeExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /(?<!\\)"\\u0000(?:(-?\d[\d.eE+-]*)"|(?=\\u0000))/g,
    (_, number?: string) => number ?? '"',
  );
}
