let last: { readonly text: string; readonly value: unknown } = { text: 'null', value: null };

/**
 * The value of a JSON text. The last text is parsed only once, because many entities and judges read the same
 * document. Callers must not change the value. Throws like JSON.parse.
 */
export function parseCachedJson(text: string): unknown {
  if (last.text !== text) last = { text, value: JSON.parse(text) };
  return last.value;
}
