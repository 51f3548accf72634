import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { startBridge } from '../support/bridge.ts';
import { composeIn, containerOf } from '../support/containers.ts';
import { documentedCommands, startInstallation, startUnit } from '../support/installation.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';

/** A cloud and a broker, and a machine on which nothing is installed, whose user has an account there. */
async function startHome() {
  const cloud = { properties: 1, signals: 1, sonics: 1 };
  const { cloud: simulator, broker, mqtt } = await startBridge({ isStarted: false, cloud });
  const installation = startInstallation({
    typed: {
      // Compose reads the address of the cloud from there as well.
      'CLOUD_EMAIL=me@example.com': `CLOUD_URL=${simulator.url}\\nCLOUD_EMAIL=${demoCredentials.email}`,
      'https://api.watergate.ai': simulator.url,
      'me@example.com': demoCredentials.email,
      'password: "secret"': `password: "${demoCredentials.password}"`,
      'mqtt://localhost:1883': broker.url,
    },
    secret: demoCredentials.password,
    answers: [demoCredentials.email, demoCredentials.password, broker.url, ''],
    env: { SONIC2MQTT_CLOUD__BASE_URL: simulator.url },
  });
  return { simulator, mqtt, installation, sonicId: simulator.world.sonics.ids[0] ?? '' };
}

/** Closes a valve as anybody does over MQTT, and waits until it is closed. */
async function closeValve(mqtt: MqttWatcher, sonicId: string): Promise<void> {
  const topic = `sonic2mqtt/sonic/${sonicId}`;
  await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open', 15_000);
  await mqtt.publish(`${topic}/valve/set`, 'CLOSE');
  await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed', 15_000);
}

/** The last of the commands, which goes on and on, and those before it. */
function lastOf(commands: string): { before: string; last: string } {
  const lines = commands.trimEnd().split('\n');
  return { before: lines.slice(0, -1).join('\n'), last: lines.at(-1) ?? '' };
}

// From nothing to a moved valve, by the commands of the pages; the app of Home Assistant has tests of its own.
describe.runIf(process.platform === 'linux')(
  'what docs/quick-start.md and docs/install.md say ends in a valve that moves',
  { timeout: 60_000 },
  () => {
    it('npx', async () => {
      const installation = startInstallation({ typed: {}, secret: '' });
      const { before, last } = lastOf(documentedCommands('docs/install.md', 'npx'));
      await installation.run(before);
      const demo = installation.start(`exec ${last}`);
      const [command, port] = await demo.waitForOutput(/^ *mosquitto_pub .*-p (\d+) .*$/m, 30_000);
      const [, sonicId = '', word = ''] =
        /-t sonic2mqtt\/sonic\/(\S+)\/valve\/set -m (\S+)/.exec(command) ?? [];
      const mqtt = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/#');
      const topic = `sonic2mqtt/sonic/${sonicId}`;
      expect(mqtt.json(topic)).toMatchObject({ valve: 'open' });
      if (spawnSync('mosquitto_pub', ['--help']).error === undefined) await installation.run(command);
      else await mqtt.publish(`${topic}/valve/set`, word);
      await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed', 20_000);
      demo.signal('SIGTERM');
      await demo.ended();
    });

    it('Raspberry Pi or Linux', async () => {
      const { simulator, mqtt, installation, sonicId } = await startHome();
      const said = await installation.run(documentedCommands('docs/quick-start.md', 'Raspberry Pi or Linux'));
      expect(said).toContain('MQTT broker: connected to');
      expect(installation.asked('systemctl')).toEqual([['daemon-reload'], ['enable', '--now', 'sonic2mqtt']]);
      const file = installation.place('/etc/sonic2mqtt/config.yaml');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace('cloud:', `cloud:\n  base_url: ${simulator.url}`),
      );
      const service = startUnit(installation, 'sonic2mqtt');
      await closeValve(mqtt, sonicId).catch((error: Error) => {
        throw new Error(`${error.message}\n${service.output}`);
      });
      expect(await service.stop('SIGTERM')).toMatchObject({ code: 0 });
      await mqtt.settle();
      expect(mqtt.last.get('sonic2mqtt/bridge/state')).toBe('offline');
      // What it remembers is where the documentation says, for nobody else to read.
      const kept = readdirSync(service.stateFolder);
      expect(kept).not.toEqual([]);
      for (const file of kept) expect(statSync(join(service.stateFolder, file)).mode & 0o077, file).toBe(0);
    });

    it('Docker', async () => {
      const { mqtt, installation, sonicId } = await startHome();
      await installation.run(documentedCommands('docs/install.md', 'Docker'));
      const [build, check, run] = installation.asked('docker');
      expect(build).toEqual(['build', '-t', 'sonic2mqtt', '.']);
      const started = [check, run].map((words = []) => {
        const [volume = ''] = words.filter((_, index) => words[index - 1] === '-v');
        const [data = '', at] = volume.split(':');
        expect([words[0], at]).toEqual(['run', '/data']);
        expect(words).toContain(`${process.getuid?.()}:${process.getgid?.()}`);
        return {
          container: containerOf(installation, data),
          args: words.slice(words.lastIndexOf('sonic2mqtt') + 1),
        };
      });
      const [checked, running] = started.map(({ container, args }) => container.run(args));
      expect(await checked?.ended()).toMatchObject({ code: 0 });
      await closeValve(mqtt, sonicId);
      expect(await started[1]?.container.isWell()).toBe(true);
      expect(await running?.stop('SIGTERM')).toMatchObject({ code: 0 });
    });

    it.runIf(mosquittoAvailable())('Docker Compose', async () => {
      const { installation, sonicId } = await startHome();
      await installation.run(documentedCommands('docs/quick-start.md', 'Docker Compose'));
      expect(installation.asked('docker').map((words) => words.join(' '))).toEqual([
        'compose run --rm sonic2mqtt check',
        'compose up -d',
      ]);
      for (const secret of readdirSync(join(installation.checkout, 'secrets'))) {
        expect(statSync(join(installation.checkout, 'secrets', secret)).mode & 0o777).toBe(0o600);
      }
      const compose = await composeIn(installation);
      for (const { user } of Object.values(compose.services)) {
        expect(user).toBe(`${process.getuid?.()}:${process.getgid?.()}`);
      }
      expect(await compose.run(['check'])).toMatchObject({
        code: 0,
        output: expect.stringContaining('MQTT broker: connected to'),
      });
      const bridge = await compose.up();
      // As Home Assistant, Node-RED and the user do.
      const password = readFileSync(join(installation.checkout, 'secrets/mqtt_home'), 'utf8').trim();
      const mqtt = await watchTopics(compose.brokerUrl, 'sonic2mqtt/#', { username: 'home', password });
      await closeValve(mqtt, sonicId);
      expect(await bridge.stop('SIGTERM')).toMatchObject({ code: 0 });
      expect(readdirSync(join(installation.checkout, 'data/sonic2mqtt'))).not.toEqual([]);
    });
  },
);
