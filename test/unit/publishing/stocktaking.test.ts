import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { topicsUnder } from '../../../src/homeassistant/topics.ts';
import { wholeAccount } from '../../../src/model/shard.ts';
import { Stocktaking } from '../../../src/publishing/stocktaking.ts';
import { connected, startEmbedded } from '../../support/brokers.ts';
import { type Script, startScriptedBroker } from '../../support/scriptedBroker.ts';
import { waitFor } from '../../support/waitFor.ts';

const topics = topicsUnder('sonic2mqtt', 'homeassistant');

/** A broker that can be told to hang up on whoever asks what it keeps, and a clock that can be set forward. */
async function startStocktaking() {
  const broker = await startScriptedBroker((await startEmbedded()).url);
  const { connection, lines, happenings } = await connected(broker.url);
  await connection.publish('sonic2mqtt/sonic/old', '{}', { retain: true });
  let laterMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
  const found: (readonly string[] | null)[] = [];
  const stocktaking = new Stocktaking({
    connection,
    topics,
    shard: wholeAccount,
    taken: (inventory) => found.push(inventory?.states() ?? null),
    clock,
    log: lines.log,
  });
  let isLenient = false;
  let asked = 0;
  const fromClient: Script['fromClient'] = (packet, way) => {
    const isAsking = packet.cmd === 'subscribe';
    if (isAsking) asked += 1;
    if (isAsking && !isLenient) way.hangUp();
    return isAsking && !isLenient;
  };
  broker.play({ fromClient });
  const connections = () => happenings.filter((each) => each === 'connected').length;
  return {
    stocktaking,
    lines,
    found,
    get asked() {
      return asked;
    },
    /** Takes the inventory, and waits for the next connection where that costs this one. */
    async take() {
      const [before, askedBefore] = [connections(), asked];
      await stocktaking.take();
      const isHungUp = asked > askedBefore && !isLenient;
      await waitFor(() => connection.isConnected && connections() > before - (isHungUp ? 0 : 1), {
        what: 'a connection',
      });
    },
    pass(ms: number) {
      laterMs += ms;
    },
    relent() {
      isLenient = true;
    },
  };
}

it('a broker that hangs up three times on whoever asks what it keeps is spared, and asked again after an hour', async () => {
  const house = await startStocktaking();
  for (let times = 0; times < 5; times++) await house.take();
  expect({ asked: house.asked, found: house.found }).toEqual({ asked: 3, found: [null] });
  house.pass(3_599_000);
  await house.take();
  expect(house.asked).toBe(3);
  house.pass(2_000);
  for (let times = 0; times < 3; times++) await house.take();
  expect({ asked: house.asked, found: house.found }).toEqual({ asked: 4, found: [null, null] });
  expect(house.lines.messages.filter((line) => line.includes('cannot be read'))).toHaveLength(1);
  house.pass(3_601_000);
  house.relent();
  await house.take();
  expect(house.found).toEqual([null, null, ['sonic2mqtt/sonic/old']]);
});

it('a broker that was away for a while is asked at each return', async () => {
  const house = await startStocktaking();
  for (let times = 0; times < 2; times++) await house.take();
  expect(house.found).toEqual([]);
  house.relent();
  for (let times = 0; times < 4; times++) await house.take();
  expect(house.asked).toBe(6);
  expect(house.found).toEqual(Array.from({ length: 4 }, () => ['sonic2mqtt/sonic/old']));
});
