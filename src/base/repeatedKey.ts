/** A key that an object in this JSON has twice, at any depth; null if there is none. Nobody knows what is meant. */
export function repeatedKey(json: string): string | null {
  const open: Set<string>[] = [];
  let word = '';
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:]/g)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') word = token;
    else {
      const key: string = JSON.parse(word);
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return null;
}
