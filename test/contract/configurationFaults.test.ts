import { describe, expect, it } from 'vitest';
import { loadFrom, problemsOf, required } from '../support/configurationFile.ts';
import { temporaryFolder } from '../support/program.ts';

const problems = (yaml: string, env?: NodeJS.ProcessEnv) =>
  problemsOf(() => loadFrom(temporaryFolder(), yaml, env));

const faults: readonly (readonly [fault: string, yaml: string, problem: string])[] = [
  ['an unknown key', 'log:\n  levl: info', 'log.levl (line 4): unknown key. Did you mean level?'],
  [
    'a value that YAML takes for a mark',
    'http: { webhook: { secret: &MSy8 } }',
    'http.webhook.secret (line 3): a value that begins with & or * must be in quotes',
  ],
  ['an unknown section', 'mqqt: {}', 'mqqt (line 3): unknown key. Did you mean mqtt?'],
  [
    'a key in the wrong section',
    'log: { base_topic: x }',
    'log.base_topic (line 3): unknown key. Did you mean mqtt.base_topic?',
  ],
  [
    'a port as other programs have it, and not that of the broker inside the bridge',
    'http: { port: 8099 }',
    'http.port (line 3): unknown key',
  ],
  [
    'an address of no port',
    'http: { listen: "a:99999" }',
    'http.listen (line 3): must be host:port, for example 127.0.0.1:8099. Got "a:99999"',
  ],
  ['a key like no other', 'log: { bananas: 3 }', 'log.bananas (line 3): unknown key'],
  [
    'a misspelt word',
    'log: { level: inof }',
    'log.level (line 3): must be one of trace, debug, info, warn, error. Got "inof". Did you mean info?',
  ],
  [
    'a boolean that is text',
    'control:\n  valves: yes',
    'control.valves (line 4): must be true or false. Got "yes"',
  ],
  [
    'a duration without unit',
    'stale_after: 60',
    'stale_after (line 3): must be a duration such as 500ms, 30s, 5m or 1h. Got 60',
  ],
  [
    'a duration that is too short',
    'valve: { confirm_interval: 1ms }',
    'valve.confirm_interval (line 3): must be from 100ms to 576h. Got "1ms"',
  ],
  [
    'a duration that no timer can wait',
    'stale_after: 99999999999999999999h',
    'stale_after (line 3): must be from 100ms to 576h. Got "99999999999999999999h"',
  ],
  [
    'a schedule that is neither',
    'schedules: { usage: sometimes }',
    'schedules.usage (line 3): must be a duration such as 30s or a cron expression of 5 or 6 fields. Got "sometimes"',
  ],
  [
    'a cron expression of no time',
    'schedules: { usage: "61 * * * *" }',
    'schedules.usage (line 3): must be a duration such as 30s or a cron expression of 5 or 6 fields. Got "61 * * * *"',
  ],
  [
    'an unknown time zone',
    'schedules: { timezone: Europe/Lundon }',
    'schedules.timezone (line 3): must be a time zone such as Europe/London or UTC. Got "Europe/Lundon"',
  ],
  [
    'a name that is no text',
    'filters:\n  properties: [Home, 7]',
    'filters.properties.1 (line 4): must be text. Put it in quotes. Got 7',
  ],
  [
    'a list that is none',
    'filters: { properties: Home }',
    'filters.properties (line 3): must be a list, for example [a, b]. Got "Home"',
  ],
  [
    'a key that runs into its value',
    'log: {level:x}',
    'log.level (line 3): a key must be followed by a colon and a space',
  ],
  [
    'a section that is none',
    'log: loud',
    'log (line 3): must be a section, with its options indented below it',
  ],
  [
    'an address without port',
    'http: { listen: localhost }',
    'http.listen (line 3): must be host:port, for example 127.0.0.1:8099. Got "localhost"',
  ],
  [
    'a name where an address must be',
    'http: { listen: localhost:8099, only_from: [localhost] }',
    'http.only_from.0 (line 3): must be an IP address or a network, for example 192.168.1.10 or 192.168.1.0/24. Got "localhost"',
  ],
  [
    'a network that there is not',
    'http: { listen: localhost:8099, only_from: [fd00::/48, 10.0.0.0/33] }',
    'http.only_from.1 (line 3): must be an IP address or a network, for example 192.168.1.10 or 192.168.1.0/24. Got "10.0.0.0/33"',
  ],
  [
    'a topic with wildcards',
    'homeassistant: { discovery_prefix: ha/# }',
    'homeassistant.discovery_prefix (line 3): must not contain + or #, which are wildcards. Got "ha/#"',
  ],
  ['a key given twice', 'log: {}\nlog: {}', 'log (line 4): is given twice, first in line 3'],
  ['a tab', 'log:\n\tlevel: info', 'line 4: Tabs are not allowed as indentation'],
  [
    'an open quote with lines after it',
    'data_dir: "x\nlog:\n  level: info',
    'line 3: Missing closing "quote',
  ],
  [
    'a key without its colon',
    'log:\n  level info\n  format: json',
    'line 4: a key must be followed by a colon and a space',
  ],
  [
    'a value with a colon',
    'data_dir: a: b',
    'line 3: a value that contains ": " must be in quotes, or the next line is indented too far',
  ],
  [
    'a line that is indented too far',
    'log:\n  level: info\n    format: json',
    'line 4: a value that contains ": " must be in quotes, or the next line is indented too far',
  ],
  [
    'a line that is indented too little',
    'log:\n  level: info\n format: json',
    'line 5: All mapping items must start at the same column',
  ],
  ['a second document', '---\nlog: {}', 'line 3: a second document begins here. Remove the line ---'],
  [
    'an unknown tag',
    'data_dir: !secret x',
    'line 3: tags like !secret are not supported. Use password_file for a secret',
  ],
  [
    'an unknown alias',
    'log:\n  level: *x',
    'log.level (line 4): a value that begins with & or * must be in quotes',
  ],
  ['a list', '!- a\n- b', 'line 1: the file must hold sections such as cloud: and mqtt:'],
];

const cloudFaults: readonly (readonly [fault: string, option: string, problem: string])[] = [
  [
    'no web address',
    'base_url: api.example.com',
    'must be a URL that begins with https:// or http://. Got "api.example.com"',
  ],
  ['another protocol', 'base_url: ftp://example.com', 'must be a URL that begins with https:// or http://'],
  [
    'credentials in the address',
    'base_url: https://me:hush@example.com',
    'must not contain a user name or password',
  ],
  [
    'a query in the address',
    'base_url: https://example.com?token=1',
    'must not have a query or fragment (? or #)',
  ],
  ['no e-mail address', 'email: somebody', 'must be an e-mail address. Got "somebody"'],
  ['a password that is a number', 'password: 0123', 'must be text. Put it in quotes'],
  ['an empty password', 'password: ""', 'must not be empty'],
  ['too many requests', 'max_concurrency: 33', 'must be a whole number from 1 to 32. Got 33'],
  ['half a request', 'max_concurrency: 1.5', 'must be a whole number from 1 to 32. Got 1.5'],
  [
    'a route without method',
    'routes: { read_sonic: /x }',
    'must be a method and a path such as "GET /v1/sonics/{sonic_id}", or null to switch the operation off. Got "/x"',
  ],
];

const mqttFaults: readonly (readonly [fault: string, option: string, problem: string])[] = [
  [
    'no broker address',
    'url: localhost:1883',
    'must be a URL that begins with mqtt://, mqtts://, ws:// or wss://. Got "localhost:1883"',
  ],
  [
    'a # in the password',
    'url: "mqtt://me:hu#sh@localhost"',
    'is not a valid URL. User name and password can be options',
  ],
  ['a fragment', 'url: "mqtt://localhost/#x"', 'is not a valid URL. User name and password can be options'],
  ['no host', 'url: "mqtt://"', 'is not a valid URL. User name and password can be options'],
  [
    'another protocol',
    'url: tcp://localhost',
    'must be a URL that begins with mqtt://, mqtts://, ws:// or wss://',
  ],
  ['a client id that is a number', 'client_id: 1', 'must be text. Put it in quotes. Got 1'],
  ['an unknown protocol version', 'protocol_version: 3', 'must be 4 (MQTT 3.1.1) or 5. Got 3'],
  ['a keepalive that MQTT cannot say', 'keepalive: 24h', 'must be from 1s to 18h. Got "24h"'],
  [
    'a topic with a slash at its end',
    'base_topic: water/',
    'must not begin or end with /, or contain //. Got "water/"',
  ],
  ['a topic with spaces', 'base_topic: my water', 'must not contain spaces. Got "my water"'],
  [
    'a topic of the broker',
    'base_topic: $SYS/water',
    'must not begin with $, which is the broker’s own. Got "$SYS/water"',
  ],
  ['no topic', 'base_topic: ""', 'must not be empty'],
  [
    'discovery’s topic',
    'base_topic: homeassistant',
    'must not be the topic of homeassistant.discovery_prefix',
  ],
];

it('a broker that is given as other programs have it is not led to the one inside the bridge', () => {
  const yaml = 'mqtt:\n  host: 192.168.1.10\n  port: 1883\n';
  expect(problems(`${required[0]}\n${yaml}`)).toEqual([
    'mqtt.url (line 2): is required, unless mqtt.embedded.enabled is true',
    'mqtt.host (line 3): unknown key',
    'mqtt.port (line 4): unknown key',
  ]);
});

describe('a fault in the file is named with its path, its line and what would be right', () => {
  it.each(faults)('%s', (_, yaml, problem) => {
    expect(problems(yaml.startsWith('!') ? yaml.slice(1) : [...required, yaml].join('\n'))).toEqual([
      problem,
    ]);
  });

  it.each(cloudFaults)('cloud: %s', (_, option, problem) => {
    const key = option.split(':')[0];
    const others = ['base_url: https://a.example', 'email: a@b', 'password: secret'].filter(
      (each) => !each.startsWith(`${key}:`),
    );
    const yaml = ['mqtt: { url: "mqtt://x" }', 'cloud:', ...[...others, option].map((each) => `  ${each}`)];
    const path = `cloud.${key === 'routes' ? 'routes.read_sonic' : key}`;
    expect(problems(yaml.join('\n'))).toEqual([`${path} (line ${yaml.length}): ${problem}`]);
  });

  it.each(mqttFaults)('mqtt: %s', (_, option, problem) => {
    const key = option.split(':')[0];
    const lines = [required[0], 'mqtt:', ...(key === 'url' ? [] : ['  url: mqtt://x']), `  ${option}`];
    expect(problems(lines.join('\n'))).toEqual([`mqtt.${key} (line ${lines.length}): ${problem}`]);
  });

  it('but not the variables that Kubernetes makes for a Service of our name', () => {
    const tcp = 'tcp://10.43.0.1:8099';
    const variables = {
      ...{ SONIC2MQTT_SERVICE_HOST: '10.43.0.1', SONIC2MQTT_SERVICE_PORT: '8099', SONIC2MQTT_PORT: tcp },
      ...{ SONIC2MQTT_HTTP_SERVICE_HOST: '10.43.0.1', SONIC2MQTT_HTTP_SERVICE_PORT_HTTP: '8099' },
      ...{ SONIC2MQTT_HTTP_PORT: tcp, SONIC2MQTT_PORT_8099_TCP: tcp, SONIC2MQTT_PORT_8099_TCP_PROTO: 'tcp' },
      ...{ SONIC2MQTT_PORT_8099_TCP_PORT: '8099', SONIC2MQTT_MQTT_PORT_1883_TCP_ADDR: '10.43.0.1' },
    };
    expect(loadFrom(temporaryFolder(), required.join('\n'), variables)).toBeDefined();
  });

  it('and every fault at once, in the order of the file', () => {
    const yaml = 'log: { level: loud }\ncloud:\n  email: 5\nmqtt:\n  url: x\n  ulr: y\n';
    expect(problems(yaml, { SONIC2MQTT_LOG_LEVEL: 'info' })).toEqual([
      'log.level (line 1): must be one of trace, debug, info, warn, error. Got "loud"',
      'cloud.password (line 2): is required (or cloud.password_file)',
      'cloud.email (line 3): must be an e-mail address. Got 5',
      'mqtt.url (line 5): must be a URL that begins with mqtt://, mqtts://, ws:// or wss://. Got "x"',
      'mqtt.ulr (line 6): unknown key. Did you mean url?',
      'SONIC2MQTT_LOG_LEVEL: sets no option. Did you mean SONIC2MQTT_LOG__LEVEL?',
    ]);
  });

  it('and no secret is repeated', () => {
    const yaml = [
      'cloud: { password: [hush-1], base_url: "https://me:hush-2@x", email: "" }',
      'mqtt: { url: "tcp://me:hush-3@x", password: 77777777 }',
      'http: { webhook: { secret: { hush-4: 5 } } }',
    ].join('\n');
    expect(problems(yaml)).toHaveLength(6);
    expect(problems(yaml).join('\n')).not.toMatch(/hush|7777/);
    expect(problems('cloud: {password:hush}').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password hush').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password: *hush').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password: @hush').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password: a: hush').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password: "a"hush').join('\n')).not.toMatch(/hush/);
    expect(problems('cloud:\n  password: !hush x').join('\n')).not.toMatch(/hush/);
  });
});
