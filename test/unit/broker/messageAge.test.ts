import { EventEmitter } from 'node:events';
import type { MqttClient } from 'mqtt';
import { expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { Pings } from '../../../src/broker/pings.ts';
import { openConnection, startEmbedded } from '../../support/brokers.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { waitFor } from '../../support/waitFor.ts';

it('a message was sent after the last ping that was answered, also where the machine has slept since', async () => {
  const { url } = await startEmbedded();
  const awake = new FakeClock();
  let sleptMs = 0;
  const clock: Clock = {
    now: () => awake.now(),
    monotonic: () => awake.monotonic() + sleptMs,
    after: (delayMs, callback) => awake.after(delayMs, callback),
  };
  const options = { protocolVersion: 4, subscriptions: ['set'], pingEveryMs: 1_000 } as const;
  const { connection, received } = openConnection(url, options, clock);
  await waitFor(() => connection.isConnected, { what: 'the connection' });
  const watcher = await watchTopics(url, 'none');
  const nextSentAfter = async () => {
    const count = received.length;
    await watcher.publish('set', 'OPEN');
    await waitFor(() => received.length > count, { what: 'the message' });
    return received.at(-1)?.sentAfter;
  };
  expect(await nextSentAfter()).toBe(0);
  awake.advance(1_000);
  await waitFor(async () => (await nextSentAfter()) === 1_000, { what: 'the answer to a ping' });
  sleptMs = 60_000;
  expect(await nextSentAfter()).toBe(1_000);
  awake.advance(1_000);
  // The machine sleeps once more between the ping and its answer: its sending is what counts.
  sleptMs = 65_000;
  await waitFor(async () => (await nextSentAfter()) === 62_000, { what: 'the answer to the next ping' });
});

it('the broker is gone if it leaves a ping unanswered and sends nothing for 15 seconds', () => {
  const clock = new FakeClock();
  const broker = { isAnswering: true, isSending: false };
  const client = Object.assign(new EventEmitter(), {
    sendPing: () => {
      client.emit('packetsend', { cmd: 'pingreq' });
      if (broker.isAnswering) client.emit('packetreceive', { cmd: 'pingresp' });
      else if (broker.isSending) client.emit('packetreceive', { cmd: 'publish' });
    },
  });
  let silences = 0;
  const pings = new Pings(client as unknown as MqttClient, 2_500, clock, () => {
    silences += 1;
  });
  pings.start();
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= 100) clock.advance(100);
  };
  pass(60_000);
  // Over a slow link, a long transfer keeps the answers back.
  Object.assign(broker, { isAnswering: false, isSending: true });
  pass(40_000);
  expect(silences).toBe(0);
  broker.isSending = false;
  pass(14_900);
  expect(silences).toBe(0);
  pass(300);
  expect(silences).toBe(1);
  pings.stop();
});

it('the oldest ping is the one that an answer is for, where several are unanswered', () => {
  const clock = new FakeClock();
  const client = Object.assign(new EventEmitter(), {
    sendPing: () => client.emit('packetsend', { cmd: 'pingreq' }),
  });
  const pings = new Pings(client as unknown as MqttClient, 60_000, clock, () => {});
  const heard: string[] = [];
  for (const name of ['first', 'second']) {
    clock.advance(1_000);
    pings.ask(() => heard.push(name));
  }
  clock.advance(1_000);
  const answer = () => {
    client.emit('packetreceive', { cmd: 'pingresp' });
    return [pings.sentAfter, ...heard];
  };
  expect(answer()).toEqual([1_000, 'first']);
  expect(answer()).toEqual([2_000, 'first', 'second']);
  pings.stop();
});
