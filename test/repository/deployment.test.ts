import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { startProcess } from '../support/childProcess.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(project, file), 'utf8');

/** What the tests read of a service in compose.yaml. */
interface Service {
  readonly image: string;
  readonly user: string;
  readonly read_only?: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}

const compose = parse(read('compose.yaml'), { merge: true });
const services: Record<string, Service> = compose.services;
const { mosquitto, sonic2mqtt, 'node-red': nodeRed } = services as Record<string, Service | undefined>;

/** A file with something else in place of some of its words, as a container has other folders. */
function withPlaces(text: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}

/** The folders of the broker's container, in one of the test's own. */
function brokerPlaces(folder: string, port: number): Record<string, string> {
  mkdirSync(join(folder, 'secrets'));
  mkdirSync(join(folder, 'data'));
  return {
    '/run/secrets': join(folder, 'secrets'),
    '/tmp/passwords': join(folder, 'passwords'),
    '/mosquitto/config': folder,
    '/mosquitto/data/': `${join(folder, 'data')}/`,
    'listener 1883': `listener ${port} 127.0.0.1\n${process.getuid?.() === 0 ? 'user root' : ''}`,
  };
}

function writeBroker(folder: string, port: number): void {
  const places = brokerPlaces(folder, port);
  for (const file of ['start.sh', 'mosquitto.conf']) {
    writeFileSync(join(folder, file), withPlaces(read(`docker/mosquitto/${file}`), places));
  }
}

describe('compose.yaml', () => {
  it('gives no service more than it needs', () => {
    expect(Object.keys(services)).toEqual(['mosquitto', 'sonic2mqtt', 'node-red']);
    for (const service of Object.values(services)) {
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Compose's own
      expect(service.user).toBe('${PUID:-1000}:${PGID:-1000}');
    }
    expect([mosquitto?.read_only, sonic2mqtt?.read_only]).toEqual([true, true]);
  });

  it('opens ports on this machine only, unless it is told otherwise, and Node-RED only where it is wanted', () => {
    for (const port of Object.values(services).flatMap(({ ports = [] }) => ports)) {
      expect(port).toMatch(/^(\$\{MQTT_HOST:-127\.0\.0\.1\}|127\.0\.0\.1):\d+:\d+$/);
    }
    expect(nodeRed?.profiles).toEqual(['node-red']);
    expect([mosquitto?.profiles, sonic2mqtt?.profiles]).toEqual([undefined, undefined]);
  });

  it('starts each service when those that it needs are well', () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(condition).toBe('service_healthy');
        const isOwn = name === 'sonic2mqtt' && read('Dockerfile').includes('\nHEALTHCHECK ');
        expect(isOwn || services[name]?.healthcheck !== undefined, name).toBe(true);
      }
    }
    expect(Object.keys(sonic2mqtt?.depends_on ?? {})).toEqual(['mosquitto']);
  });

  it('has passwords in files alone, which git does not take', () => {
    const wanted = Object.values(services).flatMap(({ secrets = [] }) => secrets);
    expect(Object.keys(compose.secrets).toSorted()).toEqual([...new Set(wanted)].toSorted());
    for (const [name, { file }] of Object.entries<{ file: string }>(compose.secrets)) {
      expect(file).toBe(`./secrets/${name}`);
    }
    expect(read('.gitignore').split('\n')).toEqual(expect.arrayContaining(['/secrets/', '/.env', 'data/']));
    const passwords = Object.keys(sonic2mqtt?.environment ?? {}).filter((name) => /PASSWORD/.test(name));
    expect(passwords).toHaveLength(2);
    for (const name of passwords) expect(name).toMatch(/_FILE$/);
  });

  it('mounts what is there, or what it makes below data', () => {
    for (const volume of Object.values(services).flatMap(({ volumes }) => volumes)) {
      const [source = ''] = volume.split(':');
      expect(source.startsWith('./data/') || existsSync(join(project, source)), volume).toBe(true);
    }
  });

  it('configures the bridge so that it takes all of it', () => {
    const folder = temporaryFolder();
    const given = Object.entries(sonic2mqtt?.environment ?? {}).map(([name, value]) => {
      const secret = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1];
      if (secret !== undefined) {
        expect(sonic2mqtt?.secrets).toContain(secret);
        writeFileSync(join(folder, secret), 'secret');
        return [name, join(folder, secret)];
      }
      const values: Record<string, string> = { CLOUD_EMAIL: 'me@example.com' };
      const required = value.replace(/^\$\{(\w+):\?[^}]+\}$/, (_, variable) => values[variable] ?? '');
      return [name, required.replace(/^\$\{\w+:-([^}]+)\}$/, '$1')];
    });
    const { config } = loadConfig({ env: Object.fromEntries(given), cwd: folder });
    expect(config.cloud).toMatchObject({ base_url: 'https://api.watergate.ai', email: 'me@example.com' });
    expect(config.mqtt).toMatchObject({ url: 'mqtt://mosquitto:1883', username: 'sonic2mqtt' });
  });
});

describe.runIf(mosquittoAvailable())('the broker of compose.yaml', () => {
  it('lets in its two users, nobody without a password, and is found well by its health check', async () => {
    const [folder, port] = [temporaryFolder(), await freePort()];
    writeBroker(folder, port);
    const passwords = { sonic2mqtt: 'first one', home: 'an"other $1' };
    for (const [user, password] of Object.entries(passwords)) {
      writeFileSync(join(folder, 'secrets', `mqtt_${user}`), `${password}\n`);
    }
    const [shell, kind] = [mosquitto?.healthcheck?.test[1] ?? '', mosquitto?.healthcheck?.test[0]];
    expect(kind).toBe('CMD-SHELL');
    const check = () =>
      spawnSync('sh', ['-c', shell.replaceAll('$$', '$').replace('-t x', `-p ${port} -t x`)]).status;
    expect(check()).not.toBe(0);
    const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
    const broker = startProcess('sh', [join(folder, 'start.sh')], { env });
    await waitFor(() => check() === 0, { what: 'health', timeoutMs: 10_000 });
    const url = `mqtt://127.0.0.1:${port}`;
    for (const [username, password] of Object.entries(passwords)) {
      const watcher = await watchTopics(url, '#', { username, password });
      await watcher.publish('test', username, { retain: true });
      await watcher.waitForTopic('test', (text) => text === username);
    }
    expect(readFileSync(join(folder, 'passwords'), 'utf8')).not.toContain('first one');
    expect((await broker.stop()).code).toBe(0);
    expect(existsSync(join(folder, 'data', 'mosquitto.db'))).toBe(true);
  });

  it.each(['', 'with:colon'])('says that the password %j cannot be one', async (password) => {
    const [folder, port] = [temporaryFolder(), await freePort()];
    writeBroker(folder, port);
    for (const user of ['sonic2mqtt', 'home'])
      writeFileSync(join(folder, 'secrets', `mqtt_${user}`), password);
    const broker = startProcess('sh', [join(folder, 'start.sh')]);
    expect((await broker.ended()).code).toBe(1);
    expect(broker.stderr).toBe('secrets/mqtt_sonic2mqtt must hold a password, without a colon\n');
  });
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe('the systemd unit', () => {
  const unit = 'systemd/sonic2mqtt.service';

  it('runs the program as a user of its own, with a configuration that only that user gets', () => {
    const lines = read(unit).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'ExecStart=/usr/bin/env sonic2mqtt run',
        'LoadCredential=config.yaml:/etc/sonic2mqtt/config.yaml',
        'Environment=SONIC2MQTT_CONFIG=%d/config.yaml',
        'Environment=SONIC2MQTT_DATA_DIR=%S/sonic2mqtt',
        'StateDirectory=sonic2mqtt',
        'DynamicUser=yes',
        'RestartPreventExitStatus=2',
      ]),
    );
    // What it cannot report must not stop it: only a service that has reported is watched.
    expect(lines).toEqual(
      expect.arrayContaining([
        'Type=notify',
        'NotifyAccess=all',
        'TimeoutStartSec=infinity',
        'WatchdogSec=3min',
      ]),
    );
    // It would end Node.js, which compiles while it runs.
    expect(lines).not.toContain('MemoryDenyWriteExecute=yes');
  });

  it.runIf(hasSystemd)('is one that systemd understands, and finds hardly exposed', () => {
    const verified = spawnSync('systemd-analyze', ['verify', join(project, unit)], { encoding: 'utf8' });
    expect(verified).toMatchObject({ status: 0, stderr: '' });
    const judged = execFileSync('systemd-analyze', ['security', '--offline=true', join(project, unit)], {
      encoding: 'utf8',
    });
    expect(Number(/Overall exposure level for \S+: ([\d.]+)/.exec(judged)?.[1])).toBeLessThan(1.5);
  });
});
