import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../support/waitFor.ts';
import {
  commandValve,
  expectState,
  household,
  importBlueprint,
  message,
  phone,
  restartHomeAssistant,
  sonicId,
  useBlueprint,
  useHousehold,
} from './blueprintHousehold.ts';
import { settled, startBridge } from './household.ts';

useHousehold();

describe('the blueprint for a valve that does not obey', () => {
  const failure = 'binary_sensor.kitchen_command_failed';
  const memory = 'homeassistant/sonic2mqtt/failures_told/valve_does_not_obey';

  /** Publishes a command as another program does, also while Home Assistant is away, and waits until it has failed. */
  async function failToClose(): Promise<void> {
    const topic = `sonic2mqtt/sonic/${sonicId()}`;
    const from = household.watcher.messages.length;
    household.cloud.setFaults([{ kind: 'error', value: 500, operation: 'command_valve' }]);
    await household.watcher.publish(`${topic}/valve/set`, 'CLOSE');
    // An earlier failed command is in the message, too, until this one has failed.
    const isIt = ({ topic: at, text }: { topic: string; text: string }) =>
      at === `${topic}/last_command` && JSON.parse(text).status === 'error';
    await household.watcher.waitForMessage(isIt, { what: 'the failed command', timeoutMs: 180_000, from });
    household.cloud.setFaults([]);
  }

  /** Waits until it has told of all, and had the time to tell of more. */
  async function expectMessages(from: number, texts: readonly RegExp[]): Promise<void> {
    let shown: unknown;
    const areThere = async () => {
      shown = (await household.home.states()).get(failure);
      return phone.messages.length - from >= texts.length;
    };
    await waitFor(areThere, {
      what: () => `${texts.length} messages, while Home Assistant shows ${JSON.stringify(shown)}`,
      timeoutMs: 180_000,
      intervalMs: 200,
    });
    await setTimeout(15_000);
    expect(phone.messages.slice(from).map(({ message }) => message)).toEqual(
      texts.map((text) => expect.stringMatching(text)),
    );
  }

  beforeAll(async () => {
    await importBlueprint('valve_does_not_obey.yaml');
    await commandValve('open');
    await useBlueprint('valve_does_not_obey', {
      failures: [failure, 'binary_sensor.garden_tap_command_failed'],
      phones: [phone.deviceId],
    });
  });

  test('tells of a command that the valve does not carry out', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (!valve) throw new Error('there is no valve');
    const from = phone.messages.length;
    valve.weak = true;
    // The household waits 90 seconds for a valve, and the message comes after them.
    await household.home.callService('valve', 'close_valve', 'valve.kitchen');
    await waitFor(async () => (await household.home.states()).get(failure)?.state === 'on', {
      what: 'the failed command',
      timeoutMs: 270_000,
    });
    const told = await message(/^Kitchen: Command failed$/, from);
    expect(told.message).toMatch(/^Kitchen did not close\. Look at the valve/);
    valve.weak = false;
    await household.watcher.waitForTopic(memory);
  });

  test('tells of the next one that fails, once', async () => {
    const from = phone.messages.length;
    await failToClose();
    await expectMessages(from, [/^The command to close Kitchen failed\./]);
  });

  test.each([
    ['Home Assistant', () => restartHomeAssistant()],
    [
      'the bridge',
      async () => {
        await household.program.stop();
        await expectState(failure, 'unavailable');
        household.program = startBridge(household.cloud, household.broker, household.program.cwd);
      },
    ],
  ])('does not tell of it again after a restart of %s', async (_, restart) => {
    const from = phone.messages.length;
    await restart();
    await expectState(failure, 'on');
    await expectMessages(from, []);
  });

  test('tells of one that failed while Home Assistant was away', async () => {
    const from = phone.messages.length;
    await restartHomeAssistant(failToClose);
    await expectMessages(from, [/^The command to close Kitchen failed\./]);
  });

  test('is done with it when the valve obeys', async () => {
    const notifications = async () =>
      z
        .array(z.object({ notification_id: z.string() }))
        .parse(await household.home.ask('persistent_notification/get'))
        .map(({ notification_id }) => notification_id);
    expect(await notifications()).toContain(failure);
    const from = phone.messages.length;
    await commandValve('close');
    await expectState(failure, 'off');
    const cleared = () => phone.messages.slice(from).some((each) => each.message === 'clear_notification');
    await waitFor(cleared, { what: 'the phone to forget its message' });
    const left = async () => (await notifications()).filter((id) => id === failure);
    expect(await settled(left)).toEqual([]);
    await household.home.callService('automation', 'turn_off', 'automation.valve_does_not_obey');
  });
});

test('Home Assistant complains about nothing', async () => {
  expect(await household.home.complaints()).toEqual([]);
});
