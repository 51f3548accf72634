/** The value of a JSON text; null if the text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The fields of a JSON object; none if the text is anything else. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  const value = jsonIn(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
