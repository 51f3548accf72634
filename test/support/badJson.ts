import fc from 'fast-check';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What answers in the place of the cloud. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** The connection breaks behind the body. */
  readonly isCut?: boolean;
}

/** What nobody may read: each long enough to be no word of the data. */
export const homeSecrets = {
  password: 'clöud "pass\\word" 1',
  brokerPassword: 'brok€r & secret+2',
  webhookSecret: 'webhook-secret-3',
} as const;

/** What only a text of JSON can hold; the words stand for it until it is written. */
const markers: Readonly<Record<string, string>> = {
  '"@deep"': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  '"@deepObjects"': `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  '"@endless"': '1e999',
  '"@precise"': '123456789012345678901234567890.5',
  '"@half"': '"\\ud83d and \\udc00"',
  '"@long"': `"${'x'.repeat(60_000)}"`,
  '"@proto"': '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  '"@escaped"': `"${[...homeSecrets.webhookSecret].map((each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('')}"`,
};

/** Texts that mean something to somebody on the way. */
export const oddTexts = [
  ...['', ' ', '__proto__', 'constructor', 'toString', 'a/b', '../..', '%2e%2e', '+', '#', '$SYS', 'bridge'],
  ...[
    '\u0000',
    'a\nb',
    '\u001b[2J',
    '\u202ereversed',
    'x'.repeat(300),
    '😀',
    "{{ states('x') }}",
    '{% raw %}',
  ],
  ...['<script>', '2026-13-45', '9999999-01-01', 'open', 'closed', 'null', 'Infinity', '1e400'],
  ...Object.values(homeSecrets),
  ...[encodeURIComponent(homeSecrets.password), Buffer.from(homeSecrets.password).toString('base64')],
];

/** Whatever does not belong there. */
export const junk: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(...Object.keys(markers).map((word) => JSON.parse(word) as string)),
  fc.constantFrom<Json>(...oddTexts),
  fc.constantFrom<Json>(null, true, false, 0, -1, 1e308, -1e308, 2 ** 53, 0.1, 1e-320, [], {}, [[]], [null]),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);

/** The value as a text of JSON, with what only that can hold. */
export function written(value: Json): string {
  return JSON.stringify(value).replace(/"@\w+"/g, (word) => markers[word] ?? word);
}

/** The good answer with another value. */
export function changedJson(good: RawAnswer, change: (value: Json) => Json): RawAnswer {
  return { ...good, status: 200, body: written(change(parsed(good))) };
}

function parsed({ body }: RawAnswer): Json {
  try {
    return JSON.parse(body.toString());
  } catch {
    return {};
  }
}

/** Each value in it replaced, or left where the change says undefined. */
export function everywhere(
  value: Json,
  change: (held: Json, path: readonly string[]) => Json | undefined,
  path: readonly string[] = [],
): Json {
  const changed = path.length > 0 ? change(value, path) : undefined;
  if (changed !== undefined) return changed;
  if (Array.isArray(value)) return value.map((each) => everywhere(each, change, [...path, '*']));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, everywhere(each, change, [...path, key])]),
  );
}

/** The list in an answer changed; what has none stays as it is. */
export function records(value: Json, change: (list: Json[]) => Json[]): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { data } = value;
  return Array.isArray(data) ? { ...value, data: change(data) } : value;
}

/** An object with further keys; anything else stays as it is. */
export function merged(value: Json, extra: { [key: string]: Json }): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value, ...extra }
    : value;
}

/** Whether there is nothing in it. */
export function isLeaf(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}
