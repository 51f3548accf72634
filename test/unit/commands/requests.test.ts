import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorKind } from '../../../src/cloud/errors.ts';
import { encodeResponse, readRequest, requestFailure } from '../../../src/commands/requests.ts';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { startCommands } from '../../support/commandBench.ts';

const read = (payload: string) => readRequest({ payload, isText: true });

describe('a request', () => {
  it.each(['{}', ' {} '])('of %j asks for nothing in particular', (payload) => {
    expect(read(payload)).toEqual({ parts: {}, transaction: null, problem: null });
  });

  it('is taken apart, and its transaction kept with all digits', () => {
    const payload = `{ "params" : {"a":"b,}]"}, "transaction":\t{"n": 12345678901234567890, "t": [1.0, "\\"}"]} ,
      "body":[1], "query":null }`;
    expect(read(payload)).toEqual({
      parts: { params: { a: 'b,}]' }, body: [1], query: null },
      transaction: '{"n":12345678901234567890,"t":[1.0,"\\"}"]}',
      problem: null,
    });
  });

  it('with any transaction gives it back unchanged, wherever it stands', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.json({ maxDepth: 3 }), (transaction, other) => {
        fc.pre(transaction.length <= 1_000);
        const text = transaction.trim();
        for (const payload of [
          `{"transaction":${transaction},"body":${other}}`,
          `{"body":${other},"transaction":${transaction}}`,
          `{"body":${other},"\\u0074ransaction":${transaction}}`,
        ]) {
          expect(read(payload)).toMatchObject({ transaction: text, problem: null });
        }
      }),
    );
  });

  it.each(['"\\u00001e"', '"\\u0000\\u00001"', '["\\"\\u0000\\u00001", 1.0, {"\\u00002":"\\u0000"}]'])(
    'keeps null characters in its transaction: %s',
    (transaction) => {
      expect(JSON.parse(read(`{"transaction":${transaction}}`).transaction ?? '')).toEqual(
        JSON.parse(transaction),
      );
    },
  );

  it.each([
    ['null', 'the payload must be a JSON object, for example {"params":{…},"body":{…}}'],
    ['42', 'the payload must be a JSON object, for example {"params":{…},"body":{…}}'],
    ['[{}]', 'the payload must be a JSON object, for example {"params":{…},"body":{…}}'],
    ['"text"', 'the payload must be a JSON object, for example {"params":{…},"body":{…}}'],
    ['{"params":', 'the payload is not JSON'],
    ['OPEN', 'the payload is not JSON'],
    ['{"parms":{}}', 'parms is unknown. Did you mean params?'],
    ['{"operation":"sign_in","body":{}}', 'operation is unknown'],
    ['{"transaction":1,"\\u0074ransaction":2}', 'transaction is given twice'],
    [`{"transaction":"${'x'.repeat(999)}"}`, 'transaction has 1001 characters. The maximum is 1000'],
    [`{"body":"${'ü'.repeat(32_768)}"}`, 'the payload is larger than 64 KiB'],
  ])('that is no request says why: %#', (payload, problem) => {
    expect(read(payload)).toMatchObject({ problem });
  });

  it('with an unknown key still gives its transaction back, and no other operation than its topic', () => {
    expect(read('{"operation":"sign_in","transaction":7}')).toEqual({
      parts: {},
      transaction: '7',
      problem: 'operation is unknown',
    });
  });

  it('that is not UTF-8 is no request', () => {
    expect(readRequest({ payload: '{}', isText: false })).toMatchObject({
      problem: 'the payload is not UTF-8',
    });
  });

  it('is never the end of the reader, whatever it says', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (payload) => {
        const { transaction } = read(payload);
        if (transaction !== null) JSON.parse(transaction);
      }),
    );
    expect(read(`{"body":${'['.repeat(30_000)}${']'.repeat(30_000)}}`).problem).toBeNull();
  });
});

describe('an answer', () => {
  const answer: Parameters<typeof encodeResponse>[0] = {
    status: 'ok',
    data: JSON.stringify({ data: ['ü'.repeat(50)] }),
    isPage: true,
  };

  it('holds the data and the transaction as they came', () => {
    expect(encodeResponse({ status: 'ok', data: 'null', isPage: false }, null, 100)).toBe(
      '{"status":"ok","data":null}',
    );
    expect(encodeResponse({ status: 'ok', data: '[ 1.0]', isPage: false }, '{"n": 1.0}', 100)).toBe(
      '{"status":"ok","data":[ 1.0],"transaction":{"n": 1.0}}',
    );
  });

  it('holds what went wrong', () => {
    const failure = { code: 'not_found', message: 'gone', httpStatus: 404, isTried: true } as const;
    expect(encodeResponse({ status: 'error', failure }, 'null', 100)).toBe(
      '{"status":"error","error":{"code":"not_found","message":"gone","http_status":404},"transaction":null}',
    );
  });

  it('that fits to the byte is whole, and one byte less leaves the data out, without making it a failure', () => {
    const whole = encodeResponse(answer, '"t"', 10_000);
    const bytes = Buffer.byteLength(whole);
    expect(encodeResponse(answer, '"t"', bytes)).toBe(whole);
    expect(JSON.parse(encodeResponse(answer, '"t"', bytes - 1))).toEqual({
      status: 'ok',
      data: null,
      truncated: true,
      bytes,
      limit: bytes - 1,
      message:
        'the operation succeeded, but its answer is too large. Read it page by page with "query":{"page":…}',
      transaction: 't',
    });
    const record = JSON.parse(encodeResponse({ ...answer, isPage: false }, null, 100));
    expect(record.message).toBe('the operation succeeded, but its answer is too large');
  });
});

describe('a failure', () => {
  it.each<[CloudErrorKind, string, boolean]>([
    ['auth', 'unauthorized', true],
    ['forbidden', 'forbidden', true],
    ['notFound', 'not_found', true],
    ['rateLimited', 'rate_limited', true],
    ['rejected', 'validation_failed', true],
    ['unavailable', 'cloud_unavailable', true],
    ['unreadable', 'cloud_unavailable', true],
    ['unsupported', 'unsupported', true],
    ['invalid', 'invalid_request', false],
  ])('%s is told as %s', (kind, code, isTried) => {
    expect(requestFailure(new CloudError(kind, 'read_sonic', 'why', { status: 418 }), 200)).toEqual({
      code,
      message: 'why',
      httpStatus: 418,
      isTried,
    });
  });

  it('after the time limit is a timeout, with the last status that the cloud answered, if any', () => {
    const error = new CloudError('unavailable', 'read_sonic', 'too late', { timedOut: true });
    expect(requestFailure(error, null)).toMatchObject({ code: 'timeout', httpStatus: null });
    expect(requestFailure(error, 503)).toMatchObject({ code: 'timeout', httpStatus: 503 });
  });

  it('in our own code is reported too', () => {
    expect(requestFailure(new TypeError('oops'), null)).toEqual({
      code: 'cloud_unavailable',
      message: 'oops',
      httpStatus: null,
      isTried: true,
    });
  });

  it('has a message of limited length', () => {
    const { message } = requestFailure(new Error('x'.repeat(60_000)), null);
    expect(message).toBe(`${'x'.repeat(500)}…`);
  });
});

describe('an answer may go', () => {
  const topics = new Topics('home/water', 'ha');

  it.each([
    'my/flow/answers',
    'answers',
    'home/waterfall',
    'home',
    'hat/x',
    'home/water/bridge/response/my_flow',
    'home/water/bridge/response/a/b',
    'ü/\u{1f4a7}',
    `${'x'.repeat(65_535)}`,
  ])('to %.40s', (topic) => {
    expect(topics.isOpenToAnswers(topic)).toBe(true);
  });

  it.each([
    '',
    'a/+',
    'a/#',
    'a\u0000b',
    'a\nb',
    'a\ufffe',
    '$SYS/broker',
    `${'x'.repeat(65_536)}`,
    `${'ü'.repeat(32_768)}`,
    'home/water',
    'home/water/sonic/a1/valve/set',
    'home/water/bridge/state',
    'home/water/bridge/request/list_sonics',
    'home/water/bridge/response',
    'home/water/bridge/event',
    'ha',
    'ha/device/sonic2mqtt_bridge/config',
  ])('not to %.40s', (topic) => {
    expect(topics.isOpenToAnswers(topic)).toBe(false);
  });
});

describe('a topic', () => {
  const topics = new Topics('home/water', 'ha');

  it('of a request names its operation as it came, and one of anything else none', () => {
    expect(topics.requestFilter).toBe('home/water/bridge/request/+');
    expect(topics.operationOf('home/water/bridge/request/list_sonics')).toBe('list_sonics');
    expect(topics.operationOf('home/water/bridge/request/')).toBe('');
    expect(topics.operationOf('home/water/bridge/response/list_sonics')).toBeNull();
    expect(topics.operationOf('water/bridge/request/list_sonics')).toBeNull();
    expect(topics.response('list_sonics')).toBe('home/water/bridge/response/list_sonics');
  });
});

it('a request that spells an id in capitals is about the hub that is known', async () => {
  const bench = await startCommands();
  const payload = { params: { signal_id: 'SIGNAL-1' }, body: { name: 'Attic' } };
  bench.take('sonic2mqtt/bridge/request/update_signal', JSON.stringify(payload));
  await bench.untilOutcomes(1);
  expect(bench.changes).toEqual([['/ape/v1/signals/signal-1', { name: 'Attic' }]]);
});
