import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/base/secrets.ts';

it('the newest tokens are hidden, those that are worth nothing any more are let go', () => {
  const secrets = new Secrets();
  secrets.add('the password');
  for (let count = 1; count <= 1_000; count++) secrets.addToken(`token-${count}.`);
  const text = secrets.hide('the password, token-1., token-990., token-991., token-1000.');
  expect(text).toBe('[hidden], token-1., token-990., [hidden], [hidden]');
});

it('a token that is told again is as new as the newest', () => {
  const secrets = new Secrets();
  secrets.addToken('first');
  for (let count = 1; count < 10; count++) secrets.addToken(`token-${count}`);
  secrets.addToken('first');
  secrets.addToken('the next');
  expect(secrets.hide('first token-1 token-2')).toBe('[hidden] token-1 [hidden]');
});

it('a word of three letters is not hidden, whatever it is', () => {
  const secrets = new Secrets();
  secrets.add('for');
  secrets.addToken('the');
  expect(secrets.hide('for the record')).toBe('for the record');
});

describe('a secret in other writing', () => {
  const secret = 'pä&ss "wörd" 1';
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret);
  it.each([
    ['a URL', encodeURIComponent(secret)],
    ['a URL with small letters', encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ['a form', encodeURIComponent(secret).replaceAll('%20', '+')],
    ['JSON', json.slice(1, -1)],
    ['JSON in JSON', JSON.stringify(json).slice(3, -3)],
    ['JSON of ASCII', json.slice(1, -1).replaceAll('ä', '\\u00e4').replaceAll('ö', '\\u00f6')],
    ['hexadecimal', bytes.toString('hex')],
    ['hexadecimal of capitals', bytes.toString('hex').toUpperCase()],
  ])('is hidden: in %s', (_, form) => {
    const secrets = new Secrets();
    secrets.add(secret);
    expect(form).not.toBe(secret);
    expect(secrets.hide(`before ${form} after`)).toBe('before [hidden] after');
  });

  it.each(['', 'b', 'br', 'bridge', 'bridge:', 'somebody:'])(
    'is hidden: in base64, behind "%s"',
    (before) => {
      const secrets = new Secrets();
      secrets.add(secret);
      const encoded = Buffer.from(`${before}${secret} and more`);
      for (const form of [encoded.toString('base64'), encoded.toString('base64url')]) {
        const hidden = secrets.hide(form);
        expect(hidden).toContain('[hidden]');
        // The letters at its ends are shared with what stands around it.
        const left = Buffer.from(hidden.replace('[hidden]', ''), 'base64').toString('latin1');
        expect(left).not.toContain('wör');
        expect(hidden.length).toBeLessThan(form.length - 10);
      }
    },
  );
});

describe('in data', () => {
  it('only what cannot be one of its words is hidden', () => {
    const secrets = new Secrets();
    for (const secret of ['open', 'online', 'long-enough']) secrets.add(secret);
    secrets.addToken('a-token-of-the-cloud');
    expect(secrets.hideInData('open online long-enough a-token-of-the-cloud')).toBe(
      'open online [hidden] [hidden]',
    );
    expect(secrets.hide('open online long-enough')).toBe('[hidden] [hidden] [hidden]');
  });
});
