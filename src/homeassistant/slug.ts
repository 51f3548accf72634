/** Letters by their spelling in ASCII, from the table of text-unidecode, which Home Assistant uses. */
const spellings: Readonly<Record<string, string>> = {
  a: 'αаⱥ',
  ae: 'æӕ',
  b: 'βбƀƃ',
  c: 'ƈȼ',
  ch: 'чҽӌҷҹҿ',
  d: 'ðđƌδд',
  deg: '°',
  dj: 'ђ',
  dz: 'ѕӡ',
  dzh: 'џ',
  e: 'εηеЄэѣѧɇ',
  eur: '€',
  f: 'ƒфѳ',
  g: 'ǥγгґғҕ',
  h: 'ħһ',
  i: 'ıιиі',
  ia: 'я',
  ie: 'єѥѩ',
  iu: 'ю',
  j: 'ȷɉј',
  k: 'ĸƙκкқҝҟҡӄ',
  kh: 'χхҩҳ',
  ks: 'Ξѯ',
  l: 'łƚƛλл',
  lj: 'љ',
  m: 'μм',
  n: 'ƞνнңӈ',
  ng: 'ŋҥ',
  nj: 'њ',
  o: 'øοωоөѡѫѻѽ',
  oe: 'œ',
  p: '¶ƥπпҧ',
  ph: 'φ',
  ps: '£ψѱ',
  r: 'ɍρрҏ',
  s: 'ςσсҫ',
  sh: 'ш',
  shch: 'щ',
  ss: 'ß§',
  t: 'ŧƫƭτтҭ',
  th: 'þθ',
  ts: 'ц',
  tsh: 'ћ',
  u: 'υуүұѹ',
  v: 'в',
  w: 'ƿ',
  x: '×ξ',
  y: 'ƴɏыѵ',
  z: 'ƶȥζзҙ',
  zh: 'жҗ',
  ' c ': '©',
  ' r ': '®',
  // These become nothing: soft and hard signs, quotes, and characters that join letters.
  '': 'ъь‘’‛′ʹʻʼʿ\u00ad\u200c\u200d\u200e\u200f',
};

const spelling = new Map(
  Object.entries(spellings).flatMap(([ascii, letters]) =>
    [...letters].map((letter) => [letter, ascii] as const),
  ),
);

/** Marks above or below a letter, and pictures. They are removed. */
const dropped = /[\u0300-\u034e\u0360-\u0362\u0483-\u0486\u2600-\u2671\u2701-\u27be\u{10000}-\u{10ffff}]/u;

/** Characters that separate words. */
const between = /[\u2044\p{P}\p{Z}]/u;

/**
 * The id that Home Assistant makes from a name, by the rules of python-slugify: small letters, digits and single
 * underscores. Null if the name has characters that only Home Assistant's own table can spell.
 */
export function slug(name: string): string | null {
  const spelt = [...name.replaceAll("'", ' ').normalize('NFKD')].map(spell);
  if (spelt.includes(null)) return null;
  const id = spelt
    .join('')
    .replace(/(?<=\d),(?=\d)/g, '')
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  return id === '' ? 'unknown' : id;
}

function spell(character: string): string | null {
  const small = character.toLowerCase();
  if (character <= '\u007f') return small;
  const ascii = spelling.get(character) ?? spelling.get(small);
  if (ascii !== undefined) return ascii;
  if (dropped.test(character)) return '';
  return between.test(character) && !'‰‱⁊⁋'.includes(character) ? ' ' : null;
}
