import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Incident } from '../../src/model/records.ts';
import type { House } from '../support/house.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import {
  deletions,
  eventsOf,
  oneOf,
  ownerOf,
  startShard,
  startShardHouse,
  startShards,
  topicsOf,
  untilShared,
} from '../support/shardHouse.ts';
import { waitFor } from '../support/waitFor.ts';

/** Runs `cleanup` with the configuration of a bridge; what it says. */
async function cleanUp(house: House, index: number, count: number): Promise<string> {
  const program = startProgram(['cleanup'], { config: { ...house.config, shard: { index, count } } });
  expect((await program.ended()).code).toBe(0);
  return program.stdout;
}

/** Waits until the bridge of that index runs as one of so many. */
function untilOneOf({ watcher }: House, index: number, count: number): Promise<string> {
  const isSo = (text: string) => JSON.parse(text).configuration.shard.count === count;
  return watcher.waitForTopic(`sonic2mqtt/bridge_${index}/info`, isSo, 15_000);
}

// Each starts several programs.
vi.setConfig({ testTimeout: 60_000 });

/** Waits until another incident of the sonic was announced by the second of two: the one before was not, by either. */
async function untilOnlyNewsIsTold(house: House, before: Incident): Promise<void> {
  const { world } = house.simulator;
  const news = world.openIncident({ type: 'long_flow_alert', sonicId: before.sonic_id ?? '' });
  const told = () =>
    ['bridge_0', 'bridge_1'].flatMap((name) =>
      eventsOf(house, name, 'incident_opened').map(({ id }) => [name, id]),
    );
  await waitFor(() => told().length > 0, { what: 'the news', timeoutMs: 10_000 });
  await house.watcher.waitForTopic(`sonic2mqtt/incident/${before.id}`);
  expect(told()).toEqual([['bridge_1', news.id]]);
  for (const { id } of [before, news]) world.closeIncident(id);
}

const totalOf = (house: House, id: string) => house.json(`sonic/${id}/usage`)?.total;

// The bridges of one test end with it, and leave to the next what the broker keeps and what is on disk.
describe('the number of bridges', () => {
  let house: House;
  beforeAll(async () => {
    house = await startShardHouse();
  });

  it('grows from one to two: what the first had goes over, and nothing of it is deleted', async () => {
    const { world } = house.simulator;
    const isCounted = () => world.sonics.ids.every((id) => typeof totalOf(house, id) === 'number');
    const untilCounted = () => waitFor(isCounted, { what: 'the water of all', timeoutMs: 10_000 });
    const alone = startShard(house, 0, 1);
    await untilShared(house, 1);
    await untilCounted();
    const incident = world.openIncident({
      type: 'low_battery_level',
      sonicId: oneOf(house, 'bridge_1', 2),
    });
    const isOpened = () => eventsOf(house, 'bridge', 'incident_opened').length > 0;
    await waitFor(isOpened, { what: 'it to be announced', timeoutMs: 10_000 });
    const totals = world.sonics.ids.map((id) => totalOf(house, id));
    await alone.stop();
    await startShards(house, 2);
    await waitFor(() => topicsOf(house, 'bridge').length === 0, { what: 'the first to be tidied up' });
    await untilCounted();
    for (const [index, id] of world.sonics.ids.entries()) {
      expect(totalOf(house, id)).toBeGreaterThanOrEqual(totals[index]);
    }
    const folder = Object(house.config).data_dir;
    const kept = () => JSON.parse(readFileSync(join(folder, '1', 'state.json'), 'utf8')).announced;
    await waitFor(() => kept().includes(incident.id), { what: 'its new bridge to remember it' });
    await untilOnlyNewsIsTold(house, incident);
    expect(deletions(house)).toEqual([]);
  });

  it('grows from two to three, whichever is restarted first', async () => {
    const { world } = house.simulator;
    const [first, second] = await startShards(house, 2);
    await second?.stop();
    startShard(house, 1, 3);
    await untilOneOf(house, 1, 3);
    startShard(house, 2, 3);
    await untilOneOf(house, 2, 3);
    await first?.stop();
    startShard(house, 0, 3);
    await untilShared(house, 3);
    // Only the bridge that came has got anything.
    for (const id of world.properties.ids) {
      expect([ownerOf(world, id, 2), 'bridge_2']).toContain(ownerOf(world, id, 3));
    }
    expect(deletions(house)).toEqual([]);
  });

  it('grows where the new bridge comes last: what waits for it is unavailable, and there when it comes', async () => {
    const options = { stale_after: '1s' };
    const two = await startShards(house, 2);
    const sonic = oneOf(house, 'bridge_2', 3);
    const before = ownerOf(house.simulator.world, sonic, 2);
    const index = Number(before.slice('bridge_'.length));
    await two[index]?.stop();
    startShard(house, index, 3, options);
    const availability = `sonic2mqtt/sonic/${sonic}/availability`;
    await house.watcher.waitForTopic(availability, (text) => text === 'offline', 15_000);
    await two[1 - index]?.stop();
    for (const each of [1 - index, 2]) startShard(house, each, 3, options);
    await house.watcher.waitForTopic(availability, (text) => text === 'online', 15_000);
    await untilShared(house, 3);
    expect(deletions(house)).toEqual([]);
  });

  it('shrinks from three to two: only the device of the bridge that went goes, as soon as it has stopped', async () => {
    const three = await startShards(house, 3);
    for (const index of [0, 1]) {
      await three[index]?.stop();
      startShard(house, index, 2);
      await untilOneOf(house, index, 2);
    }
    await untilShared(house, 2, ['bridge_0', 'bridge_1', 'bridge_2']);
    expect(topicsOf(house, 'bridge_2')).toHaveLength(6);
    await three[2]?.stop();
    await waitFor(() => topicsOf(house, 'bridge_2').length === 0, { what: 'its topics to go' });
    await untilShared(house, 2);
    expect(deletions(house)).toEqual([]);
  });

  it('shrinks from three to two without a cleanup: the first bridge tidies up, once the other has stopped', async () => {
    const three = await startShards(house, 3);
    await Promise.all(three.map((bridge) => bridge.stop()));
    await startShards(house, 2);
    await waitFor(() => topicsOf(house, 'bridge_2').length === 0, { what: 'its topics to go' });
    expect(deletions(house)).toEqual([]);
  });

  it('shrinks to one, which has everything, and of which everything is cleaned up', async () => {
    const alone = startShard(house, 0, 1);
    await untilShared(house, 1);
    const others = () => ['bridge_0', 'bridge_1'].flatMap((name) => topicsOf(house, name));
    await waitFor(() => others().length === 0, { what: 'the topics of the others to go' });
    expect(deletions(house)).toEqual([]);
    await alone.stop();
    await cleanUp(house, 0, 1);
    const kept = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    expect([...kept.last.keys()]).toEqual([]);
  });
});

describe('bridges with folders of their own', () => {
  it('do not announce again what another has announced', async () => {
    const house = await startShardHouse();
    const { world } = house.simulator;
    const sonicId = oneOf(house, 'bridge_1', 2);
    const incident = world.openIncident({ type: 'low_battery_level', sonicId });
    const alone = startShard(house, 0, 1);
    const isOpened = () => eventsOf(house, 'bridge', 'incident_opened').length > 0;
    await waitFor(isOpened, { what: 'the announcement', timeoutMs: 15_000 });
    await alone.stop();
    startShard(house, 0, 2, { data_dir: temporaryFolder() });
    startShard(house, 1, 2, { data_dir: temporaryFolder() });
    await untilShared(house, 2);
    await untilOnlyNewsIsTold(house, incident);
  });
});

describe('a bridge that is none of those that share the account', () => {
  it('does not start', async () => {
    const config = { shard: { index: 2, count: 2 }, log: { level: 'error' } };
    const program = startProgram(['run'], { config });
    expect((await program.ended()).code).toBe(2);
    expect(program.stderr).toContain('must be from 0 to 1: shard.count is 2; got 2');
  });
});
