/** The cloud honours so many tokens of a client: an older one opens nothing any more. */
const mostTokens = 10;

const shortestHidden = 4;

/** A shorter one may be a word of the data, such as `open`, and nothing would be right any more without it. */
const shortestHiddenInData = 8;

/** Values to hide wherever they turn up: in messages, error texts and stacks. */
export class Secrets {
  readonly #lasting = new Set<string>();
  /** Newest last. */
  #tokens: readonly string[] = [];
  /** Longest first, lest one be hidden only as far as another goes. */
  #forms: readonly string[] = [];
  #formsInData: readonly string[] = [];

  /** Hides the value from now on. */
  add(value: string | undefined): void {
    if (value === undefined || this.#lasting.has(value)) return;
    this.#lasting.add(value);
    this.#spellOut();
  }

  /** Hides a session token until so many newer ones came that it is worth nothing: over years they are many. */
  addToken(token: string): void {
    this.#tokens = [...this.#tokens.filter((each) => each !== token), token].slice(-mostTokens);
    this.#spellOut();
  }

  /** The text with each secret replaced. */
  hide(text: string): string {
    return without(this.#forms, text);
  }

  /** The text, which others than people read too, with each secret replaced that cannot be one of its words. */
  hideInData(text: string): string {
    return without(this.#formsInData, text);
  }

  #spellOut(): void {
    this.#forms = this.#formsFrom(shortestHidden);
    this.#formsInData = this.#formsFrom(shortestHiddenInData);
  }

  /** Shorter secrets would blot out innocent text. */
  #formsFrom(shortest: number): string[] {
    const hidden = [...this.#lasting, ...this.#tokens].filter(({ length }) => length >= shortest);
    return [...new Set(hidden.flatMap(formsOf))].sort((left, right) => right.length - left.length);
  }
}

function without(forms: readonly string[], text: string): string {
  let hidden = text;
  for (const form of forms) hidden = hidden.replaceAll(form, '[hidden]');
  return hidden;
}

/** The ways in which others may write it: as it is, in a URL or a form, in JSON, in hexadecimal, in base64. */
function formsOf(value: string): string[] {
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

/** Wherever it begins in what is encoded, as after the name in `name:password`: the characters that tell of it alone. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const start = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const forms = [whole.toString('base64'), whole.toString('base64url')];
    return forms.map((text) => text.slice(start, end)).filter(({ length }) => length >= shortestHidden);
  });
}
