/** Control characters of terminals, and characters that change the order of the text. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text with these characters escaped, so that it can be shown to people. The values of a JSON text stay the same. */
export function sanitize(text: string): string {
  return text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
