import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSameSecret, signatureProblem } from '../../../src/webhook/signature.ts';

const now = Date.parse('2026-11-20T09:00:00Z');
const seconds = now / 1_000;
const body = Buffer.from('{"type":"incident.created"}');
const sign = (at: number | string, secret = 'hush', signed: string | Buffer = body) =>
  createHmac('sha256', secret).update(`${at}.`).update(signed).digest('hex');
const problem = (header: string | undefined, given = body) => signatureProblem(header, given, 'hush', now);

describe('a signature', () => {
  it('is what HMAC-SHA256 makes of the time, a dot and the body', () => {
    // Reckoned by OpenSSL: printf '1795165200.{}' | openssl dgst -sha256 -hmac hush
    const known = '02d3aceadeac70833c30610b2ddf6cfc2adfeaf615122806cd8bce9bcb943442';
    expect(
      signatureProblem(`t=1795165200,v1=${known}`, Buffer.from('{}'), 'hush', 1_795_165_200_000),
    ).toBeNull();
    expect(problem(`t=${seconds},v1=${sign(seconds)}`)).toBeNull();
    expect(problem(`t=${seconds}, v0=abc, v1=${sign(seconds).toUpperCase()}`)).toBeNull();
    expect(problem(`t=${seconds},v1=${sign(seconds, 'old')},v1=${sign(seconds)}`)).toBeNull();
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    expect(problem(`t=${seconds},v1=${sign(seconds, 'hush', bytes)}`, bytes)).toBeNull();
  });

  it.each([
    ['there is none', undefined, /^the signature is missing$/],
    ['it is empty', '', /must have the form t=…,v1=…$/],
    ['it has no time', `v1=${sign(seconds)}`, /must have the form t=…,v1=…$/],
    ['its time is no number', `t=now,v1=${sign('now')}`, /must have the form t=…,v1=…$/],
    ['it has no value', `t=${seconds}`, /must have the form t=…,v1=…$/],
    ['it is cut off', `t=${seconds},v1=${sign(seconds).slice(0, 62)}`, /must have the form t=…,v1=…$/],
    ['it is of another scheme', `t=${seconds},v0=${sign(seconds)}`, /must have the form t=…,v1=…$/],
    ['it is of another secret', `t=${seconds},v1=${sign(seconds, 'push')}`, /signing_secret/],
    ['it is of another time', `t=${seconds},v1=${sign(seconds - 1)}`, /signing_secret/],
    ['it is of another body', `t=${seconds},v1=${sign(seconds, 'hush', '{}')}`, /signing_secret/],
  ])('is refused where %s', (_, header, words) => {
    expect(problem(header)).toMatch(words);
  });

  it('may be ten minutes old and no older, and no further in the future', () => {
    const at = (offset: number) => problem(`t=${seconds + offset},v1=${sign(seconds + offset)}`);
    expect(at(-600)).toBeNull();
    expect(at(-601)).toBe('it was signed 10 min ago. Check the clock of this computer');
    expect(at(600)).toBeNull();
    expect(at(601)).toBe('it was signed 10 min in the future. Check the clock of this computer');
  });
});

describe('a secret', () => {
  it('is the same or not, whatever its length', () => {
    expect(isSameSecret('abc', 'abc')).toBe(true);
    for (const other of ['', 'ab', 'abcd', 'abd', 'ABC']) expect(isSameSecret(other, 'abc')).toBe(false);
  });
});
