import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseFile } from '../../../src/config/file.ts';
import { ConfigError, loadConfig } from '../../../src/config/load.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { secretsOf } from '../../../src/config/secrets.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-hostile-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const good = {
  SONIC2MQTT_CLOUD__BASE_URL: 'https://api.example.com',
  SONIC2MQTT_CLOUD__EMAIL: 'me@example.com',
  SONIC2MQTT_CLOUD__PASSWORD: 'secret',
  SONIC2MQTT_MQTT__URL: 'mqtt://localhost',
};

function problemsOf(yaml: string, env: NodeJS.ProcessEnv = good, file?: string): readonly string[] {
  writeFileSync(join(folder, 'config.yaml'), yaml);
  try {
    loadConfig({ env, cwd: folder, file });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('a file that would cost the reader its stack or its memory is refused in words', () => {
  it.each([
    ['brackets', '['.repeat(20_000)],
    ['brackets that are closed', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    ['braces', `${'{a: '.repeat(5_000)}1${'}'.repeat(5_000)}`],
    ['dashes', '- '.repeat(20_000)],
    ['indentation', Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('too many %s', (_, yaml) => {
    expect(problemsOf(yaml)).toEqual([
      expect.stringMatching(/^line \d+: what begins here is nested too deeply$/),
    ]);
  });

  it.each(['a: &a {b: *a}', 'cloud: &c\n  routes: *c', '&r a: &x [*x]', '&all\nlog: *all'])(
    'an alias that stands in what it names: %s',
    (yaml) => {
      expect(problemsOf(yaml)).toContainEqual(expect.stringContaining('aliases'));
    },
  );

  it('more than a mebibyte', () => {
    expect(problemsOf(`# ${'x'.repeat(1_048_576)}`)).toEqual([
      expect.stringMatching(/config\.yaml: it is larger than 1048576 bytes$/),
    ]);
  });

  it.skipIf(process.platform === 'win32')('a device that never ends', () => {
    expect(problemsOf('', good, '/dev/zero')).toEqual([expect.stringMatching(/larger than/)]);
  });
});

it('what people write is not too deep', () => {
  const yaml = `cloud:\n  password: "[[[[{{{{((((----????::::"\n# ${'- '.repeat(100)}\nlog: {level: debug}\n`;
  expect(parseFile(yaml).problems).toEqual([]);
});

it('a broker URL whose password cannot be read is refused, and not repeated', () => {
  const env = { ...good, SONIC2MQTT_MQTT__URL: 'mqtt://me:100%hush@localhost' };
  expect(problemsOf('', env)).toEqual([
    'mqtt.url (SONIC2MQTT_MQTT__URL): has a % in its user name or password, which must be written %25 there',
  ]);
});

it('everything secret is known before the first line of the log', () => {
  const [passwordFile, keyFile] = ['password', 'key'].map((name) => join(folder, name)) as [string, string];
  writeFileSync(passwordFile, 'of-a-file\n');
  writeFileSync(keyFile, '-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----\n');
  const config = configSchema.parse({
    cloud: { base_url: 'https://api.example.com', email: 'me@example.com', password_file: passwordFile },
    mqtt: {
      url: 'mqtt://me:in%20url@localhost',
      password: 'of-broker',
      key_file: keyFile,
      embedded: { username: 'x', password_file: join(folder, 'nowhere') },
    },
    http: { webhook: { secret: 'of-webhook', signing_secret: 'of-signature' } },
  });
  expect(secretsOf(config).toSorted()).toEqual(
    [
      '-----BEGIN PRIVATE KEY-----\nabcd\n-----END PRIVATE KEY-----',
      ...['in url', 'in%20url', 'of-broker', 'of-file', 'of-signature', 'of-webhook'].map((each) =>
        each === 'of-file' ? 'of-a-file' : each,
      ),
    ].toSorted(),
  );
});
