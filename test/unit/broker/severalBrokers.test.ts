import { describe, expect, it } from 'vitest';
import {
  brokerKinds,
  connected,
  openConnection,
  startEmbedded,
  startRefusing,
} from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { freePort } from '../../support/ports.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { waitFor } from '../../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());
const live = { retain: false } as const;
const refused = 'connection refused. Check the broker and its port';

/** An address at which nobody is. */
const nowhere = async () => `mqtt://127.0.0.1:${await freePort()}`;

/** An embedded broker behind a way that can be cut. */
async function startWay() {
  const { url: brokerUrl, port } = await startEmbedded();
  const way = await startTcpProxy(port);
  return { way, brokerUrl, url: `mqtt://127.0.0.1:${way.port}` };
}

describe('a connection with several addresses', () => {
  it('goes on to the next at once where one is away, and says which', async () => {
    const away = await nowhere();
    const { url } = await startEmbedded();
    const opened = await connected([away, url], { protocolVersion: 4 });
    expect(opened.events).toEqual([`failed: ${refused}`, 'connected']);
    expect(opened.waits).toBe(0);
    expect(opened.lines.messages).toEqual([
      `warn: MQTT broker: ${away}: ${refused}. Retrying`,
      expect.stringMatching(/^info: MQTT broker: works again after .* \(1 failed attempts\)$/),
      `info: Connected to the MQTT broker ${url} (MQTT 3.1.1)`,
    ]);
  });

  it('waits only once each was tried, and names each once for as long as all are away', async () => {
    const urls = [await nowhere(), await nowhere(), await nowhere()];
    const opened = openConnection(urls);
    await waitFor(() => opened.waits === 3, { what: 'three rounds' });
    expect(opened.events.length).toBe(9);
    expect(opened.lines.messages).toEqual(
      urls.map((url) => `warn: MQTT broker: ${url}: ${refused}. Retrying`),
    );
  });

  it('goes on at once when it is lost, and stays where it works', async () => {
    const [first, second] = [await startWay(), await startWay()];
    const opened = await connected([first.url, second.url], { protocolVersion: 4, subscriptions: ['set'] });
    const isUsed = (way: { brokerUrl: string }, text: string) => async () => {
      const watcher = await watchTopics(way.brokerUrl, 'state');
      await watcher.close();
      return watcher.last.get('state') === text;
    };
    const back = (times: number) =>
      waitFor(() => opened.events.filter((each) => each === 'connected').length === times, {
        what: 'the connection to be back',
      });
    first.way.cut();
    await back(2);
    expect(opened.waits).toBe(0);
    expect(opened.events).toEqual(['connected', 'disconnected', 'connected']);
    first.way.repair();
    const { connectionCount } = first.way;
    await opened.connection.publish('state', 'on the second', { retain: true });
    await waitFor(isUsed(second, 'on the second'), { what: 'the message' });
    const somebody = await watchTopics(second.brokerUrl, 'none');
    await somebody.publish('set', 'a command there');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
    expect(first.way.connectionCount).toBe(connectionCount);

    second.way.cut();
    await back(3);
    await opened.connection.publish('state', 'on the first', { retain: true });
    await waitFor(isUsed(first, 'on the first'), { what: 'the message' });
    expect(opened.received.map(({ payload }) => payload)).toEqual(['a command there']);
  });

  onMosquitto('speaks with each as well as that one can', async () => {
    const old = await startWay();
    const { url, port } = await startMosquitto();
    const modern = await startTcpProxy(port);
    const opened = await connected([old.url, `mqtt://127.0.0.1:${modern.port}`]);
    old.way.cut();
    await waitFor(() => opened.lines.text.includes('(MQTT 5)'), { what: 'MQTT 5' });
    const watcher = await watchTopics(url, 'answer', { protocolVersion: 5 });
    await opened.connection.publish('answer', 'x', { ...live, correlationData: Buffer.from('17') });
    const answer = await watcher.waitForMessage(() => true, { what: 'the answer' });
    expect(String(answer.properties?.correlationData)).toBe('17');
    old.way.repair();
    modern.cut();
    await waitFor(() => opened.events.filter((each) => each === 'connected').length === 3, {
      what: 'the old one again',
    });
    expect(opened.events.filter((each) => each.startsWith('failed'))).toEqual([]);
  });

  onMosquitto(
    'takes a user and a password from each, and else from the options, and tells none',
    async () => {
      const own = await startMosquitto({ password: { user: 'own-user', password: 'own-secret' } });
      const shared = await startMosquitto({ password: { user: 'shared-user', password: 'shared-secret' } });
      const proxy = await startTcpProxy(own.port);
      const opened = await connected([`mqtt://own-user:own-secret@127.0.0.1:${proxy.port}`, shared.url], {
        username: 'shared-user',
        password: async () => 'shared-secret',
      });
      expect(opened.events).toEqual(['connected']);
      proxy.cut();
      await waitFor(() => opened.events.at(-1) === 'connected' && opened.events.length > 1, {
        what: 'the second',
      });
      expect(opened.events).toEqual(['connected', 'disconnected', 'connected']);
      expect(opened.lines.text).not.toMatch(/own-|shared-/);
    },
  );

  it('goes on where a node takes no subscriptions, as one without a quorum', async () => {
    const refusing = await startRefusing(() => true);
    const { url } = await startEmbedded();
    const options = { protocolVersion: 4, subscriptions: ['set', 'other'] } as const;
    const opened = await connected([refusing, url], options);
    expect(opened.waits).toBe(0);
    expect(opened.events).toEqual([
      expect.stringMatching(/^failed: the broker rejects a subscription: set, other: /),
      'connected',
    ]);
    const somebody = await watchTopics(url, 'none');
    await somebody.publish('set', 'heard');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
  });

  it('takes a node that takes no subscriptions that are acknowledged, as while another is missing', async () => {
    const url = await startRefusing(({ qos }) => qos === 1);
    const opened = await connected(url, { protocolVersion: 4, subscriptions: ['set'] });
    expect(opened.events).toEqual(['connected']);
    const somebody = await watchTopics(url, 'none');
    await somebody.publish('set', 'heard');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
  });

  it('that is pushed out by another of its name does not come back without waits', async () => {
    const { url, port } = await startEmbedded();
    const urls = [url, `mqtt://localhost:${port}`];
    const opened = [0, 1].map(() => openConnection(urls, { protocolVersion: 4 }));
    const connections = () =>
      opened.map(({ events }) => events.filter((each) => each === 'connected').length);
    await waitFor(() => Math.min(...connections()) >= 4, { what: 'them to push each other out' });
    for (const [index, count] of connections().entries()) {
      expect(opened[index]?.waits).toBeGreaterThanOrEqual(Math.floor((count - 1) / 2));
    }
  });
});

describe.each(brokerKinds)('on $name, a connection', ({ isInstalled, protocolVersion, start }) => {
  it.skipIf(!isInstalled)('hears when its own last will is published while it lives', async () => {
    const { url } = await start();
    const watcher = await watchTopics(url, 'state');
    await watcher.publish('state', 'offline', { retain: true });
    const will = { topic: 'state', payload: 'offline' };
    const opened = await connected(url, { protocolVersion, will, subscriptions: ['set'] });
    await opened.connection.publish('state', 'online', { retain: true });
    await watcher.publish('set', 'the end of what was kept');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
    // What the broker had kept is of the connection before, and the rest is its own.
    expect(opened.events).toEqual(['connected']);
    await watcher.publish('state', 'offline', { retain: true });
    await waitFor(() => opened.events.length > 1, { what: 'the news of its death' });
    expect(opened.events).toEqual(['connected', 'will published']);
    expect(opened.received.map(({ topic }) => topic)).toEqual(['set']);
  });
});

it.each([[['state']], [['info']], [['state', 'info']]])(
  'a connection that may not read its own %j goes without',
  async (refused) => {
    const refusing = await startRefusing(({ topic }) => refused.includes(topic));
    const will = { topic: 'state', payload: 'offline' };
    const options = { protocolVersion: 4, will, overheard: ['info'], subscriptions: ['set'] } as const;
    const opened = await connected(refusing, options);
    const somebody = await watchTopics(refusing, 'none');
    await somebody.publish('set', 'heard');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
    expect(opened.events).toEqual(['connected']);
  },
);
