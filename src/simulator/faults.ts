import type { Random } from '../base/backoff.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { isOperationName, type OperationName, operationNames } from '../cloud/operations.ts';

interface Kind {
  /** What it does, for people. */
  readonly does: string;
  /** Its number: a word for it, its bounds, and what it is unless given; a kind without one takes none. */
  readonly value?: {
    readonly word: string;
    readonly least: number;
    readonly most: number;
    readonly default?: number;
  };
}

/** Everything that can go wrong on purpose. */
const kinds = {
  latency: { does: 'answers MS later', value: { word: 'MS', least: 0, most: 600_000 } },
  error: {
    does: 'answers with STATUS and does nothing',
    value: { word: 'STATUS', least: 400, most: 599 },
  },
  hang: { does: 'never answers' },
  html: { does: 'answers 200 with a web page' },
  reset: { does: 'cuts the connection' },
  'rate-limit': {
    does: 'answers 429 with Retry-After for SECONDS, serves for SECONDS, and so on in turn',
    value: { word: 'SECONDS', least: 1, most: 3_600, default: 5 },
  },
  'expire-tokens': {
    does: 'lets each token expire after SECONDS',
    value: { word: 'SECONDS', least: 1, most: 10_000_000 },
  },
  'bad-record': { does: 'begins each list with a record that cannot be read' },
  'unsafe-id': { does: 'begins each list with a record whose id has a slash in it' },
  'unknown-enum': { does: 'gives the last record of each kind words that nobody knows' },
  'long-name': { does: 'gives the last record of each kind a name of 100 kB' },
  'moving-pages': { does: 'moves the records of a list on by one at each request' },
  'lying-totals': {
    does: 'claims TOTAL records, whatever there are',
    value: { word: 'TOTAL', least: 0, most: 1_000_000, default: 1 },
  },
  'missing-page': {
    does: 'answers 500 for page PAGE of each list',
    value: { word: 'PAGE', least: 1, most: 1_000_000, default: 2 },
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type FaultKind = keyof typeof kinds;
const kindNames = Object.keys(kinds) as FaultKind[];

/** Something that goes wrong on purpose. */
export interface Fault {
  readonly kind: FaultKind;
  /** Its number, for kinds that have one. */
  readonly value?: number;
  /** Only this operation; all unless given. */
  readonly operation?: OperationName;
  /** How often, from 0 to 1; always unless given. */
  readonly rate?: number;
}

/** The lines of a help text: what to write, and what it does. */
export const faultUsage: readonly (readonly [usage: string, does: string])[] = kindNames.map((name) => {
  const { does, value }: Kind = kinds[name];
  if (!value) return [name, does];
  const given = `=${value.word}`;
  if (value.default === undefined) return [`${name}${given}`, does];
  return [`${name}[${given}]`, `${does} (${value.default} unless given)`];
});

/** How any of them is narrowed down. */
export const faultGrammar = 'NAME[=VALUE][@OPERATION][:RATE]';

/** Reads a fault such as `error=503@list_sonics:0.5`; a sentence says what is wrong with it. */
export function parseFault(text: string): { readonly fault: Fault } | { readonly problem: string } {
  const match = /^([^=@:]*)(?:=([^@:]*))?(?:@([^:]*))?(?::(.*))?$/s.exec(text);
  const [, name = '', valueText, operation, rateText] = match ?? [];
  if (!isFaultKind(name)) return { problem: `unknown fault ${name}${didYouMean(nearest(name, kindNames))}` };
  const { value: limits }: Kind = kinds[name];
  const value = valueText === undefined ? limits?.default : toNumber(valueText);
  if (!limits && valueText !== undefined) return { problem: `fault ${name} takes no value` };
  if (limits && !(value !== undefined && value >= limits.least && value <= limits.most)) {
    return {
      problem: `fault ${name} needs a number ${limits.word} from ${limits.least} to ${limits.most}`,
    };
  }
  if (operation !== undefined && !isOperationName(operation)) {
    return { problem: `unknown operation ${operation}${didYouMean(nearest(operation, operationNames))}` };
  }
  const rate = rateText === undefined ? 1 : toNumber(rateText);
  if (!(rate >= 0 && rate <= 1)) return { problem: 'the rate of a fault is a number from 0 to 1' };
  return {
    fault: { kind: name, rate, ...(value !== undefined && { value }), ...(operation && { operation }) },
  };
}

function isFaultKind(word: string): word is FaultKind {
  return Object.hasOwn(kinds, word);
}

function toNumber(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

/** The faults that are in force. */
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

  /** Replaces all of them. */
  set(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#since = this.#now();
  }

  /** Whether all is well. */
  get areNone(): boolean {
    return this.#faults.length === 0;
  }

  /** The value of a fault of that kind if one strikes the operation now (0 where it has none); null if not. */
  strike(kind: FaultKind, operation: OperationName): number | null {
    for (const fault of this.#faults) {
      if (fault.kind !== kind || (fault.operation ?? operation) !== operation) continue;
      if ((fault.rate ?? 1) < 1 && this.#random() >= (fault.rate ?? 1)) continue;
      const { value: limits }: Kind = kinds[kind];
      return fault.value ?? limits?.default ?? 0;
    }
    return null;
  }

  /** How far lists have moved on; one further at each call. */
  nextMove(): number {
    return this.#moves++;
  }

  /** Seconds until a limited client is served again; null while it is. */
  retryAfter(operation: OperationName): number | null {
    const seconds = this.strike('rate-limit', operation);
    if (seconds === null) return null;
    const sinceSeconds = ((this.#now() - this.#since) / 1_000) % (2 * seconds);
    return sinceSeconds < seconds ? Math.ceil(seconds - sinceSeconds) : null;
  }

  /** How long tokens live if a fault says so, in ms. */
  get tokenLifetimeMs(): number | null {
    const fault = this.#faults.find(({ kind }) => kind === 'expire-tokens');
    return fault?.value === undefined ? null : fault.value * 1_000;
  }
}
