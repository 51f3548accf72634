/** Control characters of terminals, and characters that change the order of the text. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Escapes these characters, so that people can read the text safely. If it is JSON, its values stay the same. */
export function sanitize(text: string): string {
  return text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
