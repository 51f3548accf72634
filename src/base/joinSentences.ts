/** Several texts as one: each but the last ends with a full stop, unless it has an end. */
export function joinSentences(texts: readonly string[]): string {
  return texts
    .map((text, index) => (index === texts.length - 1 || /[.?!…]$/.test(text) ? text : `${text}.`))
    .join(' ');
}
