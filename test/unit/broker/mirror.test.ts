import { describe, expect, it } from 'vitest';
import type { Log } from '../../../src/base/log.ts';
import type { Connection } from '../../../src/broker/connection.ts';
import { Mirror } from '../../../src/broker/mirror.ts';
import { NotConnectedError } from '../../../src/broker/notConnectedError.ts';
import { logLines } from '../../support/logLines.ts';
import { settle } from '../../support/passTime.ts';

/** A mirror of a broker that answers so. */
function mirrorOn(
  publish: (topic: string, payload: string) => Promise<void>,
  log: Log = logLines().log,
  connection = { isConnected: true },
): Mirror {
  const used: unknown = Object.assign(connection, { publish, forgetRefusedEvents: () => {} });
  return new Mirror(used as Connection, log);
}

/** A mirror of a broker that accepts everything, and what was published to it, as `topic=payload`. */
function acceptedMirror() {
  const published: string[] = [];
  const mirror = mirrorOn(async (topic, payload) => void published.push(`${topic}=${payload}`));
  return { mirror, published };
}

/** The topics at which the broker has, or may have, a message with unknown content. */
const unknownIn = (mirror: Mirror, ...topics: readonly string[]) =>
  topics.filter((topic) => mirror.mayHave(topic) && !mirror.isKnown(topic));

describe('retained messages', () => {
  it('are published when they change, and only then', () => {
    const { mirror, published } = acceptedMirror();
    for (const [topic, payload] of ['a1', 'a1', 'a2', 'b2', 'a2'].map((each) => [...each]))
      mirror.want(topic ?? '', payload ?? '');
    expect(published).toEqual(['a=1', 'a=2', 'b=2']);
  });

  it('are all published again once they are forgotten', () => {
    const { mirror, published } = acceptedMirror();
    for (const topic of ['a', 'b']) mirror.want(topic, '1');
    mirror.forget();
    expect(mirror.has('a', '1')).toBe(false);
    mirror.want('a', '1');
    expect(published).toEqual(['a=1', 'b=1', 'a=1']);
    expect(unknownIn(mirror, 'a', 'b')).toEqual(['b']);
  });

  it('are deleted once, however often that is asked for before the broker has answered', () => {
    const { mirror, published } = acceptedMirror();
    mirror.want('a', '1');
    mirror.drop('a');
    mirror.drop('a');
    mirror.want('a', '2');
    mirror.drop('a');
    expect(published).toEqual(['a=1', 'a=', 'a=2', 'a=']);
  });

  it('are deleted where they are or may be, and nowhere else', async () => {
    const { mirror, published } = acceptedMirror();
    mirror.found('stale');
    mirror.want('own', '1');
    expect(unknownIn(mirror, 'own', 'stale', 'never')).toEqual(['stale']);
    for (let times = 0; times < 2; times++) {
      for (const topic of ['own', 'stale', 'never']) mirror.drop(topic);
      await mirror.waitForAnswers();
    }
    expect(published).toEqual(['own=1', 'own=', 'stale=']);
    expect(mirror.size).toBe(0);
  });

  it('that were found on the broker are stale until they are put', () => {
    const { mirror } = acceptedMirror();
    mirror.found('a');
    mirror.want('b', '1');
    mirror.found('b');
    expect([mirror.isKnown('a'), mirror.isKnown('b'), mirror.isKnown('c')]).toEqual([false, true, false]);
    expect(unknownIn(mirror, 'a', 'b', 'c')).toEqual(['a']);
    mirror.want('a', '1');
    expect(unknownIn(mirror, 'a', 'b', 'c')).toEqual([]);
    expect([mirror.has('a', '1'), mirror.has('a', '2'), mirror.has('c', '1')]).toEqual([true, false, false]);
  });

  it('that a broker does not take leave what it had before, and those to be deleted stay to be deleted', async () => {
    const publish = () => Promise.reject(new Error('packet too large'));
    const lines = logLines('info');
    const mirror = mirrorOn(publish, lines.log);
    for (const topic of ['wanted', 'unwanted']) mirror.found(topic);
    for (let times = 0; times < 2; times++) {
      mirror.want('wanted', 'x');
      mirror.drop('unwanted');
      await mirror.waitForAnswers();
    }
    expect(unknownIn(mirror, 'wanted', 'unwanted')).toEqual(['wanted', 'unwanted']);
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
    const mirror = mirrorOn(publish, logLines().log);
    mirror.want('incident/1', 'x');
    await mirror.waitForAnswers();
    expect([mirror.refusal !== null, mirror.size]).toEqual([true, 0]);
    mirror.drop('incident/1');
    await mirror.waitForAnswers();
    expect(published).toEqual(['incident/1=x']);
    mirror.want('incident/2', 'x');
    mirror.drop('incident/2');
    await mirror.waitForAnswers();
    expect([mirror.refusal !== null, mirror.size]).toEqual([false, 0]);
  });

  it('of which a broker refuses the deletion are refused until it takes that', async () => {
    let isFull = false;
    const publish = () => (isFull ? Promise.reject(new Error('quota exceeded')) : Promise.resolve());
    const mirror = mirrorOn(publish, logLines().log);
    const clear = async (topic: string) => {
      mirror.drop(topic);
      await mirror.waitForAnswers();
    };
    mirror.want('own', 'x');
    await mirror.waitForAnswers();
    isFull = true;
    for (let times = 0; times < 2; times++) {
      await clear('own');
      expect(mirror.refusal).toMatchObject({ topic: 'own' });
      mirror.forget();
    }
    isFull = false;
    await clear('own');
    expect(mirror.refusal).toBeNull();
  });

  it('that a broker may have, although it takes them no more, stay to be deleted', async () => {
    let answer = () => Promise.resolve();
    const mirror = mirrorOn(() => answer());
    mirror.want('taken', 'x');
    await mirror.waitForAnswers();
    answer = () => Promise.reject(new NotConnectedError());
    mirror.want('lost', 'x');
    await mirror.waitForAnswers();
    answer = () => Promise.reject(new Error('Not authorized'));
    mirror.want('found', 'x');
    mirror.found('found');
    await mirror.waitForAnswers();
    for (const topic of ['taken', 'lost', 'found']) mirror.want(topic, 'y');
    for (const topic of ['taken', 'lost', 'found']) mirror.drop(topic);
    await mirror.waitForAnswers();
    expect(unknownIn(mirror, 'taken', 'lost', 'found')).toEqual(['taken', 'lost', 'found']);
  });

  it('that a broker has refused are deleted all the same once nothing is to be there', async () => {
    let answer = () => Promise.resolve();
    const mirror = mirrorOn(() => answer());
    for (const topic of ['wanted', 'stale']) mirror.want(topic, 'online');
    await mirror.waitForAnswers();
    answer = () => Promise.reject(new Error('Not authorized'));
    for (const topic of ['wanted', 'stale', 'new']) mirror.want(topic, 'offline');
    await mirror.waitForAnswers();
    expect(unknownIn(mirror, 'wanted', 'stale', 'new')).toEqual(['wanted', 'stale']);
    answer = () => Promise.resolve();
    mirror.want('wanted', 'offline');
    for (const topic of ['stale', 'new']) mirror.drop(topic);
    await mirror.waitForAnswers();
    expect([mirror.has('wanted', 'offline'), mirror.size, mirror.refusal]).toEqual([true, 1, null]);
  });

  it('are not swept where one was refused, though an earlier one is taken only afterwards', async () => {
    const answers: ((error?: Error) => void)[] = [];
    const publish = () =>
      new Promise<void>((resolve, reject) => {
        answers.push((error) => (error ? reject(error) : resolve()));
      });
    const mirror = mirrorOn(publish, logLines('info').log);
    for (const payload of ['x', 'y']) mirror.want('state', payload);
    answers[1]?.(new Error('quota exceeded'));
    await settle();
    answers[0]?.();
    await mirror.waitForAnswers();
    expect([mirror.refusal !== null, mirror.isKnown('state')]).toEqual([true, false]);
  });

  it('wait for acknowledgements when there are many, so that memory is bounded', async () => {
    const answers: (() => void)[] = [];
    const mirror = mirrorOn(() => new Promise<void>((resolve) => answers.push(resolve)));
    let passes = 0;
    const passing = (async () => {
      for (; passes < 100; passes++) {
        await mirror.waitForRoom();
        mirror.want(`many/${passes}`, 'x');
      }
    })();
    await settle();
    expect(passes).toBe(64);
    while (passes < 100) {
      for (const answer of answers.splice(0)) answer();
      await settle();
    }
    await passing;
    expect(mirror.has('many/99', 'x')).toBe(true);
  });

  it('are not published, queued or taken for published while the broker is away', async () => {
    const published: string[] = [];
    const connection = { isConnected: true };
    const publish = async (topic: string, payload: string) => void published.push(`${topic}=${payload}`);
    const mirror = mirrorOn(publish, logLines().log, connection);
    mirror.want('a', '1');
    connection.isConnected = false;
    mirror.want('a', 'while away');
    mirror.want('new', 'while away');
    mirror.drop('a');
    expect([mirror.has('a', '1'), mirror.has('new', 'while away')]).toEqual([true, false]);
    connection.isConnected = true;
    mirror.want('a', '2');
    expect(published).toEqual(['a=1', 'a=2']);
  });

  it('that are lost on their way are unknown, without a line for each', async () => {
    const lines = logLines();
    const mirror = mirrorOn(() => Promise.reject(new NotConnectedError()), lines.log);
    for (let index = 0; index < 20; index++) mirror.want(`lost/${index}`, 'x');
    await mirror.waitForAnswers();
    expect([mirror.size, mirror.isKnown('lost/0'), mirror.isKnown('lost/19')]).toEqual([20, false, false]);
    expect(lines.text).toBe('');
  });
});
