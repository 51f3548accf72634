import { sanitize } from '../base/sanitize.ts';
import type { Secrets } from '../base/secrets.ts';
import { optionRows } from '../config/schema.ts';
import { isAtOrBelow } from '../config/tree.ts';

/** Shorter texts, and short numbers, are everywhere and tell nothing of anybody. */
const shortestHidden = 2;
const shortestHiddenNumber = 5;

/** What is written so is somebody's, whoever has told it; what the function keeps is not. */
const patterns: readonly (readonly [RegExp, string, ((found: string) => boolean)?])[] = [
  [/[^\s@"'<>(),;:]+@[^\s@"'<>(),;]+\.[^\s@"'<>(),;]+/gu, '[e-mail]'],
  [/(?:[A-Z]:\\|\/)(?:home|Users|root)\b[^\s"',;)]*/gi, '[path]'],
  [/\b[\da-f]{2}(?:[:-][\da-f]{2}){5}\b/gi, '[hardware address]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '[IP address]', isOwnAddress],
  [/(?<![\w:.])(?=[\da-f:]*::|(?:[\da-f]{1,4}:){7})[\da-f:]{3,}(?:%\w+)?/gi, '[IP address]', isOwnAddress],
  [/(?<![\w.])(?:\+|00?)\d[\d ()/-]{6,}\d/g, '[telephone number]'],
  [/(?<![\w.])-?\d{1,3}\.\d{4,}\b/g, '[coordinate]'],
  [/(?<![\w.-])(?:[a-z\d-]+\.)+[a-z]{2,}(?![\w-]|\.\w)/gi, '[host]', isOwnName],
  [/(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{20,}/gi, '[code]'],
];

const uuid = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;

/**
 * What follows is in the words of the cloud, which may be about anything, or names filters, which a running bridge may know from
 * a configuration that was changed since.
 */
const saidByOthers =
  /(filters\.properties: the account has no property (?!(?:\[filter \d+\](?:, | and others)?)+(?:; |$))|the cloud answered \d+ \([^)]*\): |a redirect to |the cloud's answer is not JSON: |the broker ended the connection: [^(;]*\(|does not (?:speak MQTT|keep to the protocol)[^:]*: ).*/s;

/** A word of a protocol, such as `half_open`; anything else between quotes is somebody's. */
const protocolWord = /^"[a-z\d_]{1,40}"$/;

/** What stands for what must not be told: the same for the same thing, and short. */
export class StandIns {
  readonly #secrets: Secrets;
  /** By the text in lower case. */
  readonly #known = new Map<string, string>();
  readonly #strangers = new Map<string, string>();

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /** Lets something stand for the text from now on; what stands for it already stays. */
  set(text: string | null | undefined, standIn: string): void {
    const key = this.#keyOf(text ?? '');
    const least = /^\d+$/.test(key) ? shortestHiddenNumber : shortestHidden;
    if ([...key].length >= least && !this.#known.has(key)) this.#known.set(key, standIn);
  }

  /** What stands for the text as a whole; undefined where nothing does. */
  of(text: string): string | undefined {
    return this.#known.get(this.#keyOf(text));
  }

  /** Words for people without anything that is somebody's. */
  hide(words: string): string {
    let hidden = this.#hideKnown(sanitize(this.#secrets.hide(words)));
    hidden = hidden.replace(saidByOthers, '$1[not told here]');
    hidden = hidden.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => (protocolWord.test(quoted) ? quoted : '"…"'));
    hidden = hidden.replace(uuid, (id) => this.#stranger(id.toLowerCase()));
    for (const [pattern, standIn, isKept = () => false] of patterns) {
      hidden = hidden.replace(pattern, (found) => (isKept(found) ? found : standIn));
    }
    return hidden;
  }

  /** The longest first, lest one be hidden only as far as another goes. */
  #hideKnown(words: string): string {
    const lower = words.toLowerCase();
    const present = [...this.#known.keys()].filter((text) => lower.includes(text));
    if (present.length === 0) return words;
    const alternatives = present.sort((left, right) => right.length - left.length).map(escaped);
    const whole = new RegExp(`(?<![\\p{L}\\p{N}])(?:${alternatives.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
    return words.replace(whole, (found) => this.#known.get(found.toLowerCase()) ?? '[hidden]');
  }

  /** As words for people have it. */
  #keyOf(text: string): string {
    return sanitize(this.#secrets.hide(text.trim())).toLowerCase();
  }

  #stranger(id: string): string {
    const known = this.#strangers.get(id) ?? `id-${this.#strangers.size + 1}`;
    this.#strangers.set(id, known);
    return known;
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Every machine's own addresses. */
function isOwnAddress(address: string): boolean {
  return /^(127\.|0\.0\.0\.0$|::1?$)/.test(address);
}

/** Names of options and of the program's own files look like those of hosts. */
function isOwnName(word: string): boolean {
  const isOption = optionRows.some(({ path }) => isAtOrBelow(path, word));
  return isOption || /^(state|ledger|config)\b.*\.(json|yaml|bak)$/.test(word) || /\.(js|ts|md)$/.test(word);
}
