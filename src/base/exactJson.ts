// JSON in which numbers keep their digits: JSON.parse would round an ID of twenty digits, and write 1.0 as 1.

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** A number that JSON.stringify would write differently becomes a text that begins with a null character. */
export function parseExact(json: string): unknown {
  // Throws if it is not JSON.
  const value: unknown = JSON.parse(json);
  const exact = json.replace(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"\\u0000${token}"`,
  );
  return exact === json ? value : JSON.parse(exact);
}

export function writeExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(/"\\u0000(-?\d[\d.eE+-]*)"/g, '$1');
}
