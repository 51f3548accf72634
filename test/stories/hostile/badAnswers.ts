import fc from 'fast-check';
import type { SeenRequest } from '../../simulation/virtualCloud.ts';
import {
  changedJson,
  everywhere,
  homeSecrets,
  isLeaf,
  type Json,
  junk,
  merged,
  oddTexts,
  type RawAnswer,
  records,
  written,
} from '../../support/badJson.ts';

/** One way of answering badly, and what it is called in counts of what was tried. */
export interface BadAnswer {
  readonly kind: string;
  /** `count` is how many bad answers there were before it. */
  readonly make: (request: SeenRequest, good: RawAnswer, count: number) => RawAnswer;
}

const statuses = fc.oneof(
  fc.integer({ min: 200, max: 599 }),
  fc.constantFrom(204, 304, 401, 404, 429, 503, 999),
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
    fc.constantFrom('//evil.example/', `https://evil.example/?token=${homeSecrets.webhookSecret}`, '\u0000'),
  ),
  { maxKeys: 3 },
);

/** What is drawn is kept too, as a function shows nothing of itself in a report. */
function kind<T>(
  name: string,
  drawn: fc.Arbitrary<T>,
  make: (value: T) => BadAnswer['make'],
): fc.Arbitrary<BadAnswer & { readonly drawn: T }> {
  return drawn.map((value) => ({ kind: name, drawn: value, make: make(value) }));
}

/** Bad answers of all kinds. */
export const badAnswers: fc.Arbitrary<BadAnswer> = fc.oneof(
  kind('status and headers', fc.record({ status: statuses, headers }), (said) => (_, good) => ({
    ...good,
    ...said,
  })),
  kind(
    'error with words',
    fc.record({ status: statuses, headers, message: junk }),
    ({ message, ...said }) =>
      () => ({
        ...said,
        body: written({ message, error: message }),
      }),
  ),
  kind('bytes that are no JSON', fc.uint8Array({ maxLength: 200 }), (bytes) => (_, good) => ({
    ...good,
    status: 200,
    body: Buffer.from(bytes),
  })),
  kind(
    'body cut short',
    fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), isCut: fc.boolean() }),
    ({ share, isCut }) =>
      (_, good) => ({
        ...good,
        body: good.body.slice(0, Math.floor(good.body.length * share)),
        isCut,
      }),
  ),
  kind('invalid UTF-8', fc.nat(200), (at) => (_, good) => {
    const bytes = Buffer.from(good.body);
    if (bytes.length > 0) bytes[at % bytes.length] = 0xff;
    return { ...good, body: bytes };
  }),
  kind('another value for everything', junk, (value) => (_, good) => ({
    ...good,
    status: 200,
    body: written(value),
  })),
  kind('a wrong value in one field', fc.tuple(fc.nat(40), junk), ([which, value]) => (_, good) => {
    let field = 0;
    return changedJson(good, (all) =>
      everywhere(all, (held) => (isLeaf(held) && field++ === which ? value : undefined)),
    );
  }),
  kind(
    'wrong values in every field',
    fc.array(junk, { minLength: 1, maxLength: 6 }),
    (values) => (_, good) => {
      let field = 0;
      return changedJson(good, (all) =>
        everywhere(all, (held, path) =>
          isLeaf(held) && path.at(-1) !== 'id' ? (values[field++ % values.length] ?? null) : undefined,
        ),
      );
    },
  ),
  kind(
    'null everywhere',
    fc.constant(null),
    () => (_, good) =>
      changedJson(good, (all) => everywhere(all, (held) => (isLeaf(held) ? null : undefined))),
  ),
  kind(
    'ids of every kind',
    fc.array(fc.oneof(fc.constantFrom<Json>(...oddTexts), junk), { minLength: 1, maxLength: 6 }),
    (ids) => (_, good) => withIds(good, ids),
  ),
  kind(
    'further keys',
    fc.dictionary(fc.constantFrom(...oddTexts), junk, { maxKeys: 5 }),
    (extra) => (_, good) =>
      changedJson(good, (all) =>
        records(merged(all, extra), (list) => list.map((each) => merged(each, extra))),
      ),
  ),
  kind(
    'lists that lose, repeat and gain records',
    fc.record({ keep: fc.nat(3), times: fc.nat(3), stranger: junk }),
    ({ keep, times, stranger }) =>
      (_, good) =>
        changedJson(good, (all) =>
          records(all, (list) => [
            ...Array.from({ length: times }, () => list.slice(0, keep)).flat(),
            stranger,
          ]),
        ),
  ),
  kind(
    'lying totals and page numbers',
    fc.dictionary(
      fc.constantFrom('page_number', 'page_size', 'total_entries', 'total_pages'),
      fc.oneof(junk, fc.integer()),
    ),
    (lies) => (_, good) => changedJson(good, (all) => merged(all, lies)),
  ),
  kind('pages without end', fc.boolean(), (isNew) => (_, good, count) => endless(good, isNew ? count : null)),
  kind(
    'a record of another kind',
    fc.constantFrom<Json>(
      { by_day: {} },
      { daily: [] },
      { categories: [] },
      { token_details: 'x' },
      { id: 'a', type: 'b' },
      { data: [] },
    ),
    (other) => (_, good) => ({ ...good, status: 200, body: written(other) }),
  ),
);

/** The good answer with other ids, each in turn. */
export function withIds(good: RawAnswer, ids: readonly Json[]): RawAnswer {
  const isId = (path: readonly string[]) => /(^|_)id$/.test(path.at(-1) ?? '');
  let count = 0;
  return changedJson(good, (all) =>
    everywhere(all, (_held, path) => (isId(path) ? ids[count++ % ids.length] : undefined)),
  );
}

/** The good list as if there were many more pages; with a number, other records on each. */
export function endless(good: RawAnswer, page: number | null): RawAnswer {
  const other = (each: Json, index: number) =>
    page === null ? each : merged(each, { id: `n-${page}-${index}` });
  const lies = { total_pages: 1_000_000, total_entries: null, page_number: null };
  const more = (list: Json[]) => (list.length === 0 ? [{}] : list).map(other);
  return changedJson(good, (all) => merged(records(all, more), lies));
}
