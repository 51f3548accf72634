/** The cloud accepts this many tokens of a client. Older tokens are of no use any more. */
const mostTokens = 10;

/** Shorter secrets are not hidden, because that would hide parts of ordinary words. */
const shortestHidden = 4;

/** Shorter secrets may be words, such as `open`. Hidden everywhere, their gaps would reveal them. */
export const shortestHiddenAnywhere = 8;

/** Values to hide wherever they appear: in messages, error texts and stack traces. */
export class Secrets {
  readonly #lasting = new Set<string>();
  /** Session tokens, the newest last. */
  #tokens: readonly string[] = [];
  #hidden: Forms = formsOf([]);
  #hiddenInData: Forms = formsOf([]);
  #changes = 0;

  /** How often what is hidden has changed. */
  get changes(): number {
    return this.#changes;
  }

  add(value: string | undefined): void {
    if (value === undefined || this.#lasting.has(value)) return;
    this.#lasting.add(value);
    this.#spellOut();
  }

  /** Hides a session token until enough newer ones have made it useless. Over years there are many tokens. */
  addToken(token: string): void {
    this.#tokens = [...this.#tokens.filter((each) => each !== token), token].slice(-mostTokens);
    this.#spellOut();
  }

  /**
   * Replaces each secret in a text. A short secret is replaced only if it is no plain word or number and has no letter
   * beside it, or if it follows a name such as `token`.
   */
  hide(text: string): string {
    return without(this.#hidden, text);
  }

  /** Replaces the long secrets in a text that programs read too. Short secrets stay, because they may be words. */
  hideInData(text: string): string {
    return without(this.#hiddenInData, text);
  }

  #spellOut(): void {
    this.#changes += 1;
    const all = [...this.#lasting, ...this.#tokens];
    this.#hidden = formsOf(all.filter(({ length }) => length >= shortestHidden));
    this.#hiddenInData = formsOf(all.filter(({ length }) => length >= shortestHiddenAnywhere));
  }
}

interface Forms {
  /** The longest first, so that no secret is hidden only in part. */
  readonly anywhere: readonly string[];
  /** Without gaps: a text may have them broken over lines. */
  readonly joined: readonly string[];
  readonly short: readonly RegExp[];
}

function formsOf(secrets: readonly string[]): Forms {
  const forms = [...new Set(secrets.flatMap(spellingsOf))].sort((left, right) => right.length - left.length);
  const short = forms.filter(({ length }) => length < shortestHiddenAnywhere);
  const joined = new Set(forms.map(withoutGaps).filter(({ length }) => length >= shortestHiddenAnywhere));
  const noWords = short.filter((form) => !/^(\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+)$/u.test(form));
  return {
    anywhere: forms.filter(({ length }) => length >= shortestHiddenAnywhere),
    joined: [...joined],
    short: [
      ...(short.length > 0 ? [new RegExp(`(${calledSecret})${oneOf(short)}`, 'giu')] : []),
      ...(noWords.length > 0 ? [new RegExp(`(${noLetter.before})${oneOf(noWords)}`, 'gu')] : []),
    ],
  };
}

const noLetter = { before: '(?<![\\p{L}\\p{N}])', after: '(?![\\p{L}\\p{N}])' };

/** What identifies a secret: a name, or the user in a URL. Quotes of JSON inside JSON have a \\ before them. */
const quote = `\\\\*["']?`;
const calledSecret = `(?:passw(?:or)?d|token|secret|api_?key|webhook)${quote}\\s*[:=/]\\s*${quote}|://[^\\s/:@]*:`;

function oneOf(forms: readonly string[]): string {
  return `(?:${forms.map(literal).join('|')})${noLetter.after}`;
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** White space and invisible characters, as they are and as JSON, JSON inside JSON and URLs write them. */
const gap = '(?:[\\s\\p{Cc}\\p{Cf}]|\\\\+(?:[nrtfv]|u00[01][0-9a-fA-F]|u202[89])|%0[9adAD]|%20)';
const gaps = new RegExp(`${gap}+`, 'gu');

function withoutGaps(text: string): string {
  return text.replaceAll(gaps, '');
}

function brokenPattern(joined: string): RegExp {
  return new RegExp([...joined].map(literal).join(`${gap}*`), 'gu');
}

function without({ anywhere, joined, short }: Forms, text: string): string {
  let hidden = text;
  for (const form of anywhere) hidden = hidden.replaceAll(form, '[hidden]');
  // The patterns are slow to make and to search, so only a text that has the secret without its gaps needs them.
  const whole = joined.length > 0 ? withoutGaps(hidden) : '';
  for (const form of joined)
    if (whole.includes(form)) hidden = hidden.replaceAll(brokenPattern(form), '[hidden]');
  for (const pattern of short) hidden = hidden.replaceAll(pattern, '$1[hidden]');
  return hidden;
}

/** The spellings of a value: unchanged, in a URL or a form, in JSON. */
function spellingsOf(value: string): string[] {
  // Half of a surrogate pair cannot be encoded.
  const url = encodeURIComponent(Buffer.from(value, 'utf8').toString('utf8'));
  const json = JSON.stringify(value).slice(1, -1);
  return [
    ...[value, url, url.replace(/%../g, (code) => code.toLowerCase()), url.replaceAll('%20', '+')],
    // JSON may be inside JSON, for example an answer in the text of an error.
    ...[json, JSON.stringify(json).slice(1, -1), inAscii(json)],
  ];
}

function inAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
