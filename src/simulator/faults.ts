import type { Random } from '../base/backoff.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { isOperationName, type OperationName, operationNames } from '../cloud/operations.ts';

interface Kind {
  readonly does: string;
  /** The number of the fault, if it has one: a word for it, its limits, and its default. */
  readonly value?: {
    readonly word: string;
    readonly min: number;
    readonly max: number;
    readonly usual?: number;
  };
}

const kinds = {
  latency: { does: 'delays each answer by MS', value: { word: 'MS', min: 0, max: 600_000 } },
  error: { does: 'answers with STATUS and does nothing', value: { word: 'STATUS', min: 400, max: 599 } },
  hang: { does: 'never answers' },
  html: { does: 'answers 200 with a web page' },
  reset: { does: 'cuts the connection' },
  'rate-limit': {
    does: 'answers 429 with Retry-After for SECONDS, works for SECONDS, and so on',
    value: { word: 'SECONDS', min: 1, max: 3_600, usual: 5 },
  },
  'expire-tokens': {
    does: 'expires each token after SECONDS',
    value: { word: 'SECONDS', min: 1, max: 10_000_000 },
  },
  'bad-record': { does: 'begins each list with a record that cannot be read' },
  'unsafe-id': { does: 'begins each list with a record whose id has a slash in it' },
  'unknown-enum': { does: 'sends unknown words in the last record of each kind' },
  'long-name': { does: 'sends a name of 100 kB in the last record of each kind' },
  'moving-pages': { does: 'shifts the records of a list by one at each request' },
  'lying-totals': {
    does: 'announces TOTAL records, whatever the real number is',
    value: { word: 'TOTAL', min: 0, max: 1_000_000, usual: 1 },
  },
  'missing-page': {
    does: 'answers 500 for page PAGE of each list',
    value: { word: 'PAGE', min: 1, max: 1_000_000, usual: 2 },
  },
} as const satisfies Readonly<Record<string, Kind>>;

type FaultKind = keyof typeof kinds;
const kindNames = Object.keys(kinds) as FaultKind[];

export interface Fault {
  readonly kind: FaultKind;
  /** The number of the fault, if its kind has one. */
  readonly value?: number;
  /** The only operation that it affects; all operations if it is not given. */
  readonly operation?: OperationName;
  /** How often it strikes, from 0 to 1; always if it is not given. */
  readonly rate?: number;
}

/** Lines for a help text: how to write each fault, and what it does. */
export const faultUsage: readonly (readonly [usage: string, does: string])[] = kindNames.map((name) => {
  const { does, value }: Kind = kinds[name];
  if (!value) return [name, does];
  if (value.usual === undefined) return [`${name}=${value.word}`, does];
  return [`${name}[=${value.word}]`, `${does} (default: ${value.usual})`];
});

export const faultGrammar = 'NAME[=VALUE][@OPERATION][:RATE]';

/** Reads a fault such as `error=503@list_sonics:0.5`. If it is invalid, the result is a sentence that says why. */
export function parseFault(text: string): { readonly fault: Fault } | { readonly problem: string } {
  const match = /^([^=@:]*)(?:=([^@:]*))?(?:@([^:]*))?(?::(.*))?$/s.exec(text);
  const [, kind = '', valueText, operation, rateText] = match ?? [];
  if (!isFaultKind(kind)) return { problem: `unknown fault ${kind}${didYouMean(nearest(kind, kindNames))}` };
  const { value: limits }: Kind = kinds[kind];
  const value = valueText === undefined ? limits?.usual : toNumber(valueText);
  if (!limits && valueText !== undefined) return { problem: `fault ${kind} takes no value` };
  if (limits && !(value !== undefined && value >= limits.min && value <= limits.max)) {
    return { problem: `fault ${kind} needs a number ${limits.word} from ${limits.min} to ${limits.max}` };
  }
  if (operation !== undefined && !isOperationName(operation)) {
    return { problem: `unknown operation ${operation}${didYouMean(nearest(operation, operationNames))}` };
  }
  const rate = rateText === undefined ? 1 : toNumber(rateText);
  if (!(rate >= 0 && rate <= 1)) return { problem: 'the rate of a fault is a number from 0 to 1' };
  return { fault: { kind, rate, ...(value !== undefined && { value }), ...(operation && { operation }) } };
}

function isFaultKind(word: string): word is FaultKind {
  return Object.hasOwn(kinds, word);
}

function toNumber(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

const unknownWords: Readonly<Record<string, string>> = {
  valve_state: 'half_open',
  battery: 'solar',
  radio_connection: 'roaming',
  cloud_connection: 'roaming',
  type: 'meteor_strike',
  severity: 'apocalyptic',
};
const longName = 'long name '.repeat(10_000);

export class Faults {
  readonly #random: Random;
  readonly #now: () => number;
  #faults: readonly Fault[] = [];
  #since = 0;
  #moves = 0;

  constructor(random: Random, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  set(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#since = this.#now();
  }

  get areNone(): boolean {
    return this.#faults.length === 0;
  }

  /**
   * The value of a fault of that kind if one strikes the operation now (0 if the kind has no value); null if none
   * strikes.
   */
  strike(kind: FaultKind, operation: OperationName): number | null {
    const { value: limits }: Kind = kinds[kind];
    for (const { kind: each, value = limits?.usual ?? 0, operation: only, rate = 1 } of this.#faults) {
      if (each !== kind || (only ?? operation) !== operation) continue;
      if (rate === 1 || this.#random() < rate) return value;
    }
    return null;
  }

  /** Seconds until a limited client is served again; null if it is served now. */
  retryAfter(operation: OperationName): number | null {
    const seconds = this.strike('rate-limit', operation);
    if (seconds === null) return null;
    const sinceSeconds = ((this.#now() - this.#since) / 1_000) % (2 * seconds);
    return sinceSeconds < seconds ? Math.ceil(seconds - sinceSeconds) : null;
  }

  /** How long a token lives, in ms; null if no fault says so. */
  get tokenLifetimeMs(): number | null {
    const fault = this.#faults.find(({ kind }) => kind === 'expire-tokens');
    return fault?.value === undefined ? null : fault.value * 1_000;
  }

  /** The records of a list, with the records that faults add, in the order that faults cause. */
  spoilList(name: OperationName, records: readonly object[]): readonly object[] {
    const all = [...records];
    if (this.strike('unsafe-id', name) !== null) all.unshift({ ...records[0], id: 'un/safe' });
    if (this.strike('bad-record', name) !== null) all.unshift({ id: 42, name: ['unreadable'] });
    if (all.length === 0 || this.strike('moving-pages', name) === null) return all;
    const start = all.length - (this.#moves++ % all.length);
    return [...all.slice(start), ...all.slice(0, start)];
  }

  /** The last record of a kind, changed by the faults. */
  spoilRecord(name: OperationName, record: object): object {
    const words = this.strike('unknown-enum', name) === null ? {} : unknownWords;
    const spoilt = Object.entries(words).filter(([field]) => field in record);
    const isNamed = 'name' in record && this.strike('long-name', name) !== null;
    return { ...record, ...Object.fromEntries(spoilt), ...(isNamed && { name: longName }) };
  }
}
