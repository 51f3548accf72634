import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { quick } from '../support/bridge.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { otherBrokers } from '../support/otherBrokers.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

describe.each(otherBrokers)(
  'on $name, which $peculiarity,',
  ({ isInstalled, protocolVersion, loggedVersion, listsRetained, start }) => {
    const here = it.skipIf(!isInstalled);
    let broker: Awaited<ReturnType<typeof start>>;
    let simulator: Simulator;
    let program: RunningProgram;
    let mqtt: MqttWatcher;
    let config: Readonly<Record<string, unknown>>;
    let sonic = '';

    const outcomes = () =>
      mqtt.messages
        .filter(({ topic, text }) => topic === 'sonic2mqtt/bridge/event' && text.includes('"command"'))
        .map(({ text }) => JSON.parse(text).status);

    beforeAll(async () => {
      if (!isInstalled) return;
      broker = await start();
      simulator = new Simulator({ quiet: true, valveTravelMs: 300, properties: 1, signals: 1, sonics: 2 });
      await simulator.start();
      sonic = `sonic2mqtt/sonic/${simulator.world.sonics.ids[0]}`;
      config = {
        cloud: { base_url: simulator.url, ...demoCredentials, max_requests_per_minute: 100_000 },
        mqtt: { url: broker.url, protocol_version: protocolVersion },
        schedules: quick,
        valve: { confirm_interval: '100ms' },
        data_dir: temporaryFolder(),
      };
      mqtt = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    }, 270_000);

    afterAll(async () => {
      if (!isInstalled) return;
      await program?.stop('SIGKILL');
      await mqtt.close();
      await simulator.stop();
      await broker.stop();
    });

    /** What a client that comes now finds at these exact topics. A broker may send it more. */
    async function kept(topics: readonly string[]): Promise<string[]> {
      const newcomer = await watchTopics(broker.url, [...topics]);
      await newcomer.close();
      return topics.filter((topic) => newcomer.last.has(topic)).toSorted();
    }

    here(
      'check passes',
      async () => {
        const check = startProgram(['check'], { config: { ...config, mqtt: { url: broker.url } } });
        expect((await check.ended()).code, check.output).toBe(0);
        expect(check.stdout).toContain('OK   MQTT broker: published a message and received it');
      },
      60_000,
    );

    here(
      'the bridge shows its valves, and moves one once',
      async () => {
        program = startProgram(['run'], { config, outlivesTest: true });
        await waitFor(() => program.stderr.includes(loggedVersion), { what: loggedVersion });
        await mqtt.waitForTopic(sonic, (text) => JSON.parse(text).valve === 'open');
        await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
        const isOk = (text: string) => JSON.parse(text).status === 'ok';
        await mqtt.waitForTopic('sonic2mqtt/bridge/health', isOk);
        await mqtt.publish(`${sonic}/valve/set`, 'CLOSE');
        await mqtt.waitForTopic(sonic, (text) => JSON.parse(text).valve === 'closed');
        await waitFor(() => outcomes().length === 1, { what: 'the outcome' });
        expect(outcomes()).toEqual(['ok']);
        expect(simulator.requests.count('command_valve')).toBe(1);
        // The disk of a busy machine may be slow.
        expect(program.stderr).not.toMatch(/(WARN|ERROR): (?!data_dir )/);
      },
      60_000,
    );

    here(
      'a stored command moves nothing at a restart, and a device that has gone is removed',
      async () => {
        await program.stop();
        await mqtt.publish(`${sonic}/valve/set`, 'OPEN', { retain: true, qos: 1 });
        const [, gone = ''] = simulator.world.sonics.ids;
        simulator.world.sonics.delete(gone);
        program = startProgram(['run'], { config, outlivesTest: true });
        const discovery = `homeassistant/device/sonic2mqtt_${gone}/config`;
        await waitFor(() => !mqtt.last.has(discovery), {
          what: 'the device to be removed',
        });
        const left = () => kept([discovery, `sonic2mqtt/sonic/${gone}`, `sonic2mqtt/sonic/${gone}/usage`]);
        await waitFor(async () => (await left()).length === 0, {
          what: 'its messages to go',
        });
        expect(simulator.requests.count('command_valve')).toBe(1);
        await mqtt.publish(`${sonic}/valve/set`, '', { retain: true, qos: 1 });
      },
      60_000,
    );

    here(
      'cleanup deletes nothing while the bridge runs, and then all',
      async () => {
        const own = [...mqtt.last.keys()].filter((topic) => !topic.endsWith('/event'));
        const cleanup = async () => {
          const command = startProgram(['cleanup'], { config });
          const { code } = await command.ended();
          return { code, ...command };
        };
        expect(await cleanup()).toMatchObject({ code: 1 });
        expect(await kept(['sonic2mqtt/bridge/state', sonic])).toEqual(['sonic2mqtt/bridge/state', sonic]);
        await program.stop();
        const { code, stderr } = await cleanup();
        expect(await kept(own)).toEqual([]);
        expect(code).toBe(listsRetained ? 0 : 1);
        if (!listsRetained) expect(stderr).toMatch(/The broker does not list its retained messages/);
      },
      60_000,
    );
  },
);
