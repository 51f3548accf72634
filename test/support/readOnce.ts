let last: { readonly text: string; readonly value: unknown } = { text: 'null', value: null };

/** The value of a JSON text, which nobody changes: fifty entities and four judges read one document. Throws as JSON.parse does. */
export function readOnce(text: string): unknown {
  if (last.text !== text) last = { text, value: JSON.parse(text) };
  return last.value;
}
