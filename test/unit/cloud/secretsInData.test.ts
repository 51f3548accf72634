import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/base/secrets.ts';
import type { OperationName } from '../../../src/cloud/operations.ts';
import { readAnswer } from '../../../src/cloud/response.ts';

const secret = 'secret "1" / ö';
const secrets = new Secrets();
secrets.add(secret);
secrets.add('open');

function read(name: OperationName, body: string): unknown {
  const answer = { status: 200, body: Buffer.from(body), bodyProblem: null, header: () => null };
  return readAnswer(name, answer, () => {}, secrets).reply;
}

/** Every character as an escape that it does not need. */
const escaped = [...secret].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

describe('a secret in a good answer', () => {
  it.each([
    ['as it is', JSON.stringify(secret).slice(1, -1)],
    ['in escapes', escaped],
    ['with escaped slashes', JSON.stringify(secret).slice(1, -1).replace('/', '\\/')],
    ['in a URL', encodeURIComponent(secret)],
  ])('is hidden: %s', (_, written) => {
    const body = `{"id":"s-1","name":"my ${written}!","deep":{"list":["${written}"],"${written}":1}}`;
    expect(read('read_sonic', body)).toMatchObject({
      id: 's-1',
      name: 'my [hidden]!',
      deep: { list: ['[hidden]'], '[hidden]': 1 },
    });
  });

  it('is hidden in the records of a list, and one with such an id is left out', () => {
    const token = 'a-token-that-is-safe-in-a-topic';
    secrets.addToken(token);
    const body = JSON.stringify({ data: [{ id: 's-1', name: secret }, { id: token }] });
    expect(read('list_sonics', body)).toMatchObject({
      records: [{ id: 's-1', name: '[hidden]' }],
      dropped: 1,
    });
  });

  it('is hidden in what acknowledges a change', () => {
    expect(read('command_valve', JSON.stringify({ status: secret }))).toMatchObject({ status: '[hidden]' });
  });

  it('leaves everything else as it is', () => {
    const record = {
      id: 's-1',
      valve_state: 'open',
      auto_shut_off_time_limit: 30,
      extra: [null, 1.5, 'a/b\n"c"'],
    };
    expect(read('read_sonic', JSON.stringify(record))).toMatchObject(record);
    expect(read('read_sonic', JSON.stringify({ ...record, name: secret }))).toMatchObject(record);
  });

  it('is not hidden where it is the session that is asked for', () => {
    const body = JSON.stringify({ token_details: 'a-token-that-is-safe-in-a-topic' });
    expect(read('refresh_token', body)).toMatchObject({ token_details: 'a-token-that-is-safe-in-a-topic' });
  });
});
