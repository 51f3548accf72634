import { describe, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { type House, startHouse } from '../support/house.ts';
import { temporaryFolder } from '../support/program.ts';
import { deletions, startShard, startShardHouse } from '../support/shardHouse.ts';
import { waitFor } from '../support/waitFor.ts';

const timeout = 60_000;

const small = { properties: 1, signals: 1, sonics: 1 };

function discoveryOf(sonicId: string): string {
  return `homeassistant/device/sonic2mqtt_${sonicId}/config`;
}

async function untilAnnounced({ watcher }: House, sonicId: string): Promise<void> {
  await waitFor(() => watcher.last.has(discoveryOf(sonicId)), { what: 'its devices', timeoutMs: 15_000 });
}

function reasonIn(text: string): string {
  return JSON.parse(text).reason ?? '';
}

describe('two bridges that were given one base topic', () => {
  it('for two accounts delete nothing of each other’s, and both say so', { timeout }, async () => {
    const house = await startHouse({ cloud: { seed: 1, ...small } });
    const { watcher } = house;
    const holidayCloud = new Simulator({ quiet: true, seed: 2, ...small });
    await holidayCloud.start();
    atTestEnd(() => holidayCloud.stop());
    const [home = ''] = house.simulator.world.sonics.ids;
    const [holiday = ''] = holidayCloud.world.sonics.ids;
    const first = house.bridge;
    await untilAnnounced(house, home);
    const second = house.startBridge({
      cloud: { base_url: holidayCloud.url, ...demoCredentials },
      mqtt: { client_id: 'second' },
      data_dir: temporaryFolder(),
    });
    await untilAnnounced(house, holiday);
    const words = 'another bridge publishes below sonic2mqtt/bridge too: each needs its own mqtt.base_topic';
    for (const bridge of [first, second]) await bridge.waitForOutput(new RegExp(`Not all is well: ${words}`));
    await watcher.waitForTopic('sonic2mqtt/bridge/health', (text) => reasonIn(text).includes(words));

    // Each publishes all of its own again, and looks at what the broker keeps.
    const told = watcher.messages.length;
    await watcher.publish('homeassistant/status', 'online');
    const isAgain = (id: string) =>
      watcher.messages.slice(told).some(({ topic }) => topic === `sonic2mqtt/sonic/${id}/homeassistant`);
    await waitFor(() => isAgain(home) && isAgain(holiday), { what: 'all of it again', timeoutMs: 10_000 });
    await first.stop();
    house.startBridge();
    const restarted = watcher.messages.length;
    const isBack = () => watcher.messages.slice(restarted).some(({ topic }) => topic === discoveryOf(home));
    await waitFor(isBack, { what: 'the first one again', timeoutMs: 15_000 });
    await house.bridge.waitForOutput(new RegExp(`Not all is well: ${words}`));

    const ofDevices = watcher.messages.filter(({ topic }) => topic.includes(home) || topic.includes(holiday));
    expect(ofDevices.filter(({ text }) => text === '').map(({ topic }) => topic)).toEqual([]);
  });

  it('as parts of one account with the same index say so', { timeout }, async () => {
    const house = await startShardHouse();
    const data_dir = temporaryFolder();
    const bridges = [
      startShard(house, 1, 2),
      startShard(house, 1, 2, { mqtt: { client_id: 'copied' }, data_dir }),
    ];
    const words =
      'another bridge publishes below sonic2mqtt/bridge_1 too: each needs its own mqtt.base_topic, or shard.index where they share an account';
    for (const bridge of bridges) {
      await bridge.waitForOutput(new RegExp(`Not all is well: .*${words}`), 15_000);
    }
    expect(deletions(house)).toEqual([]);
  });
});

describe('a bridge that was left running when the account was shared', () => {
  it('is named in the log of the others', { timeout }, async () => {
    const house = await startShardHouse();
    const forgotten = house.startBridge();
    await forgotten.waitForOutput(/Found properties: /, 15_000);
    const words =
      'bridge runs with shard.count 1, this one with 2: both may carry out a command for one device';
    for (const index of [0, 1]) {
      await startShard(house, index, 2).waitForOutput(new RegExp(`WARN: ${words}`), 15_000);
    }
  });
});
