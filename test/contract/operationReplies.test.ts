import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../src/base/secrets.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import type { HttpResponse } from '../../src/cloud/http.ts';
import { type Call, type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { checkStatus, type Page, readAnswer } from '../../src/cloud/response.ts';
import { type Json, junk, written } from '../support/badJson.ts';
import { benchFor } from '../support/clientBench.ts';
import { operationSamples, sampleCall } from '../support/operationSamples.ts';

const keys = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'id',
  'data',
  'then',
  '0',
  '',
);

/** One thing that is done to a value somewhere within an answer. */
type Change = (value: unknown) => unknown;

/** What stands for nothing. */
const removed = Symbol('removed');

const change: fc.Arbitrary<Change> = fc.oneof(
  junk.map((other) => () => other),
  fc.constant(() => removed),
  fc.constant((value: unknown) => [value]),
  fc.constant((value: unknown) => ({ value })),
  fc.constant((value: unknown) => (Array.isArray(value) ? [...value, ...value] : JSON.stringify(value))),
  fc.tuple(keys, junk).map(([key, other]) => (value: unknown) => {
    if (Array.isArray(value)) return [...value, other];
    return typeof value === 'object' && value !== null ? { ...value, [key]: other } : { [key]: other };
  }),
);

/** The value with the change made at one of its places, which are counted from the outside in. */
function changed(value: unknown, place: number, how: Change): unknown {
  let left = place % countPlaces(value);
  const visit = (each: unknown): unknown => {
    if (left-- === 0) return how(each);
    if (Array.isArray(each)) return each.map(visit).filter((one) => one !== removed);
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(
      Object.entries(each)
        .map(([key, one]) => [key, visit(one)] as const)
        .filter(([, one]) => one !== removed),
    );
  };
  const all = visit(value);
  return all === removed ? null : all;
}

function countPlaces(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + countPlaces(each), 1);
}

/** Texts of answers that are like the sample, but spoilt in some places. */
function spoiltTexts(name: OperationName): fc.Arbitrary<string> {
  const { reply = { status: 'ok' } } = operationSamples[name];
  return fc.array(fc.tuple(fc.nat(), change), { minLength: 1, maxLength: 4 }).map((changes) => {
    const spoilt = changes.reduce<unknown>((value, [place, how]) => changed(value, place, how), reply);
    return written(spoilt as Json);
  });
}

function answerOf(status: number, text: string): HttpResponse {
  return { status, body: Buffer.from(text), bodyProblem: null, header: () => null };
}

const hide = (text: string) => text;

function expectWords(words: string): void {
  expect(words).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
  expect(words.length).toBeLessThan(400);
  expect(words).not.toMatch(/\p{Cs}/u);
}

/** Checks that a record is what the operation promises: what the sample has is of its type, or null. */
function expectRecord(sample: object, record: unknown): void {
  expect(record).toBeTypeOf('object');
  expect(Object.keys(record as object)).not.toContain('__proto__');
  expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  for (const [field, example] of Object.entries(sample)) {
    if (field === 'user_details') continue;
    const value = (record as Record<string, unknown>)[field];
    if (value === null) continue;
    expect(Array.isArray(value), field).toBe(Array.isArray(example));
    expect(typeof value, field).toBe(typeof example);
    if (typeof value === 'number') expect(Number.isFinite(value), field).toBe(true);
  }
}

function expectPromised(name: OperationName, value: unknown): void {
  const { reply = { status: 'ok' } } = operationSamples[name];
  const { reply: promised, control } = operationRow(name);
  const { kind } = promised;
  expect(() => JSON.stringify(value)).not.toThrow();
  const isDoneByStatus = kind === 'acknowledgement' || control !== undefined;
  if (isDoneByStatus && value === null) return;
  if (kind !== 'page') {
    const part = promised.kind === 'record' ? promised.part : undefined;
    expectRecord(part === undefined ? (reply as object) : Object(reply)[part], value);
    return;
  }
  const { records, dropped, missing, ...counts } = value as Page<{ id: string }>;
  expect(missing).toBeLessThanOrEqual(dropped);
  for (const count of Object.values(counts)) {
    if (count !== null) expect(Number.isSafeInteger(count) && (count as number) >= 0).toBe(true);
  }
  const [sample] = (reply as { data: object[] }).data;
  for (const record of records) {
    expectRecord(sample ?? {}, record);
    expect(record.id).toMatch(/^[\w-]+$/);
  }
}

const names = fc.constantFrom(...operationNames);

const levels = 5_000;
/** A page with a wrong count, and a field that is nested more deeply than functions may call themselves. */
const deepPage = `{"data":[],"page_size":"x","extra":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;

describe('an answer, however malformed,', () => {
  const others = [
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  ];
  const nameAndText = fc.oneof(
    ...operationNames.map((name) =>
      fc.tuple(fc.constant(name), fc.oneof({ weight: 6, arbitrary: spoiltTexts(name) }, ...others)),
    ),
  );

  it('is as its row promises, or unreadable', () => {
    fc.assert(
      fc.property(nameAndText, ([name, body]) => {
        const notices: string[] = [];
        try {
          const { reply, sent } = readAnswer(
            name,
            answerOf(200, body),
            (_, notice) => notices.push(notice),
            new Secrets(),
          );
          expectPromised(name, reply);
          expect(() => JSON.stringify(sent)).not.toThrow();
        } catch (error) {
          if (!(error instanceof CloudError)) throw error;
          expect(error).toMatchObject({ kind: 'unreadable', operation: name, status: 200 });
          expect(operationRow(name).reply.kind).not.toBe('acknowledgement');
          expect(operationRow(name).control).toBeUndefined();
          expectWords(error.message);
        }
        for (const notice of notices) expectWords(notice);
      }),
      { numRuns: 1_500, examples: [[['list_properties', deepPage]]] },
    );
  });

  it('is judged by its status where that is bad', () => {
    const message = fc.oneof(junk, fc.string({ unit: 'binary' }));
    const bodies = fc.oneof(
      nameAndText.map(([, body]) => body),
      fc.record({ message, error: message }, { requiredKeys: [] }).map(written),
    );
    fc.assert(
      fc.property(names, fc.integer({ min: 300, max: 599 }), bodies, (name, status, body) => {
        const error = checkStatus(name, answerOf(status, body), 0, hide);
        expect(error).toBeInstanceOf(CloudError);
        expect(error).toMatchObject({ operation: name, status });
        expectWords(error?.message ?? '');
      }),
      { numRuns: 500 },
    );
  });

  it.each(['list_sonics', 'read_daily_usage', 'command_valve'] as const)(
    'is judged in the same way when it comes over a connection, for example of %s',
    async (name) => {
      const bench = await benchFor(name, {});
      await fc.assert(
        fc.asyncProperty(spoiltTexts(name), async (body) => {
          bench.stub.handler = () => ({ text: body });
          const value = await bench.client.call(sampleCall(name) as Call).catch((error: unknown) => error);
          if (value instanceof Error) {
            expect(value).toBeInstanceOf(CloudError);
            expect(value).toMatchObject({ kind: 'unreadable' });
          } else expectPromised(name, value);
        }),
        { numRuns: 20 },
      );
      for (const { message } of bench.client.problems()) expectWords(message);
    },
  );
});
