import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokerAddresses } from '../../../src/config/brokerAddresses.ts';
import { configJsonSchema } from '../../../src/config/jsonSchema.ts';
import { ConfigError, loadConfig } from '../../../src/config/load.ts';
import { redactedConfig, secretsOf } from '../../../src/config/secrets.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-addresses-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const account = 'cloud: { base_url: "https://a.example", email: a@b, password: hush }';

/** A configuration whose section mqtt holds these lines, the first of them in line 3. */
function load(lines: readonly string[], env: Record<string, string> = {}) {
  const text = [account, 'mqtt:', ...lines.map((line) => `  ${line}`)].join('\n');
  writeFileSync(join(folder, 'config.yaml'), text);
  return loadConfig({ cwd: folder, env }).config;
}

function problems(lines: readonly string[], env: Record<string, string> = {}): readonly string[] {
  try {
    load(lines, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const scheme = 'must be a URL that begins with mqtt://, mqtts://, ws:// or wss://';

describe('mqtt.url', () => {
  it('is one address or a list of them, of any scheme', () => {
    expect(brokerAddresses(load(['url: mqtt://a']))).toEqual(['mqtt://a']);
    const config = load(['url:', '  - mqtt://a', '  - mqtts://me:pass@b:8884', '  - ws://c/mqtt']);
    expect(brokerAddresses(config)).toEqual(['mqtt://a', 'mqtts://me:pass@b:8884', 'ws://c/mqtt']);
    expect(brokerAddresses(load(['url: [mqtt://a:1883, wss://b]']))).toEqual(['mqtt://a:1883', 'wss://b']);
    expect(brokerAddresses(load(['embedded: { enabled: true }']))).toEqual([]);
  });

  it.each([
    ['one', 'mqtt://a', ['mqtt://a']],
    ['one with commas', 'mqtt://me:a,b@a', ['mqtt://me:a,b@a']],
    ['several with commas', 'mqtt://a, MQTTS://b:1 ,ws://c/x', ['mqtt://a', 'MQTTS://b:1', 'ws://c/x']],
    ['a list', '[mqtt://a, "mqtt://b:1"]', ['mqtt://a', 'mqtt://b:1']],
    ['a list of one', '["mqtt://a"]', ['mqtt://a']],
  ])('can be set in the environment as %s', (_, written, addresses) => {
    const config = load(['username: me'], { SONIC2MQTT_MQTT__URL: written });
    expect(brokerAddresses(config)).toEqual(addresses);
  });

  it.each([
    ['an empty list', ['url: []'], ['mqtt.url (line 3): must name at least one address; got a list']],
    [
      'something else in the list',
      ['url:', '  - mqtt://a', '  - b:1883', '  - 5'],
      [`mqtt.url.1 (line 5): ${scheme}; got "b:1883"`, `mqtt.url.2 (line 6): ${scheme}; got 5`],
    ],
    ['a list in the list', ['url: [[mqtt://a]]'], [`mqtt.url.0 (line 3): ${scheme}; got a list`]],
    ['nothing in the list', ['url:', '  -'], [`mqtt.url.0 (line 4): ${scheme}; got null`]],
    ['a map', ['url: { a: mqtt://b }'], [`mqtt.url (line 3): ${scheme}; got a map`]],
    ['a number', ['url: 1883'], [`mqtt.url (line 3): ${scheme}; got 1883`]],
    [
      'the same twice, however it is written',
      ['url:', '  - mqtt://a', '  - mqtt://b', '  - mqtt://me:hush-7@A:1883/', '  - mqtts://a'],
      ['mqtt.url.2 (line 6): is given twice, first as number 1'],
    ],
    [
      'a password that breaks it, which is not repeated',
      ['url:', '  - mqtt://a', '  - mqtt://me:hu#sh@b', '  - mqtt://me:100%@c'],
      [
        'mqtt.url.1 (line 5): is not a valid URL; user name and password can be given as options',
        'mqtt.url.2 (line 6): has a % in its user name or password, which must be written %25 there',
      ],
    ],
  ])('cannot be %s', (_, lines, told) => {
    expect(problems(lines)).toEqual(told);
  });

  it('says of the environment too which address is wrong', () => {
    expect(problems(['username: me'], { SONIC2MQTT_MQTT__URL: 'mqtt://a,http://b' })).toEqual([
      `mqtt.url.1 (SONIC2MQTT_MQTT__URL): ${scheme}`,
    ]);
  });

  it('is shown without what is secret in any of its addresses', () => {
    const config = load(['url:', '  - mqtt://me:pass-1@a:1', '  - mqtt://b', '  - wss://c/x?token=pass-2']);
    expect(redactedConfig(config)['mqtt']).toMatchObject({
      url: ['mqtt://a:1/[hidden]', 'mqtt://b', 'wss://c/[hidden]'],
    });
    expect(redactedConfig(load(['url: mqtt://me:pass-1@a']))['mqtt']).toMatchObject({
      url: 'mqtt://a/[hidden]',
    });
    expect(redactedConfig(load(['embedded: { enabled: true }']))['mqtt']).toMatchObject({ url: null });
    const secrets = secretsOf(load(['url: [mqtt://me:pass-1@a, "mqtt://me:%C3%BCber@b"]']));
    expect(secrets).toEqual(expect.arrayContaining(['pass-1', '%C3%BCber', 'über']));
  });

  it('may be either in the JSON Schema too', () => {
    const { properties } = configJsonSchema([]) as {
      properties: { mqtt: { properties: { url: { anyOf: object[] } } } };
    };
    const address = { type: 'string', pattern: expect.stringContaining('[Mm][Qq]') };
    expect(JSON.stringify(properties.mqtt.properties.url.anyOf)).toContain('"minItems":1');
    expect(
      properties.mqtt.properties.url.anyOf.flatMap((each) => ('anyOf' in each ? each.anyOf : [each])),
    ).toEqual([address, { type: 'array', minItems: 1, uniqueItems: true, items: address }, { type: 'null' }]);
  });
});
