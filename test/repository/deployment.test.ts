import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isUnconfigured, loadConfig } from '../../src/config/load.ts';
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
  readonly build?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly environment?: Readonly<Record<string, string>>;
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
  mkdirSync(join(folder, 'data'));
  return {
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
    expect(Object.keys(services)).toEqual(['sonic2mqtt', 'mosquitto', 'node-red']);
    for (const service of Object.values(services)) {
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
    }
    for (const service of [mosquitto, sonic2mqtt]) {
      expect(service).toMatchObject({ read_only: true, user: '1883:1883' });
    }
  });

  it('opens the setup page alone to other machines, unless it is told otherwise, and Node-RED only where it is wanted', () => {
    expect(sonic2mqtt?.ports).toEqual(['8099:8099']);
    expect(read('Dockerfile')).toContain('SONIC2MQTT_SETUP=0.0.0.0:8099 ');
    for (const port of [mosquitto, nodeRed].flatMap((service) => service?.ports ?? [])) {
      expect(port).toMatch(/^(\$\{MQTT_HOST:-127\.0\.0\.1\}|127\.0\.0\.1):\d+:\d+$/);
    }
    expect(nodeRed?.profiles).toEqual(['node-red']);
    expect([mosquitto?.profiles, sonic2mqtt?.profiles]).toEqual([undefined, undefined]);
  });

  it('takes the released image of this major version, as the pages do, or one that is built here', () => {
    const [major] = JSON.parse(read('package.json')).version.split('.');
    const image = `ghcr.io/sonic2mqtt/sonic2mqtt:${major}`;
    expect(sonic2mqtt).toMatchObject({ image: `\${SONIC2MQTT_IMAGE:-${image}}`, build: '.' });
    const named = [...read('docs/install.md').matchAll(/ghcr\.io\S+/g)].map(([name]) => name);
    expect(new Set(named)).toEqual(new Set([image]));
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

  it('mounts what is there, or volumes of its own', () => {
    const sources = Object.values(services).flatMap(({ volumes }) =>
      volumes.map((each) => each.split(':')[0] ?? ''),
    );
    const [folders, volumes] = [true, false].map((is) =>
      sources.filter((each) => each.startsWith('.') === is),
    );
    for (const folder of folders ?? []) expect(existsSync(join(project, folder)), folder).toBe(true);
    expect(Object.keys(compose.volumes).toSorted()).toEqual([...new Set(volumes)].toSorted());
  });

  it('tells the bridge its user of the broker, and nothing that would be a configuration already', () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'sonic2mqtt.password'), 'invented');
    const places = { '/mosquitto/data': cwd, '${CLOUD_URL:-}': '' };
    const env = JSON.parse(withPlaces(JSON.stringify(sonic2mqtt?.environment), places));
    expect(isUnconfigured({ env, cwd })).toBe(true);
    const account = { SONIC2MQTT_CLOUD__EMAIL: 'me@example.com', SONIC2MQTT_CLOUD__PASSWORD: 'secret' };
    const whole = { ...env, ...account, SONIC2MQTT_MQTT__URL: 'mqtt://mosquitto' };
    const { config } = loadConfig({ env: whole, cwd });
    expect(config.cloud.base_url).toBe('https://api.watergate.ai');
    expect(config.mqtt).toMatchObject({
      username: 'sonic2mqtt',
      password_file: join(cwd, 'sonic2mqtt.password'),
    });
  });
});

describe.runIf(mosquittoAvailable())('the broker of compose.yaml', () => {
  it('invents a password for each of its two users once, lets in nobody else, and is found well by its health check', async () => {
    const [folder, port] = [temporaryFolder(), await freePort()];
    writeBroker(folder, port);
    const [shell, kind] = [mosquitto?.healthcheck?.test[1] ?? '', mosquitto?.healthcheck?.test[0]];
    expect(kind).toBe('CMD-SHELL');
    const check = () =>
      spawnSync('sh', ['-c', shell.replaceAll('$$', '$').replace('-t x', `-p ${port} -t x`)]).status;
    expect(check()).not.toBe(0);
    const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
    const start = async () => {
      const broker = startProcess('sh', [join(folder, 'start.sh')], { env });
      await waitFor(() => check() === 0, { what: 'health', timeoutMs: 10_000 });
      return broker;
    };
    const passwordFile = (user: string) => join(folder, 'data', `${user}.password`);
    const passwords = () =>
      ['sonic2mqtt', 'home'].map((user) => readFileSync(passwordFile(user), 'utf8').trim());
    const first = await start();
    const [own = '', home = ''] = passwords();
    expect(own).toMatch(/^[0-9a-f]{24}$/);
    expect(home).not.toBe(own);
    for (const [username, password] of Object.entries({ sonic2mqtt: own, home })) {
      expect(statSync(passwordFile(username)).mode & 0o777).toBe(0o600);
      const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, '#', { username, password });
      await watcher.publish('test', username, { retain: true });
      await watcher.waitForTopic('test', (text) => text === username);
    }
    expect(readFileSync(join(folder, 'passwords'), 'utf8')).not.toContain(own);
    expect((await first.stop()).code).toBe(0);
    expect(existsSync(join(folder, 'data', 'mosquitto.db'))).toBe(true);
    // What Home Assistant was told stays true, and a deleted password is replaced.
    rmSync(passwordFile('home'));
    const second = await start();
    expect(passwords()).toEqual([own, expect.not.stringMatching(home)]);
    expect((await second.stop()).code).toBe(0);
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

  it('is shown in docs/install.md as it is', () => {
    expect(read('docs/install.md')).toContain(read(unit));
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
