import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/base/secrets.ts';
import type { HttpResponse } from '../../../src/cloud/http.ts';
import { operationNames, operationRow } from '../../../src/cloud/operations.ts';
import { checkStatus, readAnswer } from '../../../src/cloud/response.ts';
import { operationSamples } from '../../support/operationSamples.ts';

function answer(status: number, body: unknown): HttpResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, body: Buffer.from(text), bodyProblem: null, header: () => null };
}

describe('the reason of a rejection is shown, whatever its shape:', () => {
  const secrets = new Secrets();
  secrets.add('correct horse');
  const shown = (body: unknown, status = 422) =>
    checkStatus('update_signal', answer(status, body), 0, (text) => secrets.hide(text))?.message;
  const words = 'the cloud answered 422 (the values are not accepted)';

  it.each<[string, unknown, string]>([
    ['message', { message: 'name is too long' }, 'name is too long'],
    ['error', { error: 'name is too long' }, 'name is too long'],
    ['detail', { detail: 'name is too long' }, 'name is too long'],
    ['title', { type: 'about:blank', title: 'Invalid', status: 422 }, 'Invalid'],
    ['an object', { error: { code: 7, message: 'name is too long' } }, 'name is too long'],
    ['errors[].detail', { errors: [{ detail: 'too long' }, { detail: 'too odd' }] }, 'too long. too odd'],
    ['errors[]', { errors: ['too long'] }, 'too long'],
    ['errors.{field}[]', { errors: { name: ['is too long', 'is odd'] } }, 'name: is too long. name: is odd'],
    ['errors.{field}', { errors: { name: 'is too long' } }, 'name: is too long'],
    ['both', { message: 'Invalid', errors: { name: ['is too long'] } }, 'Invalid. name: is too long'],
    ['FastAPI', { detail: [{ loc: ['body', 'name'], msg: 'too long' }] }, 'too long'],
    ['a text of JSON', '"name is too long"', 'name is too long'],
    ['sentences', { errors: ['Access denied.', 'Ask the owner.'] }, 'Access denied. Ask the owner'],
    ['a plain sentence', 'Access denied.\n', 'Access denied'],
    ['plain text', 'name is too long\n', 'name is too long'],
    ['a secret in plain text', 'no user has correct horse', 'no user has [hidden]'],
    ['a secret in a list', { errors: ['correct horse'] }, '[hidden]'],
  ])('%s', (_, body, reason) => {
    expect(shown(body)).toBe(`${words}: ${reason}`);
  });

  it.each([
    ['a web page', '<!doctype html><h1>Forbidden</h1>'],
    ['nothing', ''],
    ['numbers', { code: 7 }],
    ['null', { message: null }],
  ])('%s says nothing', (_, body) => {
    expect(shown(body)).toBe(words);
  });

  it('and is bounded', () => {
    expect(
      shown({ errors: Array.from({ length: 1_000 }, (_, index) => `fault ${index}`) })?.length,
    ).toBeLessThan(300);
    expect(shown('x'.repeat(60_000))?.length).toBeLessThan(300);
  });

  it('but the text of a server that has failed is its own affair', () => {
    expect(shown('upstream connect error', 503)).toBe('the cloud answered 503 (server error)');
  });
});

describe('a change is done by its status alone, whatever the answer says:', () => {
  const changes = operationNames.filter((name) => operationRow(name).control);
  const read = (name: (typeof changes)[number], status: number, body: unknown) =>
    readAnswer(name, answer(status, body), () => {}, new Secrets());

  it.each(changes)('%s', (name) => {
    const nothing = { reply: null, sent: null };
    expect(read(name, 204, '')).toEqual(nothing);
    expect(read(name, 200, '')).toEqual(nothing);
    expect(read(name, 200, 'null')).toEqual({ reply: null, sent: 'null' });
    expect(read(name, 202, 'accepted')).toEqual({ reply: null, sent: '"accepted"' });
    expect(read(name, 202, '[true]')).toEqual({ reply: null, sent: '[true]' });
    const { reply } = operationSamples[name];
    if (reply !== undefined) expect(read(name, 201, reply).sent).toBe(JSON.stringify(reply));
  });

  it('but what is read must be there', () => {
    expect(() => read('read_signal', 200, '')).toThrow('is empty');
    expect(() => read('list_sonics', 204, '')).toThrow('is empty');
  });
});

describe('an answer is passed on as the cloud sent it:', () => {
  const secrets = new Secrets();
  secrets.add('correct horse');
  const sent = (text: string) => readAnswer('list_sonics', answer(200, text), () => {}, secrets).sent;

  it.each([
    '{"data": [{"id": "a b"}, {"name": "no id"}, 7],\n "total_entries": 3}',
    '{"data":[{"id":"s","serial_no":12345678901234567890,"level":1.0}]}',
    `{"data":[],"extra":${'['.repeat(100)}${']'.repeat(100)}}`,
  ])('%s', (text) => {
    expect(sent(text)).toBe(text);
  });

  it('but no secret, however it is written, and no half of a character', () => {
    const odd = '{"data":[],"a":12345678901234567890,"b":"correct horse","correct\\u0020horse":"\\ud83d"}';
    expect(sent(odd)).toBe('{"data":[],"a":12345678901234567890,"b":"[hidden]","[hidden]":"\ufffd"}');
  });
});

it('the user of the session comes without its token', () => {
  const { reply, sent } = readAnswer(
    'read_own_user',
    answer(200, {
      token_details: 'dG9rZW4=--0123',
      user_details: { id: 'u-1', email: 'me@example.com', phone: '1' },
    }),
    () => {},
    new Secrets(),
  );
  expect(sent).toBe('{"id":"u-1","email":"me@example.com","phone":"1"}');
  expect(reply).toMatchObject({ id: 'u-1', first_name: null });
  for (const body of [{ token_details: 'dG9rZW4=--0123' }, [], 'text', null]) {
    expect(() =>
      readAnswer('read_own_user', answer(200, JSON.stringify(body)), () => {}, new Secrets()),
    ).toThrow('unexpected format');
  }
});

describe('a page', () => {
  const secrets = { hide: (text: string) => text, hideInData: (text: string) => text };
  const read = (data: readonly unknown[]) => {
    const notices: string[] = [];
    const page = readAnswer(
      'list_sonics',
      answer(200, { data }),
      (_, notice) => notices.push(notice),
      secrets,
    );
    return { page, notices };
  };

  it('has 10,000 records at most, and the first 20 that cannot be read are reported', () => {
    const { page, notices } = read(new Array(10_000).fill({}));
    expect(page.reply).toMatchObject({ records: [], dropped: 10_000, missing: 10_000 });
    expect(notices).toHaveLength(20);
    expect(() => read(new Array(10_001).fill({}))).toThrow(/has an unexpected format/);
  });

  it.each([
    ['one escape', `${'x'.repeat(10_000_000)}\\n`],
    ['escapes alone', '\\n'.repeat(7_000_000)],
    ['escapes that hide letters', '\\u00e9'.repeat(1_000_000)],
  ])('is read although one text is very long: %s', (_, name) => {
    const body = `{"data":[{"id":"s-1","name":"${name}"}]}`;
    const page = readAnswer('list_sonics', answer(200, body), () => {}, secrets);
    expect(page.reply).toMatchObject({ records: [{ id: 's-1' }], dropped: 0 });
  });
});
