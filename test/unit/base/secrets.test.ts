import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/base/secrets.ts';

it('the newest tokens are hidden, those that are worth nothing any more are let go', () => {
  const secrets = new Secrets();
  secrets.add('the password');
  for (let count = 1; count <= 1_000; count++) secrets.addToken(`token-${count}.`);
  const text = secrets.hide('the password, token-1., token-990., token-991., token-1000.');
  expect(text).toBe('[hidden], token-1., token-990., [hidden], [hidden]');
});

it('a token that is added again is as new as the newest', () => {
  const secrets = new Secrets();
  secrets.addToken('the first');
  for (let count = 1; count < 10; count++) secrets.addToken(`token--${count}`);
  secrets.addToken('the first');
  secrets.addToken('the next');
  expect(secrets.hide('the first token--1 token--2')).toBe('[hidden] token--1 [hidden]');
});

it('a word of three letters is not hidden, whatever it is', () => {
  const secrets = new Secrets();
  secrets.add('for');
  secrets.addToken('the');
  expect(secrets.hide('for the record')).toBe('for the record');
});

describe('a short secret', () => {
  const hide = (secret: string, text: string) => {
    const secrets = new Secrets();
    secrets.add(secret);
    return secrets.hide(text);
  };

  it.each([
    ['mqtt', 'sonic2mqtt 1.0.0: connected to mqtt://localhost:1883'],
    ['wrong', 'wrong user name or password'],
    ['Valve', 'Valve closed'],
    ['1883', 'MQTT broker localhost:1883'],
    ['info', '{"level":"info","msg":"password accepted"}'],
    ['hush4', 'sshush44'],
  ])('is not hidden among words, which would tell it: %s', (secret, text) => {
    expect(hide(secret, text)).toBe(text);
  });

  it.each([
    ['mqtt', 'password=mqtt&x=1', 'password=[hidden]&x=1'],
    ['mqtt', '{"password":"mqtt"}', '{"password":"[hidden]"}'],
    ['mqtt', '"{\\"password\\": \\"mqtt\\"}"', '"{\\"password\\": \\"[hidden]\\"}"'],
    ['mqtt', 'mqtt://me:mqtt@localhost', 'mqtt://me:[hidden]@localhost'],
    ['1883', 'the token: 1883', 'the token: [hidden]'],
    ['cat', 'password=cat', 'password=cat'],
  ])('is hidden where something says that it is one: %s in %s', (secret, text, hidden) => {
    expect(hide(secret, text)).toBe(hidden);
  });

  it.each(['hush4', 'hu sh', 'aBcDe', 'ab-cd'])('is hidden by itself if it is no word: %s', (secret) => {
    expect(hide(secret, `got ${secret}, but`)).toBe('got [hidden], but');
  });
});

describe('a secret in other writing', () => {
  const secret = 'pä&ss "wörd" 1';
  const json = JSON.stringify(secret);
  it.each([
    ['a URL', encodeURIComponent(secret)],
    ['a URL with small letters', encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ['a form', encodeURIComponent(secret).replaceAll('%20', '+')],
    ['JSON', json.slice(1, -1)],
    ['JSON in JSON', JSON.stringify(json).slice(3, -3)],
    ['JSON of ASCII', json.slice(1, -1).replaceAll('ä', '\\u00e4').replaceAll('ö', '\\u00f6')],
  ])('is hidden: in %s', (_, form) => {
    const secrets = new Secrets();
    secrets.add(secret);
    expect(form).not.toBe(secret);
    expect(secrets.hide(`before ${form} after`)).toBe('before [hidden] after');
  });
});

describe('a secret that is broken over lines', () => {
  const gaps = [
    '\n',
    '\r\n  ',
    '\t',
    '\u200b',
    '\u2028',
    '\\n',
    '\\r\\n',
    '\\\\n',
    '\\u000a',
    '\\u2028',
    '%0A',
    '%20',
  ];
  it.each(gaps)('is hidden, however the break is written: %j', (gap) => {
    const secrets = new Secrets();
    for (const secret of ['correct horse', 'a.token-of$it']) secrets.add(secret);
    const text = `got correct${gap}horse, a.to${gap}ken-of${gap}$it!`;
    expect([secrets.hide(text), secrets.hideInData(text)]).toEqual(Array(2).fill('got [hidden], [hidden]!'));
  });

  it('is not seen in other words, nor over the texts of JSON', () => {
    const secrets = new Secrets();
    secrets.add('opened by');
    for (const text of ['opened\nfor', '{"a":"opened", "b":"by"}', 'opened', 'C:\\new'])
      expect(secrets.hide(text)).toBe(text);
  });
});

describe('in data', () => {
  it('only what cannot be one of its words is hidden', () => {
    const secrets = new Secrets();
    for (const secret of ['open', 'online', 'long-enough']) secrets.add(secret);
    secrets.addToken('a-token-of-the-cloud');
    expect(secrets.hideInData('open online long-enough a-token-of-the-cloud')).toBe(
      'open online [hidden] [hidden]',
    );
  });
});
