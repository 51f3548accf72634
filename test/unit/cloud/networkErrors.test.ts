import { expect, it } from 'vitest';
import { describeFailure } from '../../../src/cloud/networkErrors.ts';

const failed = (code: string) =>
  describeFailure(
    Object.assign(new Error(code), { code }),
    { url: new URL('https://cloud.example.com'), proxy: null },
    true,
  );

it('Requests that hang and requests that are cut off are one piece of news: one outage may do both', () => {
  const codes = ['ECONNRESET', 'UND_ERR_SOCKET', 'ETIMEDOUT'];
  expect(new Set(codes.map((code) => failed(code).key))).toEqual(new Set(['no answer']));
  expect(failed('ENOTFOUND').key).toBe('DNS: no such host cloud.example.com');
  expect(failed('ECONNREFUSED').key).toBe('connection refused by cloud.example.com');
});

it('an incomplete certificate chain is named, because browsers complete it and hide it', () => {
  expect(failed('UNABLE_TO_VERIFY_LEAF_SIGNATURE').message).toBe(
    'TLS: the server does not send its whole certificate chain, or its authority is unknown',
  );
});
