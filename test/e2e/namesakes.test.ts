import { describe, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { type House, startHouse } from '../support/house.ts';
import { temporaryFolder } from '../support/program.ts';
import { deletions, oneOf, startShard, startShardHouse, untilShared } from '../support/shardHouse.ts';
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
    const words = 'another bridge publishes below sonic2mqtt/bridge too';
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
      'another bridge publishes below sonic2mqtt/bridge_1 too. No valve is moved. Each needs its own mqtt.base_topic, or shard.index where they share an account';
    for (const bridge of bridges) {
      await bridge.waitForOutput(new RegExp(`Not all is well: .*${words}`), 15_000);
    }
    expect(deletions(house)).toEqual([]);
  });
});

/** What became of the valve commands so far, by the bridge that tells of it. */
function outcomes({ watcher }: House): [bridge: string, status: unknown, reason: unknown][] {
  return watcher.messages.flatMap(({ topic, text }) => {
    const [, bridge = '', path] = topic.split('/');
    const { event, status, reason } = path === 'event' ? JSON.parse(text) : {};
    return event === 'command' ? [[bridge, status, reason]] : [];
  });
}

/** Asks for a valve to be closed, and waits for so many outcomes. */
async function closeValve(house: House, sonicId: string, count: number) {
  const before = outcomes(house).length;
  await house.watcher.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE');
  const told = () => outcomes(house).slice(before);
  await waitFor(() => told().length === count, { what: 'the outcomes' });
  return told();
}

const isWell = (text: string) => JSON.parse(text).status === 'ok';

describe('two bridges of one account at one base topic', () => {
  it('move no valve and say why, until one of them has gone', { timeout }, async () => {
    const house = await startHouse({ cloud: small });
    const { watcher, bridge: first } = house;
    const [sonic = ''] = house.simulator.world.sonics.ids;
    const info = 'sonic2mqtt/bridge/info';
    await untilAnnounced(house, sonic);
    const second = house.startBridge({ mqtt: { client_id: 'second' }, data_dir: temporaryFolder() });
    const words = 'another bridge publishes below sonic2mqtt/bridge too. No valve is moved.';
    for (const each of [first, second]) await each.waitForOutput(new RegExp(`Not all is well: ${words}`));
    await second.waitForOutput(/Found properties: /, 15_000);
    const reason = expect.stringContaining(words);
    expect(await closeValve(house, sonic, 2)).toEqual(Array(2).fill(['bridge', 'refused', reason]));
    const request = 'sonic2mqtt/bridge/request/start_pressure_test';
    const payload = JSON.stringify({ params: { thing_id: sonic }, body: { source: 'manual' } });
    const before = outcomes(house).length;
    await watcher.publish(request, payload);
    await waitFor(() => outcomes(house).length === before + 2, { what: 'the refusals of the test' });
    expect(outcomes(house).slice(before)).toEqual(Array(2).fill(['bridge', 'refused', reason]));

    // The broker tells of it, by its last will.
    await second.stop('SIGKILL');
    await first.waitForOutput(/Everything works/, 15_000);
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    expect(await closeValve(house, sonic, 1)).toEqual([['bridge', 'ok', null]]);

    // Its own predecessor, which the broker takes for running, is in nobody's way.
    const told = watcher.messages.length;
    await first.stop('SIGKILL');
    const third = house.startBridge();
    await waitFor(() => watcher.messages.slice(told).some(({ topic }) => topic === info), {
      what: 'its info',
    });
    await third.waitForOutput(/Found properties: /, 15_000);
    expect(await closeValve(house, sonic, 1)).toEqual([['bridge', 'ok', null]]);
    expect(house.simulator.requests.count('command_valve')).toBe(2);
    expect(house.simulator.requests.count('start_pressure_test')).toBe(0);
  });
});

describe('a bridge that was left running when the account was shared', () => {
  it('stops the valves of all, and is named by the others, until it has gone', { timeout }, async () => {
    const house = await startShardHouse();
    const { watcher } = house;
    const forgotten = house.startBridge();
    await forgotten.waitForOutput(/Found properties: /, 15_000);
    const shards = [0, 1].map((index) => startShard(house, index, 2));
    const words = 'bridge runs with shard.count 1, this one with 2. No valve is moved.';
    for (const shard of shards) await shard.waitForOutput(new RegExp(`Not all is well: .*${words}`), 15_000);
    await forgotten.waitForOutput(/Not all is well: .*bridge_\d runs with shard.count 2, this one with 1/);
    const sonic = oneOf(house, 'bridge_1', 2);
    await untilShared(house, 2, ['bridge', 'bridge_0', 'bridge_1']);
    const told = await closeValve(house, sonic, 2);
    expect(told.map(([bridge, status]) => [bridge, status]).toSorted()).toEqual([
      ['bridge', 'refused'],
      ['bridge_1', 'refused'],
    ]);
    expect(told.find(([bridge]) => bridge === 'bridge_1')?.[2]).toContain(words);
    await forgotten.stop();
    for (const index of [0, 1]) await watcher.waitForTopic(`sonic2mqtt/bridge_${index}/health`, isWell);
    expect(await closeValve(house, sonic, 1)).toEqual([['bridge_1', 'ok', null]]);
    expect(house.simulator.requests.count('command_valve')).toBe(1);
  });
});
