/** Latin letters that are not a plain letter with a mark. */
const spellings: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
  ...{ '’': '', '‘': '' },
};

/**
 * A name as a part of an entity ID: small letters, digits and single underscores. Home Assistant spells these letters in
 * the same way, so existing entities have the same IDs. Null if nothing is left, or if the name has other letters
 * or signs, which only Home Assistant can spell.
 */
export function asIdPart(name: string): string | null {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[ßæœøłđðþı’‘]/g, (letter) => spellings[letter] ?? '')
    // Marks above or below a letter, and pictures.
    .replace(/[\u0300-\u034e\u{10000}-\u{10ffff}]/gu, '')
    // Home Assistant removes the commas of 1,000.
    .replace(/(?<=\d),(?=\d)/g, '');
  if (/[^\p{ASCII}\p{P}\p{Z}]|[§¶‛\u2030-\u2037\u204a\u204b\u2057]/u.test(plain)) return null;
  return plain.replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '') || null;
}
