/** Joins texts. Each text but the last gets a full stop, unless it already ends with a punctuation mark. */
export function joinSentences(texts: readonly string[]): string {
  return texts
    .map((text, index) => (index === texts.length - 1 || /[.?!…]$/.test(text) ? text : `${text}.`))
    .join(' ');
}
