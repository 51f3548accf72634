import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { parseDuration } from '../../../src/base/duration.ts';
import { variableOf } from '../../../src/config/environment.ts';
import { parseFile } from '../../../src/config/file.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { configJsonSchema, optionRows } from '../../../src/config/schema.ts';
import { problemsOf as faultsOf, loadFrom } from '../../support/configurationFile.ts';
import { temporaryFolder } from '../../support/program.ts';

const folder = temporaryFolder();

const problemsOf = (yaml: string, env: NodeJS.ProcessEnv = {}) => faultsOf(() => loadFrom(folder, yaml, env));

const good = {
  SONIC2MQTT_CLOUD__BASE_URL: 'https://api.example.com',
  SONIC2MQTT_CLOUD__EMAIL: 'me@example.com',
  SONIC2MQTT_CLOUD__PASSWORD: 'secret',
  SONIC2MQTT_MQTT__URL: 'mqtt://localhost',
};

const yamlish = fc
  .array(
    fc.constantFrom(
      'a',
      'mqtt',
      ': ',
      ':',
      '\n',
      '  ',
      '- ',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      '&x',
      '*x',
      '!t',
      '#',
      '|',
      '%',
      '\t',
      '---',
      '?',
      '<<',
      '\0',
      'é',
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

describe('whatever the file holds', () => {
  it('reading it ends in a value or in problems of one line', () => {
    fc.assert(
      fc.property(fc.oneof(yamlish, fc.string({ unit: 'binary' })), (source) => {
        const { value, problems } = parseFile(source);
        expect(value !== undefined || problems.length > 0).toBe(true);
        for (const { message } of problems) expect(message).toMatch(/^.+$/);
      }),
      { numRuns: 500 },
    );
  });

  it('a value of any kind for any option is taken or named as a problem', () => {
    const option = fc.constantFrom(...optionRows.map((row) => row.path));
    const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.double(), fc.webUrl());
    fc.assert(
      fc.property(option, value, (path, given) => {
        const tree = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), given);
        const { [variableOf(path)]: _, ...others }: NodeJS.ProcessEnv = good;
        for (const problem of problemsOf(stringify(tree), others)) expect(problem).toMatch(/^\P{Cc}+$/u);
      }),
      { numRuns: 300, examples: [['mqtt.base_topic', { toString: '' }]] },
    );
  });

  it.each(['a: &a {b: *a}', 'cloud: &c\n  routes: *c', 'a: &a [x, x]\nb: [*a, *a]'])(
    'an anchor or an alias is refused, so no value can grow without end: %s',
    (yaml) => {
      expect(problemsOf(yaml, good)).toContainEqual(expect.stringContaining('must be in quotes'));
    },
  );

  it('what is nested too deeply to be read is refused', () => {
    for (const yaml of [
      '['.repeat(20_000),
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
      '- '.repeat(20_000),
    ]) {
      expect(problemsOf(yaml, good).length).toBeGreaterThan(0);
    }
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('the key %s is unknown', (key) => {
    expect(problemsOf(`"${key}": { polluted: true }\nlog: { "${key}": 1 }`, good)).toEqual([
      `${key} (line 1): unknown key`,
      `log.${key} (line 2): unknown key`,
    ]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('whatever the environment holds', () => {
  it('a password is taken as it is, without the end of its line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('', '\r', '\n', '\r\n'), (text, end) => {
        const password = `${text}!`;
        const env = { ...good, SONIC2MQTT_CLOUD__PASSWORD: password + end };
        expect(loadConfig({ env, cwd: join(folder, 'nowhere') }).config.cloud.password).toBe(password);
      }),
    );
  });

  it('a value of any kind for any option is taken or named as a problem', () => {
    fc.assert(
      fc.property(fc.constantFrom(...optionRows), fc.oneof(yamlish, fc.string()), (row, value) => {
        const env = { ...good, [variableOf(row.path)]: value };
        for (const problem of problemsOf('', env)) expect(problem).toMatch(/^\P{Cc}+$/u);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the pattern of durations that editors check', () => {
  const text = z.object({ pattern: z.string() });
  const section = z.object({ properties: z.object({ request_timeout: text }) });
  const schema = z.object({ properties: z.object({ cloud: section }) }).parse(configJsonSchema([]));
  const { pattern } = schema.properties.cloud.properties.request_timeout;

  it('accepts what the bridge accepts', () => {
    const parts = fc.array(fc.constantFrom('1', '20', '.', '.5', 'ms', 's', 'm', 'h', 'd', ' ', '-'), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(parts, (each) => {
        const text = each.join('');
        expect(new RegExp(pattern).test(text)).toBe(parseDuration(text) !== null);
      }),
      { numRuns: 500 },
    );
  });
});
