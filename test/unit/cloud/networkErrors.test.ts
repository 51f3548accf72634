import { expect, it } from 'vitest';
import { describeFailure } from '../../../src/cloud/networkErrors.ts';

const failed = (code: string) =>
  describeFailure(Object.assign(new Error(code), { code }), new URL('https://cloud.example.com'), true);

it('Requests that hang and requests that are cut off are one piece of news: one outage may do both', () => {
  const codes = ['ECONNRESET', 'UND_ERR_SOCKET', 'ETIMEDOUT'];
  expect(new Set(codes.map((code) => failed(code).key))).toEqual(new Set(['no answer']));
  expect(failed('ENOTFOUND').key).toBe('DNS: no such host cloud.example.com');
  expect(failed('ECONNREFUSED').key).toBe('connection refused by cloud.example.com');
});

it('a network that answers in place of the cloud is named, and not the cloud', () => {
  expect(failed('EBLOCKED').message).toBe(
    'DNS: a filter in the network blocks cloud.example.com. Allow it in the filter',
  );
  const said =
    "Hostname/IP does not match certificate's altnames: Host: cloud.example.com. is not in the cert's altnames: DNS:guest.hotel.example";
  const error = Object.assign(new Error(said), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  const url = new URL('https://cloud.example.com');
  expect(describeFailure(error, url, false).message).toBe(
    'TLS: another server answers for cloud.example.com, with the certificate of DNS:guest.hotel.example. It may be a filter or a sign-in page of the network',
  );
});

it('an incomplete certificate chain is named, because browsers complete it and hide it', () => {
  expect(failed('UNABLE_TO_VERIFY_LEAF_SIGNATURE').message).toBe(
    'TLS: the server does not send its whole certificate chain, or its authority is unknown',
  );
});
