import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { startBridge } from '../support/bridge.ts';
import type { RunningProcess } from '../support/childProcess.ts';
import { composeIn, containerOf } from '../support/containers.ts';
import {
  documentedCommands,
  hasNamespaces,
  type Installation,
  startInstallation,
} from '../support/installation.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { serviceOf, supervisorAt } from '../support/supervisor.ts';

/** A cloud and a broker, and a machine on which nothing is installed, whose user has an account there. */
async function startHome({ hasSystemd = false } = {}) {
  const cloud = { properties: 1, signals: 1, sonics: 1 };
  const { cloud: simulator, broker, mqtt } = await startBridge({ isStarted: false, cloud });
  const { email, password } = demoCredentials;
  const installation = startInstallation({
    hasSystemd,
    // The variables that the page shows, as this user fills them in.
    typed: [
      `SONIC2MQTT_CLOUD__BASE_URL=${simulator.url}`,
      `SONIC2MQTT_CLOUD__EMAIL=${email}`,
      `SONIC2MQTT_CLOUD__PASSWORD=${password}`,
      `SONIC2MQTT_MQTT__URL=${broker.url}`,
    ].join('\n'),
    env: { SONIC2MQTT_CLOUD__BASE_URL: simulator.url },
  });
  return { simulator, broker, mqtt, installation, sonicId: simulator.world.sonics.ids[0] ?? '' };
}

/** Opens the setup page of a process, and sends what its form asks for. */
async function setUpInBrowser(
  process: RunningProcess,
  port: number | undefined,
  broker: string,
): Promise<void> {
  const [, code] = await process.waitForOutput(/enter the code (\d{3} \d{3})/);
  const form = { ...demoCredentials, code, broker, brokerUsername: '', brokerPassword: '' };
  const url = `http://127.0.0.1:${port}`;
  expect((await fetch(url)).status).toBe(200);
  const answer = await fetch(`${url}/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(form),
  });
  expect(await answer.json()).toMatchObject({ isSaved: true });
}

/** What `docker run` was asked for: the container, the port inside that it publishes, its variables and its command. */
async function dockerRun(installation: Installation, words: readonly string[] = []) {
  expect(words[0]).toBe('run');
  const after = (option: string) => words[words.indexOf(option) + 1] ?? '';
  const image = words.findIndex((word) => word.startsWith('ghcr.io/'));
  expect(words[image]).toBe(releasedImage);
  const variables = words.includes('--env-file')
    ? readFileSync(join(installation.checkout, after('--env-file')), 'utf8')
    : '';
  const env = Object.fromEntries(
    variables
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
  const [volume = '', at] = words.includes('-v') ? after('-v').split(':') : ['none', '/data'];
  expect(at).toBe('/data');
  const data = installation.place(`/var/lib/volumes/${volume}`);
  mkdirSync(data, { recursive: true });
  const container = await containerOf(installation, data);
  return { container, env, args: words.slice(image + 1), port: after('-p').split(':')[1] ?? '' };
}

/** Closes a valve as anybody does over MQTT, and waits until it is closed. */
async function closeValve(mqtt: MqttWatcher, sonicId: string): Promise<void> {
  const topic = `sonic2mqtt/sonic/${sonicId}`;
  await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
  await mqtt.publish(`${topic}/valve/set`, 'CLOSE');
  await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
}

/** The broker has stored nothing. */
async function expectNothingLeft(url: string): Promise<void> {
  const stored = await watchTopics(url, '#');
  await stored.settle();
  expect(stored.messages).toEqual([]);
}

/** Publishes a release of this version, which `npm` and `curl` find there. */
async function release(installation: Installation): Promise<void> {
  await installation.run(
    'mkdir ../release && node --import ./scripts/typescript.mjs scripts/pack.ts ../release',
  );
}

let startedAt = 0;

/** Prints what a person types on a way, and how long it took without downloads. */
function printEffort(way: string, commands: string, answers: string): void {
  const count = commands.replaceAll('\\\n', '').split('\n').filter(Boolean).length;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${way}: ${count} command lines; typed besides: ${answers}; ${seconds} s`);
}

/** The image as all pages and compose.yaml name it. */
const releasedImage = 'ghcr.io/sonic2mqtt/sonic2mqtt:1';

/** The last of the commands, which goes on and on, and those before it. */
function lastOf(commands: string): { before: string; last: string } {
  const each = commands.trimEnd().split(/\n| && /);
  return { before: each.slice(0, -1).join('\n'), last: each.at(-1) ?? '' };
}

// From nothing to a moved valve, by the commands of the pages. In Home Assistant OS there are none: the form is filled in.
describe.runIf(process.platform === 'linux')(
  'what docs/quick-start.md and docs/install.md say ends in a valve that moves',
  { timeout: 180_000 },
  () => {
    beforeEach(() => {
      startedAt = performance.now();
    });

    it.each([
      ['README.md', 'Try it'],
      ['docs/install.md', 'npx'],
    ])('the demo of %s, %s', async (page, heading) => {
      const installation = startInstallation({});
      const [commands = ''] = /^.* demo\n/s.exec(documentedCommands(page, heading)) ?? [];
      if (commands.includes('/releases/')) await release(installation);
      const { before, last } = lastOf(commands);
      await installation.run(before);
      const demo = installation.start(`exec ${last}`);
      const [command, port] = await demo.waitForOutput(/^ *mosquitto_pub .*-p (\d+) .*$/m);
      const [, sonicId = '', word = ''] =
        /-t sonic2mqtt\/sonic\/(\S+)\/valve\/set -m (\S+)/.exec(command) ?? [];
      const mqtt = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/#');
      const topic = `sonic2mqtt/sonic/${sonicId}`;
      expect(mqtt.json(topic)).toMatchObject({ valve: 'open' });
      if (spawnSync('mosquitto_pub', ['--help']).error === undefined) await installation.run(command);
      else await mqtt.publish(`${topic}/valve/set`, word);
      await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
      printEffort(`The demo of ${page}`, commands + command, 'nothing');
      demo.signal('SIGTERM');
      await demo.ended();
    });

    it('npx, also its update, and back to nothing', async () => {
      const { broker, mqtt, installation, sonicId } = await startHome();
      await release(installation);
      startedAt = performance.now();
      const [download = '', , run = ''] = documentedCommands('docs/install.md', 'npx').split('\n');
      await installation.run(download);
      const port = await freePort();
      const first = installation.start(`SONIC2MQTT_SETUP=127.0.0.1:${port} exec ${run}`);
      await setUpInBrowser(first, port, broker.url);
      await closeValve(mqtt, sonicId);
      printEffort('npx', [download, run].join('\n'), 'code, e-mail, password, broker');
      first.signal('SIGTERM');
      await first.ended();

      const { before, last } = lastOf(documentedCommands('docs/update.md', 'Update'));
      await installation.run(before.split('\n').at(-1) ?? '');
      const updated = installation.start(`exec ${last}`);
      await updated.waitForOutput(/Found properties: 1/);
      updated.signal('SIGTERM');
      await updated.ended();

      const back = documentedCommands('docs/uninstall.md', 'npx');
      expect(await installation.run(back)).toMatch(/Deleted \d\d+ retained messages/);
      await expectNothingLeft(broker.url);
      const left = readdirSync(installation.checkout).filter((each) =>
        /^(sonic2mqtt\.tgz|config\.yaml|data)$/.test(each),
      );
      expect(left).toEqual([]);
    });

    it.runIf(hasNamespaces)('Raspberry Pi or Linux, also its update, and back to nothing', async () => {
      const { simulator, broker, mqtt, installation, sonicId } = await startHome({ hasSystemd: true });
      await release(installation);
      // As with `systemctl edit`: the service has no other way to learn where the simulated cloud is.
      const own = installation.place('/etc/systemd/system/sonic2mqtt.service.d');
      mkdirSync(own);
      writeFileSync(
        join(own, 'own.conf'),
        `[Service]\nEnvironment=SONIC2MQTT_CLOUD__BASE_URL=${simulator.url}\n`,
      );
      startedAt = performance.now();
      const commands = documentedCommands('docs/install.md', 'Raspberry Pi or Linux');
      const port = await freePort();
      const setup = commands.indexOf('sudo sonic2mqtt setup');
      const start = commands.indexOf('sudo cp ');
      await installation.run(commands.slice(0, setup));
      const page = installation.start(commands.slice(setup, start).replace('8099', String(port)));
      await setUpInBrowser(page, port, broker.url);
      expect(await page.ended()).toMatchObject({ code: 0 });
      await installation.run(commands.slice(start));
      expect(statSync(installation.place('/etc/sonic2mqtt/config.yaml')).mode & 0o777).toBe(0o600);
      await closeValve(mqtt, sonicId);
      printEffort('Raspberry Pi or Linux', commands, 'code, e-mail, password, broker');
      // What it remembers is where the documentation says, for nobody else to read.
      const folder = installation.place('/var/lib/private/sonic2mqtt');
      expect(readdirSync(folder)).toContain('sonic2mqtt.json');
      for (const file of readdirSync(folder)) {
        expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0);
      }

      const update = documentedCommands('docs/update.md', 'Update').split('\n');
      const linux = update.slice(update.findIndex((line) => line.includes('npm install -g'))).slice(0, 4);
      await installation.run(linux.join('\n'));

      startedAt = performance.now();
      const back = documentedCommands('docs/uninstall.md', 'Raspberry Pi or Linux');
      expect(await installation.run(back)).toMatch(/Deleted \d+ retained messages/);
      printEffort('Uninstall, Raspberry Pi or Linux', back, 'no');
      await expectNothingLeft(broker.url);
      const left = [
        'local/bin/sonic2mqtt',
        'etc/sonic2mqtt',
        'var/lib/sonic2mqtt',
        'var/lib/private/sonic2mqtt',
      ];
      expect(left.filter((each) => existsSync(installation.place(each)))).toEqual([]);
      expect(readdirSync(installation.place('/etc/systemd/system'))).toEqual(['sonic2mqtt.service.d']);
    });

    it('Docker', async () => {
      const { simulator, broker, mqtt, installation, sonicId } = await startHome();
      const commands = documentedCommands('docs/install.md', 'Docker');
      await installation.run(commands);
      const [start, logs] = installation.asked('docker');
      expect(logs).toEqual(['logs', 'sonic2mqtt']);
      const { container, args, port } = await dockerRun(installation, start);
      const running = container.run(args, { SONIC2MQTT_CLOUD__BASE_URL: simulator.url });
      await setUpInBrowser(running, container.published[port], broker.url);
      await closeValve(mqtt, sonicId);
      printEffort('Docker', commands, 'code, e-mail, password, broker');
      expect(await container.isHealthy()).toBe(true);
      const back = documentedCommands('docs/uninstall.md', 'Docker');
      await installation.run(back);
      const [stop, cleanup, ...rest] = installation.asked('docker').slice(2);
      expect([stop, rest.map(([words]) => words)]).toEqual([
        ['stop', 'sonic2mqtt'],
        ['rm', 'volume', 'image'],
      ]);
      expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 });
      const last = await dockerRun(installation, cleanup);
      const cleaning = last.container.run(last.args, { SONIC2MQTT_CLOUD__BASE_URL: simulator.url });
      expect(await cleaning.ended()).toMatchObject({ code: 0 });
      await expectNothingLeft(broker.url);
    });

    it('Docker with environment variables', async () => {
      const { mqtt, installation, sonicId } = await startHome();
      const commands = documentedCommands('docs/install.md', 'Docker with environment variables');
      await installation.run(commands);
      const [check, start] = installation.asked('docker');
      const checked = await dockerRun(installation, check);
      expect(await checked.container.run(checked.args, checked.env).ended()).toMatchObject({ code: 0 });
      const { container, args, env } = await dockerRun(installation, start);
      const running = container.run(args, env);
      await closeValve(mqtt, sonicId);
      printEffort('Docker with environment variables', commands, 'e-mail, password, broker');
      expect(await container.isHealthy()).toBe(true);
      expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 });
    });

    it.runIf(mosquittoAvailable())('Docker Compose', async () => {
      const { simulator, installation, sonicId } = await startHome();
      writeFileSync(join(installation.checkout, '.env'), `CLOUD_URL=${simulator.url}\n`);
      const commands = documentedCommands('docs/quick-start.md', 'Docker Compose');
      await installation.run(commands);
      const [up, logs, [, , service, program, file = ''] = []] = installation.asked('docker');
      expect([up, logs, service, program]).toEqual([
        ['compose', 'up', '-d'],
        ['compose', 'logs', 'sonic2mqtt'],
        ...['mosquitto', 'cat'],
      ]);
      const compose = await composeIn(installation);
      const { process, published } = await compose.up();
      await setUpInBrowser(process, published['8099'], compose.brokerUrl);
      // As Home Assistant, Node-RED and the user do.
      const password = compose.brokerFile(file);
      const mqtt = await watchTopics(compose.brokerUrl, 'sonic2mqtt/#', { username: 'home', password });
      await closeValve(mqtt, sonicId);
      printEffort('Docker Compose', commands, 'code, e-mail, password');
      expect(await process.stop('SIGTERM')).toMatchObject({ code: 0 });
      // The next time it needs nobody.
      const again = await compose.up();
      await again.process.waitForOutput(/Signed in to the cloud|Found properties/);
      expect(again.process.output).not.toContain('enter the code');
      expect(await again.process.stop('SIGTERM')).toMatchObject({ code: 0 });
      await installation.run(documentedCommands('docs/uninstall.md', 'Docker Compose'));
      const [stop, [, , , , ...words] = [], ...rest] = installation.asked('docker').slice(3);
      expect([stop, words, rest]).toEqual([
        ['compose', 'stop', 'sonic2mqtt'],
        ['cleanup'],
        [
          ['compose', 'down', '--rmi', 'all'],
          ['volume', 'rm', 'sonic2mqtt_sonic2mqtt'],
        ],
      ]);
      const cleaning = await compose.run(words);
      await cleaning.waitForOutput(/Deleted \d\d+ retained messages/);
    });

    it('Home Assistant OS', async () => {
      const { simulator, broker, mqtt, installation, sonicId } = await startHome();
      const supervisor = supervisorAt(await freePort(), serviceOf(broker.url));
      await supervisor.start();
      const data = installation.place('/var/lib/app');
      mkdirSync(data);
      writeFileSync(join(data, 'options.json'), JSON.stringify(demoCredentials));
      const container = await containerOf(installation, data);
      const running = container.run([], {
        SUPERVISOR_TOKEN: supervisor.token,
        SUPERVISOR_URL: supervisor.url,
        SONIC2MQTT_CLOUD__BASE_URL: simulator.url,
        // The port of ingress is the container's own as well.
        SONIC2MQTT_HTTP__LISTEN: '127.0.0.1:0',
      });
      await closeValve(mqtt, sonicId);
      printEffort('Home Assistant OS', '', 'address of the repository, e-mail, password');
      expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 });
    });
  },
);
