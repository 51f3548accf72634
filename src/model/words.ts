/** A word of the cloud as the program compares it: in lower case and without spaces around it. */
export function wordOf(text: string): string {
  return text.trim().toLowerCase();
}

/** Whether two words of the cloud are the same one; null is the same as null. */
export function isSameWord(one: string | null, other: string | null): boolean {
  return one === null || other === null ? one === other : wordOf(one) === wordOf(other);
}

/** The one of these words that a text of the cloud is; null if it is none of them. */
export function knownWord<Word extends string>(words: readonly Word[], text: string | null): Word | null {
  const written = wordOf(text ?? '');
  return words.find((word) => word === written) ?? null;
}
