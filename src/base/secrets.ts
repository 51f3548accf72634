/** The cloud accepts so many tokens of a client. Older ones are of no use any more. */
const mostTokens = 10;

/** A shorter one would hide parts of ordinary words. */
const shortestHidden = 4;

/** A shorter one may be a word, such as `open` or `mqtt`. If it were hidden everywhere, the gaps would reveal it. */
export const shortestHiddenAnywhere = 8;

/** Values to hide wherever they turn up: in messages, error texts and stacks. */
export class Secrets {
  readonly #lasting = new Set<string>();
  /** Newest last. */
  #tokens: readonly string[] = [];
  #hidden: Forms = formsOf([]);
  #hiddenInData: Forms = formsOf([]);

  /** Hides the value from now on. */
  add(value: string | undefined): void {
    if (value === undefined || this.#lasting.has(value)) return;
    this.#lasting.add(value);
    this.#spellOut();
  }

  /** Hides a session token until so many newer ones came that it is of no use. Over years there are many. */
  addToken(token: string): void {
    this.#tokens = [...this.#tokens.filter((each) => each !== token), token].slice(-mostTokens);
    this.#spellOut();
  }

  /**
   * The text with each secret replaced. A short secret is replaced if it is no word and has no letter beside it, or if it
   * follows a name such as `token`.
   */
  hide(text: string): string {
    return without(this.#hidden, text);
  }

  /** A text that programs read too, with each secret replaced that is too long for a word. */
  hideInData(text: string): string {
    return without(this.#hiddenInData, text);
  }

  #spellOut(): void {
    const all = [...this.#lasting, ...this.#tokens];
    this.#hidden = formsOf(all.filter(({ length }) => length >= shortestHidden));
    this.#hiddenInData = formsOf(all.filter(({ length }) => length >= shortestHiddenAnywhere));
  }
}

/** How secrets are found in a text. */
interface Forms {
  /** Longest first, so that no secret is hidden only in part. */
  readonly anywhere: readonly string[];
  readonly short: readonly RegExp[];
}

function formsOf(secrets: readonly string[]): Forms {
  const forms = [...new Set(secrets.flatMap(spellingsOf))].sort((left, right) => right.length - left.length);
  const short = forms.filter(({ length }) => length < shortestHiddenAnywhere);
  const noWords = short.filter((form) => !/^(\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+)$/u.test(form));
  return {
    anywhere: forms.filter(({ length }) => length >= shortestHiddenAnywhere),
    short: [
      ...(short.length > 0 ? [new RegExp(`(${calledSecret})${oneOf(short)}`, 'giu')] : []),
      ...(noWords.length > 0 ? [new RegExp(`(${noLetter.before})${oneOf(noWords)}`, 'gu')] : []),
    ],
  };
}

const noLetter = { before: '(?<![\\p{L}\\p{N}])', after: '(?![\\p{L}\\p{N}])' };

/** Text before a secret that shows that it is one: a name, or the user in a URL. Quotes in JSON in JSON have a \\ before. */
const quote = `\\\\*["']?`;
const calledSecret = `(?:passw(?:or)?d|token|secret|api_?key|webhook)${quote}\\s*[:=/]\\s*${quote}|://[^\\s/:@]*:`;

function oneOf(forms: readonly string[]): string {
  const escaped = forms.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return `(?:${escaped.join('|')})${noLetter.after}`;
}

function without({ anywhere, short }: Forms, text: string): string {
  let hidden = text;
  for (const form of anywhere) hidden = hidden.replaceAll(form, '[hidden]');
  for (const pattern of short) hidden = hidden.replaceAll(pattern, '$1[hidden]');
  return hidden;
}

/** The spellings of a value: as it is, in a URL or a form, in JSON, in hexadecimal, in base64. */
function spellingsOf(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  const url = encodeURIComponent(bytes.toString('utf8'));
  const json = JSON.stringify(value).slice(1, -1);
  const hex = bytes.toString('hex');
  return [
    ...[value, url, url.replace(/%../g, (code) => code.toLowerCase()), url.replaceAll('%20', '+')],
    // JSON may be in JSON again, as an answer in an error's text is.
    ...[json, JSON.stringify(json).slice(1, -1), inAscii(json)],
    ...[hex, hex.toUpperCase()],
    ...inBase64(bytes),
  ];
}

function inAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** In base64, for each of its three places in the encoded text: only the characters that depend on it alone. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const start = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const forms = [whole.toString('base64'), whole.toString('base64url')];
    return forms.map((text) => text.slice(start, end)).filter(({ length }) => length >= shortestHidden);
  });
}
