/** What a terminal acts on, and what makes text stand elsewhere than it is written. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text as it can be shown to people, whoever wrote it; in a JSON text the values stay what they are. */
export function sanitize(text: string): string {
  return text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
