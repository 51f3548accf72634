import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema.ts';
import { redactedConfig, secretsOf } from '../../../src/config/secrets.ts';
import { temporaryFolder } from '../../support/program.ts';

const cloud = { base_url: 'https://api.example.com', email: 'me@example.com' };

describe('the configuration as it may be published', () => {
  it('holds no secret, wherever it stood', () => {
    const config = configSchema.parse({
      cloud: { ...cloud, password: 'hush-1' },
      mqtt: {
        url: 'wss://hush-2:hush-3@broker.example:8084/mqtt?token=hush-4',
        password: 'hush-5',
        embedded: { username: 'x', password: 'hush-6' },
      },
      http: {
        webhook: {
          secret: 'hush-7',
          signing_secret: 'hush-8',
        },
      },
    });
    const redacted = redactedConfig(config);
    expect(JSON.stringify(redacted)).not.toContain('hush');
    expect(redacted).toMatchObject({
      cloud: { ...cloud, password: '[hidden]' },
      mqtt: { url: 'wss://broker.example:8084/[hidden]', embedded: { username: 'x' } },
      http: { webhook: { secret: '[hidden]' } },
    });
    expect(config.cloud.password).toBe('hush-1');
  });

  it('is complete, with values as one would write them in the file', () => {
    const config = configSchema.parse({
      cloud: { ...cloud, password_file: '/run/secrets/password', request_timeout: '1500ms' },
      mqtt: { url: 'mqtt://broker.example:1883' },
      schedules: { sonics: '90s', properties: '0 3 * * *' },
      http: { listen: '127.0.0.1:8099' },
    });
    const shown = redactedConfig(config);
    expect(shown).toMatchObject({
      cloud: { request_timeout: '1500ms', max_concurrency: 4 },
      mqtt: { url: 'mqtt://broker.example:1883', keepalive: '1m', username: null },
      schedules: { sonics: '90s', incidents: '30s', properties: '0 3 * * *', timezone: 'UTC' },
      http: { listen: '127.0.0.1:8099' },
      valve: { confirm_timeout: '90s' },
    });
    const { cloud: shownCloud, ...rest } = shown;
    const written = { ...rest, cloud: { ...(shownCloud as object), password: undefined } };
    expect(configSchema.parse(JSON.parse(JSON.stringify(written)))).toEqual(config);
  });

  it('names no broker where there is none', () => {
    const config = configSchema.parse({ cloud, mqtt: { embedded: { enabled: true } } });
    expect(redactedConfig(config)).toMatchObject({ mqtt: { url: null } });
  });
});

it('everything secret is known before the first line of the log', () => {
  const folder = temporaryFolder();
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
