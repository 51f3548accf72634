import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { operationNames } from '../../src/cloud/operations.ts';
import { variableOf } from '../../src/config/environment.ts';
import { isUnconfigured, loadConfig } from '../../src/config/load.ts';
import { configJsonSchema, optionRows } from '../../src/config/schema.ts';
import { readSecret } from '../../src/config/secrets.ts';
import { valueAt } from '../../src/config/tree.ts';
import { certificates } from '../support/certificates.ts';
import { loadFrom, problemsOf, required } from '../support/configurationFile.ts';
import { temporaryFolder } from '../support/program.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-configuration-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const exampleFile = new URL('../../config.example.yaml', import.meta.url);
const example = readFileSync(exampleFile, 'utf8');

const requiredEnv = {
  SONIC2MQTT_CLOUD__EMAIL: 'me@example.com',
  SONIC2MQTT_CLOUD__PASSWORD: 'secret',
  SONIC2MQTT_MQTT__URL: 'mqtt://localhost:1883',
};

const load = (yaml: string, env?: NodeJS.ProcessEnv) => loadFrom(folder, yaml, env);

const problems = (yaml: string, env?: NodeJS.ProcessEnv) => problemsOf(() => load(yaml, env));

describe('the defaults', () => {
  it('are those that users were promised', () => {
    expect(load(required.join('\n')).config).toEqual({
      cloud: {
        base_url: 'https://api.watergate.ai',
        email: 'me@example.com',
        password: 'secret',
        password_file: null,
        request_timeout: 10_000,
        max_concurrency: 4,
        max_requests_per_minute: 300,
        routes: {},
      },
      mqtt: {
        url: 'mqtt://localhost:1883',
        username: null,
        password: null,
        password_file: null,
        client_id: null,
        protocol_version: 5,
        ca_file: null,
        cert_file: null,
        key_file: null,
        reject_unauthorized: true,
        keepalive: 60_000,
        base_topic: 'sonic2mqtt',
        embedded: {
          enabled: false,
          host: '127.0.0.1',
          port: 1883,
          username: null,
          password: null,
          password_file: null,
        },
      },
      homeassistant: {
        enabled: true,
        discovery_prefix: 'homeassistant',
        status_topic: 'homeassistant/status',
        language: 'en',
      },
      schedules: {
        timezone: 'UTC',
        incidents: { kind: 'every', everyMs: 30_000 },
        sonics: { kind: 'every', everyMs: 60_000 },
        telemetry: { kind: 'every', everyMs: 60_000 },
        signals: { kind: 'every', everyMs: 300_000 },
        usage: { kind: 'every', everyMs: 900_000 },
        pressure_tests: { kind: 'every', everyMs: 3_600_000 },
        properties: { kind: 'every', everyMs: 3_600_000 },
      },
      filters: { properties: [] },
      control: { valves: true, incidents: true, pressure_tests: true, settings: true, account: false },
      valve: { confirm_timeout: 90_000, confirm_interval: 2_000 },
      stale_after: 300_000,
      http: {
        listen: null,
        only_from: [],
        device_metrics: false,
        webhook: {
          secret: null,
          secret_file: null,
          signing_secret: null,
          signing_secret_file: null,
        },
      },
      data_dir: join(folder, 'data'),
      log: { level: 'info', format: 'pretty' },
    });
  });
});

describe('the example file', () => {
  it('is valid and shows the defaults', () => {
    expect(load(example).config).toEqual(load(required.join('\n')).config);
  });

  it('names every option', () => {
    const uncommented = example.replaceAll(/^(\s*)# (\w+_file:)/gm, '$1$2');
    const named: string[] = [];
    const walk = (value: unknown, path: string) => {
      const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
      if (entries.length === 0) named.push(path);
      for (const [key, inner] of entries) walk(inner, path ? `${path}.${key}` : key);
    };
    walk(parse(uncommented), '');
    expect(named.sort()).toEqual(optionRows.map((row) => row.path).sort());
  });

  it('has no option that the environment does not have', () => {
    for (const { path } of optionRows) {
      const wrong = variableOf(`${path}x`);
      expect(problems(example, { [wrong]: 'x' })).toEqual([
        `${wrong}: sets no option. Did you mean ${variableOf(path)}?`,
      ]);
    }
  });
});

/** Each adds lines to a good file, from its third line on, or replaces it when it begins with `!`. */
describe('the file', () => {
  it('is config.yaml in the working directory, or the one that is named', () => {
    const other = join(folder, 'other.yaml');
    const third = join(folder, 'third.yaml');
    writeFileSync(other, [...required, 'data_dir: other'].join('\n'));
    writeFileSync(third, [...required, 'data_dir: third'].join('\n'));
    expect(load(required.join('\n')).file).toBe(join(folder, 'config.yaml'));
    const env = { SONIC2MQTT_CONFIG: 'other.yaml' };
    expect(loadConfig({ env, cwd: folder })).toMatchObject({
      file: other,
      config: { data_dir: join(folder, 'other') },
    });
    expect(loadConfig({ env, cwd: folder, file: third }).file).toBe(third);
  });

  it('must exist when it is named', () => {
    const missing = join(folder, 'missing.yaml');
    expect(problemsOf(() => loadConfig({ file: 'missing.yaml', env: requiredEnv, cwd: folder }))).toEqual([
      `--config: cannot read ${missing}: there is no such file`,
    ]);
    const env = { ...requiredEnv, SONIC2MQTT_CONFIG: folder };
    expect(problemsOf(() => loadConfig({ env, cwd: '/' }))).toEqual([
      `SONIC2MQTT_CONFIG: cannot read ${folder}: it is a folder`,
    ]);
  });

  it('may begin with a byte order mark, and is refused where it is no UTF-8', () => {
    const write = (content: Buffer) => writeFileSync(join(folder, 'saved.yaml'), content);
    const read = () => loadConfig({ file: 'saved.yaml', env: {}, cwd: folder });
    const text = [...required, 'data_dir: für uns'].join('\n');
    write(Buffer.from(`\ufeff${text}`));
    expect(read().config.data_dir).toBe(join(folder, 'für uns'));
    for (const content of [Buffer.from(text, 'latin1'), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
      write(content);
      expect(problemsOf(read)).toEqual([
        `--config: cannot read ${join(folder, 'saved.yaml')}: it is not UTF-8`,
      ]);
    }
  });

  it('may be empty, or absent, where the environment gives what is required', () => {
    expect(load('', requiredEnv).config).toEqual(load(required.join('\n')).config);
    expect(load('# nothing yet\n', requiredEnv).config.mqtt.url).toBe('mqtt://localhost:1883');
    const { config, file } = loadConfig({ env: requiredEnv, cwd: join(folder, 'empty') });
    expect(config.mqtt.url).toBe('mqtt://localhost:1883');
    expect(file).toBeNull();
  });

  it('or else the one missing thing is named, in one line', () => {
    const cwd = join(folder, 'empty');
    expect(problemsOf(() => loadConfig({ env: {}, cwd }))).toEqual([
      `No configuration found at ${join(cwd, 'config.yaml')}. Run sonic2mqtt setup to write it`,
    ]);
    const misnamed = temporaryFolder();
    writeFileSync(join(misnamed, 'config.yml'), 'cloud: {}\n');
    const message = `${join(misnamed, 'config.yml')} is not read. Rename it to config.yaml`;
    expect(isUnconfigured({ env: {}, cwd: misnamed })).toBe(false);
    for (const env of [{}, requiredEnv])
      expect(problemsOf(() => loadConfig({ env, cwd: misnamed }))).toEqual([message]);
    for (const text of ['', '# nothing yet\n']) {
      const file = join(folder, 'nothing.yaml');
      writeFileSync(file, text);
      expect(problemsOf(() => loadConfig({ file, env: {}, cwd }))).toEqual([
        `${file} is empty. Fill it in. config.example.yaml shows every option`,
      ]);
    }
  });

  it('or else the missing variables are named', () => {
    const { SONIC2MQTT_MQTT__URL, ...env } = requiredEnv;
    expect(problemsOf(() => loadConfig({ env, cwd: join(folder, 'empty') }))).toEqual([
      'mqtt.url (SONIC2MQTT_MQTT__URL): is required, unless mqtt.embedded.enabled is true',
    ]);
  });

  it('has paths that begin in its folder, and in variables those that begin where the program was started', () => {
    const elsewhere = join(folder, 'elsewhere');
    const file = join(folder, 'config.yaml');
    writeFileSync(join(folder, 'secret'), 'from the file');
    const text = required.join('\n').replace('password: secret', 'password_file: secret');
    writeFileSync(file, text);
    const env = { SONIC2MQTT_DATA_DIR: 'kept' };
    const load = (env: NodeJS.ProcessEnv) => loadConfig({ file, env, cwd: elsewhere }).config;
    expect(load({}).data_dir).toBe(join(folder, 'data'));
    expect(load({}).cloud.password_file).toBe(join(folder, 'secret'));
    expect(load(env).data_dir).toBe(join(elsewhere, 'kept'));
    expect(loadConfig({ env: requiredEnv, cwd: elsewhere }).config.data_dir).toBe(join(elsewhere, 'data'));
  });

  it('may leave sections and values empty, which means their defaults', () => {
    const yaml = [...required, 'log:', 'http:', '  listen:', 'stale_after:'].join('\n');
    expect(load(yaml).config).toEqual(load(required.join('\n')).config);
  });

  it('gives the embedded broker a port at which it is found', () => {
    expect(problems(`${required[0]}\nmqtt: { embedded: { enabled: true, port: 0 } }`)).toEqual([
      'mqtt.embedded.port (line 2): must be a whole number from 1 to 65535. Got 0',
    ]);
  });

  it('needs no broker when the embedded one is enabled', () => {
    const yaml = `${required[0]}\nmqtt: { embedded: { enabled: true } }`;
    expect(load(yaml).config.mqtt).toMatchObject({ url: null, embedded: { enabled: true, port: 1883 } });
  });

  it('can be written in any form of YAML', () => {
    const yaml = `\uFEFF${example}`.replaceAll('\n', '\r\n').replace('telemetry: 60s', 'telemetry: 20s');
    expect(load(yaml).config.schedules.telemetry).toEqual({ kind: 'every', everyMs: 20_000 });
  });

  it('gives cron expressions, addresses and routes in a form ready for use', () => {
    const yaml = [
      'cloud: { base_url: "http://[::1]:8080/api/", email: a@b, password: x, routes: { read_telemetry: null, read_sonic: "GET /v2/{sonic_id}" } }',
      'mqtt: { url: "wss://u:p@broker.example/mqtt" }',
      'schedules: { usage: "15  6 * * *", sonics: "*/5 * * * * *" }',
      'http: { listen: "[::]:0" }',
    ].join('\n');
    expect(load(yaml).config).toMatchObject({
      cloud: {
        base_url: 'http://[::1]:8080/api',
        routes: { read_telemetry: null, read_sonic: 'GET /v2/{sonic_id}' },
      },
      mqtt: { url: 'wss://u:p@broker.example/mqtt' },
      schedules: {
        usage: { kind: 'cron', expression: '15 6 * * *' },
        sonics: { kind: 'cron', expression: '*/5 * * * * *' },
      },
      http: { listen: { host: '::', port: 0 } },
    });
  });
});

describe('routes', () => {
  const operations = { list_sonics: [], read_sonic: ['sonic_id'] };
  const routeProblems = (routes: string) => {
    const [cloud = '', mqtt = ''] = required;
    writeFileSync(join(folder, 'config.yaml'), `${mqtt}\n${cloud.replace(' }', `, routes: ${routes} }`)}`);
    return problemsOf(() => loadConfig({ env: {}, cwd: folder, operations }));
  };

  it('may name operations of the catalogue, with their parameters', () => {
    expect(routeProblems('{ read_sonic: "GET /v2/{sonic_id}", list_sonics: null }')).toEqual([]);
  });

  it.each([
    ['{ raed_sonic: null }', 'raed_sonic (line 2): unknown operation. Did you mean read_sonic?'],
    ['{ read_sonic: "GET /v2" }', 'read_sonic (line 2): the path must contain {sonic_id}'],
    ['{ read_sonic: "GET /{id}/{sonic_id}" }', 'read_sonic (line 2): the path must contain {sonic_id}'],
    [
      '{ list_sonics: "GET /größe/sonics" }',
      'list_sonics (line 2): must be a method and a path such as "GET /v1/sonics/{sonic_id}", or null to switch the operation off. Got "GET /größe/sonics"',
    ],
    ['{ list_sonics: "GET /{page}" }', 'list_sonics (line 2): the path must contain no parameters'],
  ])('%s is refused', (routes, problem) => {
    expect(routeProblems(routes)).toEqual([`cloud.routes.${problem}`]);
  });

  it.each([
    ...['/no/method', 'FETCH /x', 'GET x', 'GET /x?y=1', 'GET /x y', ''],
    // No request line can hold these.
    ...['GET /x\u00a0y', 'GET /x\0', 'GET /\u2028x', 'GET  /x', 'GET //x y'],
  ])('%j is no method and path', (route) => {
    const [problem, ...others] = routeProblems(JSON.stringify({ list_sonics: route }));
    expect(problem).toMatch(/^cloud\.routes\.list_sonics \(line 2\): must be a method and a path/);
    expect(others).toEqual([]);
  });
});

describe('the environment', () => {
  const withEnv = (env: NodeJS.ProcessEnv) => load(required.join('\n'), env).config;

  it('goes before the file', () => {
    const config = withEnv({
      SONIC2MQTT_MQTT__KEEPALIVE: '30s',
      SONIC2MQTT_MQTT__EMBEDDED__PORT: '1884',
      SONIC2MQTT_CONTROL__VALVES: 'False',
      SONIC2MQTT_STALE_AFTER: '1h',
      SONIC2MQTT_SCHEDULES__USAGE: '0 6 * * *',
      SONIC2MQTT_MQTT__PROTOCOL_VERSION: '4',
    });
    expect(config.mqtt).toMatchObject({ keepalive: 30_000, protocol_version: 4, embedded: { port: 1884 } });
    expect(config.control.valves).toBe(false);
    expect(config.stale_after).toBe(3_600_000);
    expect(config.schedules.usage).toEqual({ kind: 'cron', expression: '0 6 * * *' });
  });

  it('keeps text as text, whatever it looks like', () => {
    for (const password of ['0123', 'true', 'null', '[a]', '{a: b}', '*x', ' y ']) {
      expect(withEnv({ SONIC2MQTT_CLOUD__PASSWORD: password }).cloud.password).toBe(password);
    }
  });

  it.each(['a,b', ' a , b', '["a","b"]', '[a, b]'])('gives the list %j', (list) => {
    expect(withEnv({ SONIC2MQTT_FILTERS__PROPERTIES: list }).filters.properties).toEqual(['a', 'b']);
  });

  it('gives routes one by one or as a map', () => {
    const config = withEnv({
      SONIC2MQTT_CLOUD__ROUTES: '{"read_sonic": "GET /x/{sonic_id}", "list_sonics": "GET /x"}',
      SONIC2MQTT_CLOUD__ROUTES__LIST_SONICS: 'null',
    });
    expect(config.cloud.routes).toEqual({
      read_sonic: 'GET /x/{sonic_id}',
      list_sonics: null,
    });
  });

  it('is not set by an empty variable', () => {
    expect(withEnv({ SONIC2MQTT_MQTT__URL: '', SONIC2MQTT_CONFIG: '' }).mqtt.url).toBe(
      'mqtt://localhost:1883',
    );
  });

  it.each([
    ['SONIC2MQTT_MQTT__KEEPALIVE', '60', 'must be a duration such as 500ms, 30s, 5m or 1h. Got "60"'],
    ['SONIC2MQTT_MQTT__EMBEDDED__PORT', 'x', 'must be a whole number from 1 to 65535. Got "x"'],
    ['SONIC2MQTT_CONTROL__VALVES', 'yes', 'must be true or false. Got "yes"'],
    ['SONIC2MQTT_CONTROL__VALVES', 'constructor', 'must be true or false. Got "constructor"'],
    ['SONIC2MQTT_FILTERS__PROPERTIES', '[a', 'must be a list, for example [a, b]. Got "[a"'],
    ['SONIC2MQTT_CLOUD__ROUTES', 'x', 'must be a map of operation names to routes. Got "x"'],
  ])('is named when it is wrong: %s=%s', (variable, value, problem) => {
    const path = variable.replace('SONIC2MQTT_', '').toLowerCase().replaceAll('__', '.');
    expect(problems(required.join('\n'), { [variable]: value })).toEqual([
      `${path} (${variable}): ${problem}`,
    ]);
  });

  it.each([
    ['SONIC2MQTT_MQTT_URL', '. Did you mean SONIC2MQTT_MQTT__URL?'],
    ['SONIC2MQTT_mqtt__url', '. Did you mean SONIC2MQTT_MQTT__URL?'],
    ['SONIC2MQTT_CLOUD__ROUTES____PROTO__', ''],
    ['SONIC2MQTT_FOLDER__OF__CONFIGURATION', ''],
    ['SONIC2MQTT_IMAGE_TAG', ''],
  ])('is refused when it sets no option: %s', (variable, hint) => {
    const [problem] = problems(required.join('\n'), { [variable]: 'x' });
    expect(problem).toMatch(new RegExp(`^${variable}: sets no option`));
    if (hint) expect(problem).toContain(hint);
  });

  it('is read without the end of a line, as Windows writes it', () => {
    expect(withEnv({ SONIC2MQTT_CLOUD__PASSWORD: 'long enough \r\n' }).cloud.password).toBe('long enough ');
  });
});

describe('a secret', () => {
  const yaml = (option: string) =>
    `mqtt: { url: "mqtt://x" }\ncloud:\n  base_url: https://a.example\n  email: a@b\n  ${option}\n`;
  const secretFile = (content: string | Buffer) => {
    writeFileSync(join(folder, 'secret'), content);
    return join(folder, 'secret');
  };

  it('can stand in a file, which is read again each time', () => {
    secretFile('first\r\n');
    const { cloud } = load(yaml('password_file: secret')).config;
    expect(readSecret(cloud, 'password')).toBe('first');
    secretFile(' second ');
    expect(readSecret(cloud, 'password')).toBe(' second ');
    rmSync(join(folder, 'secret'));
    expect(() => readSecret(cloud, 'password')).toThrow(/^cannot read .*secret: there is no such file$/);
  });

  it('must be readable and not empty at start', () => {
    const file = secretFile('\n');
    expect(problems(yaml('password_file: secret'))).toEqual([
      `cloud.password_file (line 5): the file ${file} is empty`,
    ]);
    expect(problems(yaml('password_file: nowhere'))).toEqual([
      `cloud.password_file (line 5): cannot read ${join(folder, 'nowhere')}: there is no such file`,
    ]);
    expect(problems(yaml('password: x'), { SONIC2MQTT_MQTT__PASSWORD_FILE: '/nowhere' })).toEqual([
      'mqtt.password_file (SONIC2MQTT_MQTT__PASSWORD_FILE): cannot read /nowhere: there is no such file',
    ]);
  });

  it('is read from a file as Windows writes it, and not misread where that is no UTF-8', () => {
    const file = secretFile('\ufeffgrün\r\n');
    const { cloud } = load(yaml('password_file: secret')).config;
    expect(readSecret(cloud, 'password')).toBe('grün');
    secretFile(Buffer.from('grün', 'latin1'));
    expect(() => readSecret(cloud, 'password')).toThrow(/^cannot read .*secret: it is not UTF-8$/);
    expect(problems(yaml('password_file: secret'))).toEqual([
      `cloud.password_file (line 5): cannot read ${file}: it is not UTF-8`,
    ]);
  });

  it('is given in one way only', () => {
    const file = secretFile('x');
    expect(problems(yaml('password: y\n  password_file: secret'))).toEqual([
      'cloud.password_file (line 6): give either this or cloud.password, not both',
    ]);
    const env = { SONIC2MQTT_CLOUD__PASSWORD: 'y', SONIC2MQTT_CLOUD__PASSWORD_FILE: file };
    expect(problems(yaml('password: y'), env)).toEqual([
      'cloud.password_file (SONIC2MQTT_CLOUD__PASSWORD_FILE): give either this or cloud.password, not both',
    ]);
  });

  it('from the environment replaces that of the file, whichever way each is given', () => {
    const file = secretFile('from a file');
    const inFile = load(yaml('password: x'), { SONIC2MQTT_CLOUD__PASSWORD_FILE: file }).config.cloud;
    expect(readSecret(inFile, 'password')).toBe('from a file');
    const direct = load(yaml('password_file: nowhere'), { SONIC2MQTT_CLOUD__PASSWORD: 'y' }).config.cloud;
    expect(readSecret(direct, 'password')).toBe('y');
  });
});

describe('certificates', () => {
  const mqtt = (options: string) => `${required[0]}\nmqtt: { url: "mqtts://x", ${options} }`;

  it('are files that can be read, the client’s with its key', () => {
    // The names in a certificate may be written in any encoding.
    const { cert, key } = certificates.own;
    const text = `# Főtanúsítvány, Zürich\n${cert}\n${key}\n`;
    writeFileSync(join(folder, 'ca.pem'), Buffer.from(text, 'latin1'));
    expect(load(mqtt('ca_file: ca.pem')).config.mqtt.ca_file).toBe(join(folder, 'ca.pem'));
    expect(problems(mqtt('ca_file: nowhere'))).toEqual([
      `mqtt.ca_file (line 2): cannot read ${join(folder, 'nowhere')}: there is no such file`,
    ]);
    expect(problems(mqtt('cert_file: ca.pem, key_file: ca.pem'))).toEqual([]);
    expect(problems(mqtt('cert_file: ca.pem'))).toEqual(['mqtt.cert_file (line 2): needs mqtt.key_file too']);
    expect(problems(mqtt('key_file: ca.pem'))).toEqual(['mqtt.key_file (line 2): needs mqtt.cert_file too']);
  });

  it('are refused where TLS could not use them, and not repeated', () => {
    writeFileSync(join(folder, 'cert.pem'), certificates.own.cert);
    writeFileSync(join(folder, 'key.pem'), certificates.own.key);
    writeFileSync(join(folder, 'other.pem'), certificates.stranger.key);
    writeFileSync(
      join(folder, 'damaged.pem'),
      '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n',
    );
    const said = /^mqtt\.key_file \(line 2\): cannot be used: [a-z ]+$/;
    for (const [cert, key] of [
      ['cert', 'other'],
      ['cert', 'damaged'],
      ['key', 'cert'],
    ]) {
      const found = problems(mqtt(`cert_file: ${cert}.pem, key_file: ${key}.pem`));
      expect(found).toEqual([expect.stringMatching(said)]);
      expect(found.join()).not.toContain('hush');
    }
    expect(problems(mqtt('cert_file: cert.pem, key_file: key.pem'))).toEqual([]);
  });
});

describe('the JSON Schema', () => {
  const document = JSON.parse(JSON.stringify(configJsonSchema(operationNames)));
  const schema = z.fromJSONSchema(document);
  const misfits = (value: unknown) =>
    schema.safeParse(value).error?.issues.map((issue) => {
      const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
      return [...issue.path, ...keys].join('.');
    }) ?? [];

  it('accepts the example file, and an empty one', () => {
    expect(document['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(misfits(parse(example))).toEqual([]);
    expect(misfits({})).toEqual([]);
  });

  it('refuses what editors should mark', () => {
    const wrong = {
      cloud: { password: 5, max_concurrency: '4', routes: { list_sonic: 'GET /v2/sonics' } },
      mqtt: { ulr: 'x', keepalive: 60, protocol_version: 3, embedded: { enabled: 'yes' } },
      schedules: { usage: 5 },
      filters: { properties: [1] },
      stale_after: '5 minutes',
      log: { level: 'loud' },
      logs: {},
    };
    expect(misfits(wrong)).toEqual([
      'cloud.password',
      'cloud.max_concurrency',
      'cloud.routes.list_sonic',
      'mqtt.protocol_version',
      'mqtt.keepalive',
      'mqtt.embedded.enabled',
      'mqtt.ulr',
      'schedules.usage',
      'filters.properties.0',
      'stale_after',
      'log.level',
      'logs',
    ]);
  });

  it('describes every option and states its default', () => {
    for (const row of optionRows) {
      const option = valueAt(
        document,
        row.path.split('.').flatMap((key) => ['properties', key]),
      );
      expect(option, row.path).toMatchObject({ description: row.description });
      expect(valueAt(option, ['default']), row.path).toEqual(row.default);
      expect(row.description.length, row.path).toBeGreaterThan(10);
    }
  });
});
