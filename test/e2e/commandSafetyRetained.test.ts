import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  changesAt,
  changingCommands,
  fence,
  houseForCommands,
  outcomes,
  ownCommands,
  type SafetyCommand,
  slow,
} from '../support/commandTable.ts';
import { type House, hourly } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { waitFor } from '../support/waitFor.ts';

const refused = ({ topic }: SafetyCommand) => ({
  topic,
  status: 'refused',
  reason: expect.stringMatching(/^a retained command would be carried out again at each restart/),
  http_status: null,
});
const byTopic = (left: { topic: string }, right: { topic: string }) => left.topic.localeCompare(right.topic);

describe.skipIf(!mosquittoAvailable()).each([5, 4])(
  'with MQTT version %i a command of any kind that is retained',
  slow,
  (protocol_version) => {
    let house: House;
    let commands: SafetyCommand[];
    beforeAll(async () => {
      house = await houseForCommands({ config: { schedules: hourly, mqtt: { protocol_version } } });
      // What is taken without a word is refused too.
      commands = [...changingCommands(house), ...ownCommands].map((command) => ({
        ...command,
        payload: command.payload || 'PRESS',
      }));
    });
    afterAll(async () => {
      await house.bridge.stop();
      await house.broker.stop();
      await house.simulator.stop();
    });

    /** What is kept at each topic; nothing deletes it. */
    const retain = (word?: '') =>
      Promise.all(
        commands.map(({ topic, payload }) => house.watcher.publish(topic, word ?? payload, { retain: true })),
      );

    it.runIf(protocol_version === 5)('is refused where it comes live', async () => {
      for (const { topic, payload } of commands)
        await house.watcher.publish(topic, payload, { retain: true });
      await waitFor(() => outcomes(house).length >= commands.length, {
        what: 'the refusals',
        timeoutMs: 20_000,
      });
      await fence(house);
      expect(outcomes(house)).toEqual(commands.map(refused));
      expect(changesAt(house)).toEqual([]);
    });

    it('is refused at the start where the broker has kept it, until it is deleted', async () => {
      await house.bridge.stop();
      for (const { topic, payload } of commands)
        await house.watcher.publish(topic, payload, { retain: true });
      const before = outcomes(house).length;
      house.startBridge();
      await waitFor(() => outcomes(house).length >= before + commands.length, {
        what: 'the refusals',
        timeoutMs: 20_000,
      });
      await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online', 20_000);
      await fence(house);
      expect(outcomes(house).slice(before).sort(byTopic)).toEqual(commands.map(refused).sort(byTopic));
      expect(changesAt(house)).toEqual([]);
      await retain('');
      const [valve] = commands;
      await fence(house);
      const told = outcomes(house).length;
      expect(changesAt(house)).toEqual([]);
      await house.watcher.publish(valve?.topic ?? '', 'CLOSE');
      await waitFor(() => outcomes(house).length > told, {
        what: 'the outcome',
        timeoutMs: 20_000,
      });
      expect(outcomes(house).at(-1)).toEqual({
        topic: valve?.topic,
        status: 'ok',
        reason: null,
        http_status: 200,
      });
      expect(changesAt(house).map(({ operation }) => operation)).toEqual(['command_valve']);
    });
  },
);
