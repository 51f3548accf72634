import { describe, expect, it } from 'vitest';
import { statusPageUrl } from '../../../src/config/addresses.ts';
import { brokerAddresses } from '../../../src/config/schema.ts';
import { redactedConfig, secretsOf } from '../../../src/config/secrets.ts';
import { listenAddress } from '../../../src/config/values.ts';
import { loadFrom, problemsOf } from '../../support/configurationFile.ts';
import { temporaryFolder } from '../../support/program.ts';

const account = 'cloud: { base_url: "https://a.example", email: a@b, password: hush }';

/** A configuration whose section mqtt holds these lines, the first of them in line 3. */
function load(lines: readonly string[], env: Record<string, string> = {}) {
  const text = [account, 'mqtt:', ...lines.map((line) => `  ${line}`)].join('\n');
  return loadFrom(temporaryFolder(), text, env).config;
}

const problems = (lines: readonly string[], env: Record<string, string> = {}) =>
  problemsOf(() => load(lines, env));

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
    ['an empty list', ['url: []'], ['mqtt.url (line 3): must name at least one address. Got a list']],
    [
      'something else in the list',
      ['url:', '  - mqtt://a', '  - b:1883', '  - 5'],
      [`mqtt.url.1 (line 5): ${scheme}. Got "b:1883"`, `mqtt.url.2 (line 6): ${scheme}. Got 5`],
    ],
    ['a list in the list', ['url: [[mqtt://a]]'], [`mqtt.url.0 (line 3): ${scheme}. Got a list`]],
    ['nothing in the list', ['url:', '  -'], [`mqtt.url.0 (line 4): ${scheme}. Got null`]],
    ['a map', ['url: { a: mqtt://b }'], [`mqtt.url (line 3): ${scheme}. Got a map`]],
    ['a number', ['url: 1883'], [`mqtt.url (line 3): ${scheme}. Got 1883`]],
    [
      'a password that breaks it, which is not repeated',
      ['url:', '  - mqtt://a', '  - mqtt://me:hu#sh@b', '  - mqtt://me:100%@c'],
      [
        'mqtt.url.1 (line 5): is not a valid URL. User name and password can be options',
        'mqtt.url.2 (line 6): has a % in its user name or password, which must be written %25 there',
      ],
    ],
  ])('cannot be %s', (_, lines, told) => {
    expect(problems(lines)).toEqual(told);
  });

  it.each([
    ['ca_file', 'mqtt://a'],
    ['ca_file', '[mqtts://a, MQTT://b]'],
    ['cert_file', 'ws://a/mqtt'],
  ])('must be encrypted where %s is given: %s', (option, url) => {
    expect(problems([`url: ${url}`, `${option}: /nowhere`])).toContain(
      `mqtt.${option} (line 4): needs a URL that begins with mqtts:// or wss://. Without it nothing is encrypted`,
    );
    expect(problems(['url: [mqtts://a, wss://b]', `${option}: /nowhere`]).join()).not.toContain('mqtts://');
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
    const token = 'wss://c/x?token=to%20ken&user=me';
    const secrets = secretsOf(load([`url: [mqtt://me:pass-1@a, "mqtt://me:%C3%BCber@b", "${token}"]`]));
    expect(secrets).toEqual(expect.arrayContaining(['to ken', 'to%20ken']));
    expect(secrets).toEqual(expect.arrayContaining(['pass-1', '%C3%BCber', 'über']));
  });
});

describe('the status page', () => {
  it.each([
    ['192.168.1.5:8099', 'http://192.168.1.5:8099/'],
    ['[fd00::5]:8099', 'http://[fd00::5]:8099/'],
    ['water.home.example:80', 'http://water.home.example/'],
    ['0.0.0.0:8099', null],
    ['0:8099', null],
    ['[::]:8099', null],
    ['[0:0::0]:8099', null],
    ['127.0.0.1:8099', null],
    ['localhost:8099', null],
    ['[::1]:8099', null],
    ['192.168.1.5:0', null],
    ['%:8099', null],
  ])('a page that is served on %s has the address %s for a browser on another machine', (written, url) => {
    expect(statusPageUrl({ http: { listen: listenAddress.parse(written) } })).toBe(url);
  });

  it('a page that is not served has none', () => {
    expect(statusPageUrl({ http: { listen: null } })).toBeNull();
  });
});
