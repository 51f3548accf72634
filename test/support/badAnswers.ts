import fc from 'fast-check';
import { houseSecrets, type RawAnswer, type SeenRequest, type Twist } from './hostileHouse.ts';

/** One way of answering badly, and what it is called in counts of what was tried. */
export interface BadAnswer {
  readonly kind: string;
  /** `count` is how many bad answers there were before it. */
  readonly make: (request: SeenRequest, good: RawAnswer, count: number) => RawAnswer;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What only a text of JSON can hold; the words stand for it until it is written. */
const markers: Readonly<Record<string, string>> = {
  '"@deep"': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  '"@deepObjects"': `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  '"@endless"': '1e999',
  '"@precise"': '123456789012345678901234567890.5',
  '"@half"': '"\\ud83d and \\udc00"',
  '"@long"': `"${'x'.repeat(60_000)}"`,
  '"@proto"': '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  '"@escaped"': `"${[...houseSecrets.webhookSecret].map((each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('')}"`,
};

const texts = [
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
  ...Object.values(houseSecrets),
  ...[encodeURIComponent(houseSecrets.password), Buffer.from(houseSecrets.password).toString('base64')],
];

const junk: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(...Object.keys(markers).map((word) => JSON.parse(word) as string)),
  fc.constantFrom<Json>(...texts),
  fc.constantFrom<Json>(null, true, false, 0, -1, 1e308, -1e308, 2 ** 53, 0.1, 1e-320, [], {}, [[]], [null]),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);

function written(value: Json): string {
  return JSON.stringify(value).replace(/"@\w+"/g, (word) => markers[word] ?? word);
}

function json(good: RawAnswer, change: (value: Json) => Json): RawAnswer {
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
function everywhere(
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

function records(value: Json, change: (list: Json[]) => Json[]): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { data } = value;
  return Array.isArray(data) ? { ...value, data: change(data) } : value;
}

const statuses = fc.oneof(
  fc.constantFrom(200, 201, 202, 204, 206, 300, 301, 304, 307, 400, 401, 402, 403, 404, 405, 406, 408, 409),
  fc.constantFrom(
    410,
    412,
    413,
    415,
    418,
    422,
    423,
    425,
    429,
    431,
    451,
    500,
    501,
    502,
    503,
    504,
    520,
    599,
    999,
  ),
);

const headers = fc.dictionary(
  fc.constantFrom('retry-after', 'date', 'location', 'content-type', 'content-encoding', 'www-authenticate'),
  fc.oneof(
    fc.constantFrom(
      '0',
      '5',
      '60',
      '-1',
      '1e9',
      '99999999999999999999',
      'soon',
      '',
      'gzip',
      'br',
      'deflate',
      'zstd',
    ),
    fc.constantFrom(
      'Thu, 01 Jan 1970 00:00:00 GMT',
      'Fri, 31 Dec 9999 23:59:59 GMT',
      'text/html',
      'application/json',
    ),
    fc.constantFrom('//evil.example/', `https://evil.example/?token=${houseSecrets.webhookSecret}`, '\u0000'),
  ),
  { maxKeys: 3 },
);

function kind(name: string, make: fc.Arbitrary<BadAnswer['make']>): fc.Arbitrary<BadAnswer> {
  return make.map((each) => ({ kind: name, make: each }));
}

/** Bad answers of all kinds. */
export const badAnswers: fc.Arbitrary<BadAnswer> = fc.oneof(
  kind(
    'status and headers',
    fc.record({ status: statuses, headers }).map((said) => (_, good) => ({ ...good, ...said })),
  ),
  kind(
    'error with words',
    fc.record({ status: statuses, headers, message: junk }).map(({ message, ...said }) => () => ({
      ...said,
      body: written({ message, error: message }),
    })),
  ),
  kind(
    'bytes that are no JSON',
    fc
      .uint8Array({ maxLength: 200 })
      .map((bytes) => (_, good) => ({ ...good, status: 200, body: Buffer.from(bytes) })),
  ),
  kind(
    'body cut short',
    fc
      .record({ share: fc.double({ min: 0, max: 1, noNaN: true }), isCut: fc.boolean() })
      .map(({ share, isCut }) => (_, good) => ({
        ...good,
        body: good.body.slice(0, Math.floor(good.body.length * share)),
        isCut,
      })),
  ),
  kind(
    'invalid UTF-8',
    fc.nat(200).map((at) => (_, good) => {
      const bytes = Buffer.from(good.body);
      if (bytes.length > 0) bytes[at % bytes.length] = 0xff;
      return { ...good, body: bytes };
    }),
  ),
  kind(
    'another value for everything',
    junk.map((value) => (_, good) => ({ ...good, status: 200, body: written(value) })),
  ),
  kind(
    'a wrong value in one field',
    fc.tuple(fc.nat(40), junk).map(([which, value]) => (_, good) => {
      let field = 0;
      return json(good, (all) =>
        everywhere(all, (held) => (isLeaf(held) && field++ === which ? value : undefined)),
      );
    }),
  ),
  kind(
    'wrong values in every field',
    fc.array(junk, { minLength: 1, maxLength: 6 }).map((values) => (_, good) => {
      let field = 0;
      return json(good, (all) =>
        everywhere(all, (held, path) =>
          isLeaf(held) && path.at(-1) !== 'id' ? (values[field++ % values.length] ?? null) : undefined,
        ),
      );
    }),
  ),
  kind(
    'null everywhere',
    fc.constant((_, good) =>
      json(good, (all) => everywhere(all, (held) => (isLeaf(held) ? null : undefined))),
    ),
  ),
  kind(
    'ids of every kind',
    junk.map((value) => (_, good) => withEveryId(good, value)),
  ),
  kind(
    'further keys',
    fc
      .dictionary(fc.constantFrom(...texts), junk, { maxKeys: 5 })
      .map(
        (extra) => (_, good) =>
          json(good, (all) => records(merged(all, extra), (list) => list.map((each) => merged(each, extra)))),
      ),
  ),
  kind(
    'lists that lose, repeat and gain records',
    fc.record({ keep: fc.nat(3), times: fc.nat(3), stranger: junk }).map(
      ({ keep, times, stranger }) =>
        (_, good) =>
          json(good, (all) =>
            records(all, (list) => [
              ...Array.from({ length: times }, () => list.slice(0, keep)).flat(),
              stranger,
            ]),
          ),
    ),
  ),
  kind(
    'lying totals and page numbers',
    fc
      .dictionary(
        fc.constantFrom('page_number', 'page_size', 'total_entries', 'total_pages'),
        fc.oneof(junk, fc.integer()),
      )
      .map((lies) => (_, good) => json(good, (all) => merged(all, lies))),
  ),
  kind(
    'pages without end',
    fc.boolean().map(
      (isNew) => (_, good, count) =>
        json(good, (all) =>
          merged(
            records(all, (list) =>
              list.map((each, index) => (isNew ? merged(each, { id: `n-${count}-${index}` }) : each)),
            ),
            { total_pages: 1_000_000, total_entries: null, page_number: null },
          ),
        ),
    ),
  ),
  kind(
    'a record of another kind',
    fc
      .constantFrom<Json>(
        { by_day: {} },
        { daily: [] },
        { categories: [] },
        { token_details: 'x' },
        { id: 'a', type: 'b' },
        { data: [] },
      )
      .map((other) => (_, good) => ({ ...good, status: 200, body: written(other) })),
  ),
);

function withEveryId(good: RawAnswer, value: Json): RawAnswer {
  const isId = (path: readonly string[]) => /(^|_)id$/.test(path.at(-1) ?? '');
  return json(good, (all) => everywhere(all, (_held, path) => (isId(path) ? value : undefined)));
}

function isLeaf(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}

function merged(value: Json, extra: { [key: string]: Json }): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value, ...extra }
    : value;
}

/** Which answers are bad, and how: each in turn, to the requests of an operation or to a share of all. */
export interface BadSpell {
  readonly answers: readonly BadAnswer[];
  /** Matches names of operations. */
  readonly whom: RegExp;
  readonly ms: number;
}

export const badSpells: fc.Arbitrary<BadSpell> = fc.record({
  answers: fc.array(badAnswers, { minLength: 1, maxLength: 4 }),
  whom: fc.constantFrom(
    /./,
    /./,
    /^list_/,
    /^read_/,
    /incident/,
    /sonic/,
    /propert/,
    /^(sign_in|refresh_token)$/,
    /usage|tests|telemetry/,
  ),
  ms: fc.constantFrom(1_000, 10_000, 60_000),
});

/** Twists the answers of a spell, counting by kind what it gave. */
export function twistOf({ answers, whom }: BadSpell, counts: Map<string, number>): Twist {
  let count = 0;
  return (request, good) => {
    if (!whom.test(request.operation ?? '')) return null;
    const answer = answers[count++ % answers.length];
    if (!answer) return null;
    counts.set(answer.kind, (counts.get(answer.kind) ?? 0) + 1);
    return answer.make(request, good, count);
  };
}

/** What was once found to do harm: two devices with one id, and a secret spelled in escapes. */
export const knownSpells: readonly BadSpell[] = [
  {
    answers: [{ kind: 'ids of every kind', make: (_, good) => withEveryId(good, 'one') }],
    whom: /./,
    ms: 60_000,
  },
  {
    answers: [
      {
        kind: 'error with words',
        make: () => ({ status: 503, headers: {}, body: written({ message: '@escaped' }) }),
      },
    ],
    whom: /./,
    ms: 10_000,
  },
];
