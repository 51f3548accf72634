import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hourly, startBridge, type TestBridge } from '../support/bridge.ts';
import {
  changingCommands,
  fence,
  outcomes,
  ownCommands,
  type SafetyCommand,
  startBridgeForCommands,
} from '../support/commandTable.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const refused = ({ topic }: Pick<SafetyCommand, 'topic'>) => ({
  topic,
  status: 'refused',
  reason: expect.stringMatching(/^the command was sent with the retain flag/),
  http_status: null,
});
const byTopic = (left: { topic: string }, right: { topic: string }) => left.topic.localeCompare(right.topic);

describe.skipIf(!mosquittoAvailable()).each([5, 4])(
  'with MQTT version %i a command of any kind that is retained',
  (protocol_version) => {
    let bridge: TestBridge;
    let commands: SafetyCommand[];
    beforeAll(async () => {
      bridge = await startBridgeForCommands({ config: { schedules: hourly, mqtt: { protocol_version } } });
      // What is taken without a word is refused too.
      commands = [...changingCommands(bridge), ...ownCommands].map((command) => ({
        ...command,
        payload: command.payload || 'PRESS',
      }));
    });
    afterAll(() => bridge.close());

    /** What is kept at each topic; nothing deletes it. */
    const retain = (word?: '') =>
      Promise.all(
        commands.map(({ topic, payload }) => bridge.mqtt.publish(topic, word ?? payload, { retain: true })),
      );

    it.runIf(protocol_version === 5)('is refused where it comes live', async () => {
      for (const { topic, payload } of commands) await bridge.mqtt.publish(topic, payload, { retain: true });
      await waitFor(() => outcomes(bridge).length >= commands.length, {
        what: 'the refusals',
      });
      await fence(bridge);
      expect(outcomes(bridge)).toEqual(commands.map(refused));
      expect(bridge.changesSent()).toEqual([]);
    });

    it('is refused at the start where the broker has kept it, until it is deleted', async () => {
      await bridge.program.stop();
      for (const { topic, payload } of commands) await bridge.mqtt.publish(topic, payload, { retain: true });
      const before = outcomes(bridge).length;
      const program = bridge.start();
      await waitFor(() => outcomes(bridge).length >= before + commands.length, {
        what: 'the refusals',
      });
      await program.waitForOutput(/Found properties/);
      await fence(bridge);
      expect(outcomes(bridge).slice(before).sort(byTopic)).toEqual(commands.map(refused).sort(byTopic));
      expect(bridge.changesSent()).toEqual([]);
      await retain('');
      const [valve] = commands;
      await fence(bridge);
      const told = outcomes(bridge).length;
      expect(bridge.changesSent()).toEqual([]);
      await bridge.mqtt.publish(valve?.topic ?? '', 'CLOSE');
      await waitFor(() => outcomes(bridge).length > told, {
        what: 'the outcome',
      });
      expect(outcomes(bridge).at(-1)).toEqual({
        topic: valve?.topic,
        status: 'ok',
        reason: null,
        http_status: 200,
      });
      expect(bridge.changesSent().map(({ operation }) => operation)).toEqual(['command_valve']);
    });
  },
);

describe('on the broker inside the bridge a command that is retained', () => {
  it('is refused where it comes live, and is taken without the retain flag', async () => {
    // On a busy machine a command must not be too late.
    const bridge = await startBridge({ isStarted: false, config: { cloud: { request_timeout: '10s' } } });
    const port = await freePort();
    const mqtt = { embedded: { enabled: true, port } };
    const program = startProgram(['run'], { config: { ...bridge.config, mqtt } });
    await program.waitForOutput(/MQTT broker: listening on/);
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/#');
    const [id = ''] = bridge.cloud.world.sonics.ids;
    await watcher.waitForTopic(`sonic2mqtt/sonic/${id}`);
    const topic = `sonic2mqtt/sonic/${id}/valve/set`;
    const outcomeAfter = async (at: string, payload: string, retain: boolean, status = /./) => {
      const from = watcher.messages.length;
      await watcher.publish(at, payload, { retain });
      const isOutcome = (message: { topic: string; text: string }) => {
        if (message.topic !== 'sonic2mqtt/bridge/event') return false;
        const told = JSON.parse(message.text);
        return told.event === 'command' && told.topic === at && status.test(told.status);
      };
      return JSON.parse((await watcher.waitForMessage(isOutcome, { what: 'the outcome', from })).text);
    };
    // Until the new broker has marked a stored message, a live command may be one. A command that moves nothing shows when
    // that is over.
    const level = 'sonic2mqtt/bridge/log_level/set';
    while ((await outcomeAfter(level, 'info', false)).status !== 'ok') {}
    const moves = () => bridge.cloud.requests.count('command_valve');
    expect(await outcomeAfter(topic, 'CLOSE', true)).toMatchObject(refused({ topic }));
    expect(moves()).toBe(0);
    // The bridge may meet the retained one again where it reads what the broker keeps, and refuses it again.
    expect(await outcomeAfter(topic, 'CLOSE', false, /ok/)).toMatchObject({ topic });
    expect(moves()).toBe(1);
    expect((await program.stop()).code).toBe(0);
  });
});
