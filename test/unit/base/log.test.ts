import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { Secrets } from '../../../src/base/secrets.ts';
import { logLines } from '../../support/logLines.ts';

const password = 'p@ss "wörd" \\ 1';

describe.each(['json', 'pretty'] as const)('a log in the format %s', (format) => {
  it('hides secrets at every level: in messages, fields, error texts, causes and stacks', () => {
    const lines = logLines('trace', format);
    lines.secrets.add(password);
    const cause = new Error(`cause with ${password}`);
    const error = new Error(`sign-in with ${password} failed`, { cause });
    Object.assign(error, { body: { password } });
    lines.log.trace({ err: error, url: `mqtt://me:${encodeURIComponent(password)}@host` }, 'tried');
    lines.log.error(error);
    lines.log.info(`the password is ${password}`);
    lines.log.debug({ [password]: 'as a key', deep: { list: [password] } }, password);
    expect(lines.text).toContain('sign-in with [hidden] failed');
    expect(lines.text).toContain('mqtt://me:[hidden]@host');
    for (const form of [password, encodeURIComponent(password), JSON.stringify(password).slice(1, -1)]) {
      expect(lines.text).not.toContain(form);
    }
    expect(lines.text).not.toMatch(/wörd|w%C3%B6rd/);
  });

  it('hides a secret from the moment it is known', () => {
    const lines = logLines('info', format);
    lines.log.info('token-1');
    lines.secrets.add('token-1');
    lines.log.info('token-1');
    expect(lines.text.match(/token-1/g)).toHaveLength(1);
  });

  it('writes a line for each message of its level and above', () => {
    const lines = logLines('warn', format);
    lines.log.info('quiet');
    lines.log.warn('a warning');
    lines.log.error('an error');
    expect(lines.text.trimEnd().split('\n')).toHaveLength(2);
    expect(lines.text).toMatch(/a warning.*\n.*an error/);
  });

  it('takes another level while it runs', () => {
    const lines = logLines('info', format);
    lines.log.debug('before');
    lines.log.level = 'debug';
    lines.log.debug('after');
    expect(lines.text).toContain('after');
    expect(lines.text).not.toContain('before');
  });
});

describe('whatever a text holds', () => {
  const evil = 'x\n[2026-01-01 00:00:00] INFO: forged\r\u001b[2K\u0007\u009b31m\u2028\u202e \\n\\u001b "';

  it('no line is forged and nothing reaches the terminal but text', () => {
    const lines = logLines('trace', 'pretty');
    lines.log.info(evil);
    lines.log.warn({ evil, [evil]: { evil } }, 'fields');
    lines.log.error({ err: Object.assign(new Error(evil, { cause: new Error(evil) }), { evil }) }, evil);
    expect(lines.text).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]/u);
    const begins = lines.text.split('\n').filter((line) => /^\S/.test(line));
    expect(begins.map((line) => line.slice(22))).toEqual(['INFO: x', 'WARN: fields', 'ERROR: x']);
    expect(lines.text).toContain('    [2026-01-01 00:00:00] INFO: forged\\r\\u001b[2K');
  });

  it('a JSON line is one line that means the same', () => {
    const lines = logLines('trace', 'json');
    lines.log.info({ evil }, evil);
    expect(lines.text).not.toMatch(/[^\P{Cc}\n]|[\u2028\u202e]|\n./u);
    expect(JSON.parse(lines.text)).toMatchObject({ evil, msg: evil });
  });
});

it('a pretty line has the time, the level and the words, and no colours for a file', () => {
  const lines = logLines('info', 'pretty');
  lines.log.info('hello');
  expect(lines.text).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] INFO: hello\n$/);
});

it('a JSON line is one object', () => {
  const lines = logLines('info', 'json');
  lines.log.info({ port: 1883 }, 'hello\nthere');
  expect(JSON.parse(lines.text)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    port: 1883,
    msg: 'hello\nthere',
  });
});

it('what a line is about is in the fields of JSON and not in a pretty line', () => {
  const subject = {
    device: 'id-1',
    topic: 't/set',
    operation: 'read_sonic',
    incident: 'i-1',
    event: 'command',
  };
  const [json, pretty] = [logLines('info', 'json'), logLines('info', 'pretty')];
  for (const { log } of [json, pretty]) log.info(subject, 'hello');
  expect(JSON.parse(json.text)).toMatchObject({ ...subject, msg: 'hello' });
  expect(pretty.text).toMatch(/INFO: hello\n$/);
});

describe('secrets', () => {
  it('of fewer than four characters, and those that are not there, hide nothing', () => {
    const secrets = new Secrets();
    for (const value of [undefined, '', 'a', 'abc']) secrets.add(value);
    expect(secrets.hide('abc a b c')).toBe('abc a b c');
  });

  it('are hidden wherever they stand, each time', () => {
    const secrets = new Secrets();
    secrets.add('a-s3cret');
    secrets.add('t0ken$&');
    expect(secrets.hide('a-s3creta-s3cret t0ken$& t0ken%24%26')).toBe('[hidden][hidden] [hidden] [hidden]');
  });

  it('that contain one another are hidden whole', () => {
    const secrets = new Secrets();
    for (const value of ['waterway', 'waterway-works', 'wet-works']) secrets.add(value);
    expect(secrets.hide('waterway-works waterway wet-works')).toBe('[hidden] [hidden] [hidden]');
  });

  it('of broken Unicode are hidden too', () => {
    const secrets = new Secrets();
    secrets.add('half \ud83d');
    expect(secrets.hide('"half \\ud83d" half \ud83d half%20%EF%BF%BD')).toBe('"[hidden]" [hidden] [hidden]');
  });
});

it('a log without an output of its own writes to standard error', () => {
  const log = createLog({ level: 'error', format: 'json', secrets: new Secrets() });
  expect(() => log.info('not shown')).not.toThrow();
});
