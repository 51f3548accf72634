import { describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/broker/connection.ts';
import { NotConnectedError } from '../../../src/broker/notConnectedError.ts';
import { Retained } from '../../../src/broker/retained.ts';
import { brokerKinds, connected, startEmbedded } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../../support/mqttWatcher.ts';
import { settle } from '../../support/passTime.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { waitFor } from '../../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());

/** What is retained on a broker, a connection to it and someone who watches. */
async function startRetained(url: string, watched = url, protocolVersion: 4 | 5 = 4) {
  const opened = await connected(url, { protocolVersion });
  const watcher = await watchTopics(watched, '#');
  return { ...opened, watcher, retained: new Retained(opened.connection, opened.lines.log) };
}

/** What came on the watched topics, as `topic=payload`. */
const seen = (watcher: MqttWatcher) => watcher.messages.map(({ topic, text }) => `${topic}=${text}`);

/** A connection of which only this is used here. */
function connectionOf(publish: (topic: string, payload: string) => Promise<void>): Connection {
  return { isConnected: true, publish, forgetRefusedEvents: () => {} } as unknown as Connection;
}

/** Waits until the watcher has seen all that was published before. */
async function caughtUp(watcher: MqttWatcher): Promise<void> {
  const end = `end-${performance.now()}`;
  await watcher.publish('end', end);
  await waitFor(() => watcher.messages.at(-1)?.text === end, { what: 'the end' });
}

describe.each(brokerKinds)('on $name, retained messages', ({ isInstalled, protocolVersion, start }) => {
  const here = it.skipIf(!isInstalled);

  here('are published when they change, and only then', async () => {
    const { url } = await start();
    const { retained, watcher } = await startRetained(url, url, protocolVersion);
    retained.put('a', '1');
    retained.put('a', '1');
    retained.put('a', '2');
    retained.put('b', '2');
    retained.put('a', '2');
    await retained.waitForAnswers();
    await caughtUp(watcher);
    expect(seen(watcher).slice(0, -1)).toEqual(['a=1', 'a=2', 'b=2']);
    const late = await watchTopics(url, '#');
    expect([...late.last]).toEqual(
      expect.arrayContaining([
        ['a', '2'],
        ['b', '2'],
      ]),
    );
  });

  here('arrive to the letter, short or long, in any script', async () => {
    const { url } = await start();
    const { retained, watcher } = await startRetained(url, url, protocolVersion);
    const text = 'Küche – 台所 – 🚰 – ';
    for (const times of [1, 400, 600, 5_000]) retained.put(`many/${times}`, text.repeat(times));
    await retained.waitForAnswers();
    await caughtUp(watcher);
    for (const times of [1, 400, 600, 5_000]) {
      expect(watcher.last.get(`many/${times}`) === text.repeat(times), `${times} times`).toBe(true);
    }
  });

  here('are all published again once they are forgotten', async () => {
    const { url } = await start();
    const { retained, watcher } = await startRetained(url, url, protocolVersion);
    retained.put('a', '1');
    retained.put('b', '1');
    await retained.waitForAnswers();
    retained.markAllUnknown();
    expect(retained.has('a', '1')).toBe(false);
    retained.put('a', '1');
    await retained.waitForAnswers();
    await caughtUp(watcher);
    expect(seen(watcher).slice(0, -1)).toEqual(['a=1', 'b=1', 'a=1']);
    expect(retained.unknownTopics()).toEqual(['b']);
  });

  here('are deleted once, however often that is asked for before the broker has answered', async () => {
    const { url } = await start();
    const { retained, watcher } = await startRetained(url, url, protocolVersion);
    retained.put('a', '1');
    retained.clear('a');
    retained.clear('a');
    retained.put('a', '2');
    retained.clear('a');
    await retained.waitForAnswers();
    await caughtUp(watcher);
    expect(seen(watcher).slice(0, -1)).toEqual(['a=1', 'a=', 'a=2', 'a=']);
  });

  here('are deleted where they are or may be, and nowhere else', async () => {
    const { url } = await start();
    const { retained, watcher } = await startRetained(url, url, protocolVersion);
    await watcher.publish('stale', 'old', { retain: true });
    retained.found('stale');
    retained.put('own', '1');
    expect(retained.unknownTopics()).toEqual(['stale']);
    for (const topic of ['own', 'stale', 'never']) retained.clear(topic);
    await retained.waitForAnswers();
    for (const topic of ['own', 'stale', 'never']) retained.clear(topic);
    await caughtUp(watcher);
    expect(seen(watcher).slice(0, -1).toSorted()).toEqual(['own=', 'own=1', 'stale=', 'stale=old']);
    expect(retained.unknownTopics()).toEqual([]);
    expect((await watchTopics(url, '#')).last.size).toBe(0);
  });
});

describe('retained messages', () => {
  it('that were found on the broker are stale until they are put', async () => {
    const { retained } = await startRetained((await startEmbedded()).url);
    retained.found('a');
    retained.put('b', '1');
    retained.found('b');
    expect([retained.isKnown('a'), retained.isKnown('b'), retained.isKnown('c')]).toEqual([
      false,
      true,
      false,
    ]);
    expect(retained.unknownTopics()).toEqual(['a']);
    retained.put('a', '1');
    expect(retained.unknownTopics()).toEqual([]);
    expect([retained.has('a', '1'), retained.has('a', '2'), retained.has('c', '1')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('that are put, deleted and put again in one go end as they were put last', async () => {
    const { url } = await startEmbedded();
    const { retained } = await startRetained(url);
    retained.put('a', '1');
    retained.clear('a');
    retained.put('a', '2');
    await retained.waitForAnswers();
    expect(retained.has('a', '2')).toBe(true);
    expect((await watchTopics(url, 'a')).last.get('a')).toBe('2');
  });

  it('that a broker does not take leave what it had before, and those to be deleted stay to be deleted', async () => {
    const publish = () => Promise.reject(new Error('packet too large'));
    const lines = logLines('info');
    const retained = new Retained(connectionOf(publish), lines.log);
    for (const topic of ['wanted', 'unwanted']) retained.found(topic);
    for (let times = 0; times < 2; times++) {
      retained.put('wanted', 'x');
      retained.clear('unwanted');
      await retained.waitForAnswers();
    }
    expect(retained.unknownTopics()).toEqual(['unwanted']);
    expect(lines.messages).toEqual([
      'warn: The MQTT broker rejected wanted: packet too large',
      'warn: The MQTT broker rejected unwanted: packet too large',
    ]);
  });

  it('that a broker has never taken are nothing to delete, once they are not wanted or in one go', async () => {
    const published: string[] = [];
    const publish = (topic: string, payload: string) => {
      published.push(`${topic}=${payload}`);
      return Promise.reject(new Error('Not authorized'));
    };
    const retained = new Retained(connectionOf(publish), logLines().log);
    retained.put('incident/1', 'x');
    await retained.waitForAnswers();
    expect([retained.refusal !== null, retained.size]).toEqual([true, 0]);
    retained.clear('incident/1');
    await retained.waitForAnswers();
    expect(published).toEqual(['incident/1=x']);
    retained.put('incident/2', 'x');
    retained.clear('incident/2');
    await retained.waitForAnswers();
    expect([retained.refusal !== null, retained.size]).toEqual([false, 0]);
    expect(retained.unknownTopics()).toEqual([]);
  });

  it('of which a broker refuses the deletion are refused until it takes that', async () => {
    let isFull = false;
    const publish = () => (isFull ? Promise.reject(new Error('quota exceeded')) : Promise.resolve());
    const retained = new Retained(connectionOf(publish), logLines().log);
    const clear = async (topic: string) => {
      retained.clear(topic);
      await retained.waitForAnswers();
    };
    retained.put('own', 'x');
    await retained.waitForAnswers();
    isFull = true;
    for (let times = 0; times < 2; times++) {
      await clear('own');
      expect(retained.refusal).toMatchObject({ topic: 'own' });
      retained.markAllUnknown();
    }
    isFull = false;
    await clear('own');
    expect(retained.refusal).toBeNull();
  });

  it('that a broker may have, although it takes them no more, stay to be deleted', async () => {
    let answer = () => Promise.resolve();
    const retained = new Retained(
      connectionOf(() => answer()),
      logLines().log,
    );
    retained.put('taken', 'x');
    await retained.waitForAnswers();
    answer = () => Promise.reject(new NotConnectedError());
    retained.put('lost', 'x');
    await retained.waitForAnswers();
    answer = () => Promise.reject(new Error('Not authorized'));
    retained.put('found', 'x');
    retained.found('found');
    await retained.waitForAnswers();
    for (const topic of ['taken', 'lost', 'found']) retained.put(topic, 'y');
    for (const topic of ['taken', 'lost', 'found']) retained.clear(topic);
    await retained.waitForAnswers();
    expect(retained.unknownTopics()).toEqual(['taken', 'lost', 'found']);
  });

  it('that a broker has refused are stale all the same once nothing is to be there', async () => {
    let answer = () => Promise.resolve();
    const retained = new Retained(
      connectionOf(() => answer()),
      logLines().log,
    );
    for (const topic of ['wanted', 'stale']) retained.put(topic, 'online');
    await retained.waitForAnswers();
    answer = () => Promise.reject(new Error('Not authorized'));
    for (const topic of ['wanted', 'stale', 'new']) retained.put(topic, 'offline');
    await retained.waitForAnswers();
    for (const topic of ['stale', 'new']) retained.markStale(topic);
    expect([retained.unknownTopics(), retained.refusal?.topic]).toEqual([['stale'], 'wanted']);
    answer = () => Promise.resolve();
    retained.put('wanted', 'offline');
    retained.clear('stale');
    await retained.waitForAnswers();
    expect([retained.unknownTopics(), retained.refusal]).toEqual([[], null]);
  });

  it('that a broker refuses are logged up to the tenth, and count as refused until it accepts them', async () => {
    let isFull = true;
    const publish = () => (isFull ? Promise.reject(new Error('quota exceeded')) : Promise.resolve());
    const lines = logLines('info');
    const retained = new Retained(connectionOf(publish), lines.log);
    for (const topic of Array.from({ length: 30 }, (_, index) => `many/${index}`)) {
      retained.put(topic, 'x');
    }
    await retained.waitForAnswers();
    expect(lines.messages).toHaveLength(10);
    expect(lines.messages.at(-1)).toBe(
      'warn: The MQTT broker rejected many/9: quota exceeded. Further ones are logged at level debug',
    );
    expect(retained.refusal).not.toBeNull();
    isFull = false;
    for (const topic of Array.from({ length: 30 }, (_, index) => `many/${index}`)) {
      retained.put(topic, 'x');
    }
    await retained.waitForAnswers();
    expect(retained.refusal).toBeNull();
  });

  it('are not swept where one was refused, though an earlier one is taken only afterwards', async () => {
    const answers: ((error?: Error) => void)[] = [];
    const publish = () =>
      new Promise<void>((resolve, reject) => {
        answers.push((error) => (error ? reject(error) : resolve()));
      });
    const retained = new Retained(connectionOf(publish), logLines('info').log);
    for (const payload of ['x', 'y']) retained.put('state', payload);
    answers[1]?.(new Error('quota exceeded'));
    await settle();
    answers[0]?.();
    await retained.waitForAnswers();
    expect([retained.refusal !== null, retained.unknownTopics()]).toEqual([true, []]);
  });

  onMosquitto('wait for acknowledgements when there are many, so that memory is bounded', async () => {
    const mosquitto = await startMosquitto();
    const { connection, lines } = await connected(mosquitto.url);
    const retained = new Retained(connection, lines.log);
    await mosquitto.kill('SIGSTOP');
    let passes = 0;
    const passing = (async () => {
      for (; passes < 100; passes++) {
        await retained.waitForRoom();
        retained.put(`many/${passes}`, 'x');
      }
    })();
    await settle();
    expect(passes).toBe(64);
    await mosquitto.kill('SIGCONT');
    await passing;
    await retained.waitForAnswers();
    expect(retained.has('many/99', 'x')).toBe(true);
  });

  it('all arrive, however many there are', async () => {
    const { url } = await startEmbedded();
    const { retained, watcher } = await startRetained(url);
    for (let index = 0; index < 500; index++) retained.put(`many/${index}`, 'x');
    await retained.waitForAnswers();
    await caughtUp(watcher);
    expect(watcher.last.size).toBe(501);
  });

  it('are not published, queued or taken for published while the broker is away', async () => {
    const { url, port } = await startEmbedded();
    const proxy = await startTcpProxy(port);
    const { retained, connection, watcher, lines } = await startRetained(
      `mqtt://127.0.0.1:${proxy.port}`,
      url,
    );
    retained.put('a', '1');
    await retained.waitForAnswers();
    proxy.cut();
    await waitFor(() => !connection.isConnected, { what: 'the loss to be noticed' });
    retained.put('a', 'while away');
    retained.put('new', 'while away');
    retained.clear('a');
    expect([retained.has('a', '1'), retained.has('new', 'while away')]).toEqual([true, false]);
    expect(retained.unknownTopics()).toEqual([]);
    proxy.repair();
    await waitFor(() => connection.isConnected, { what: 'the connection to be back' });
    retained.put('a', '2');
    await retained.waitForAnswers();
    await caughtUp(watcher);
    expect(seen(watcher).slice(0, -1)).toEqual(['a=1', 'a=2']);
    expect(lines.text).not.toContain('did not take');
  });

  onMosquitto('that are lost on their way are unknown, without a line for each', async () => {
    const mosquitto = await startMosquitto();
    const { connection, lines } = await connected(mosquitto.url);
    const retained = new Retained(connection, lines.log);
    await mosquitto.kill('SIGSTOP');
    for (let index = 0; index < 20; index++) retained.put(`lost/${index}`, 'x');
    await mosquitto.kill('SIGKILL');
    await retained.waitForAnswers();
    expect(retained.unknownTopics()).toHaveLength(20);
    expect(lines.text).not.toContain('did not take');
  });

  onMosquitto('that the broker refuses are said once, and stay unknown', async () => {
    const { url } = await startMosquitto({ permitted: ['allowed'] });
    const { connection, lines } = await connected(url);
    const retained = new Retained(connection, lines.log);
    for (const payload of ['1', '1', '2']) {
      retained.put('forbidden', payload);
      retained.put('allowed', payload);
      await retained.waitForAnswers();
      expect([retained.has('forbidden', payload), retained.has('allowed', payload)]).toEqual([false, true]);
    }
    expect(lines.messages.filter((line) => line.startsWith('warn'))).toEqual([
      'warn: The MQTT broker rejected forbidden: Publish error: Not authorized',
    ]);
    expect(retained.isKnown('forbidden')).toBe(false);
    expect(retained.unknownTopics()).toEqual([]);
  });
});
