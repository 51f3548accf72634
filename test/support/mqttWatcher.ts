import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectAsync, type IPublishPacket, type OnMessageCallback } from 'mqtt';
import { atTestEnd } from './childProcess.ts';
import { defaultTimeoutMs, waitFor } from './waitFor.ts';

/** A received message. With MQTT 3.1.1, `retain` is true only for messages that the broker had stored. */
export interface SeenMessage {
  topic: string;
  text: string;
  retain: boolean;
  qos: number;
  /** When it arrived, in ms of a monotonic clock. */
  atMs: number;
  properties: IPublishPacket['properties'];
}

/** How to reach the broker. */
export interface WatcherOptions {
  /**
   * 4 is the default, because every broker speaks it. With 5, live messages also show the publisher's retain
   * flag.
   */
  protocolVersion?: 4 | 5;
  username?: string;
  password?: string;
  caFile?: string;
  /** The QoS of the subscriptions. 0 by default. */
  qos?: 0 | 1;
}

/** An MQTT client that records all messages. */
export interface MqttWatcher {
  /** The last payload of each topic. An empty payload removes the topic. */
  readonly last: ReadonlyMap<string, string>;
  readonly messages: readonly SeenMessage[];
  publish(
    topic: string,
    payload: string | Buffer,
    options?: {
      retain?: boolean;
      qos?: 0 | 1 | 2;
      dup?: boolean;
      properties?: NonNullable<IPublishPacket['properties']>;
    },
  ): Promise<void>;
  /** The last payload of the topic, parsed. Undefined if there is none. */
  json(topic: string): unknown;
  /**
   * Waits until the topic's last payload, old or new, satisfies the predicate. By default any payload does.
   */
  waitForTopic(topic: string, predicate?: (text: string) => boolean, timeoutMs?: number): Promise<string>;
  /** Waits for any message, old or new, that satisfies the predicate. */
  waitForMessage(
    predicate: (message: SeenMessage) => boolean,
    options: { what: string; timeoutMs?: number; from?: number },
  ): Promise<SeenMessage>;
  /** What anyone published to move a valve. The bridge tests with an empty message at `check` what it may read. */
  commands(from?: number): SeenMessage[];
  /** Waits until everything has arrived that the broker accepted before this call. */
  settle(): Promise<void>;
  /** Deletes the recorded messages, but not the last of each topic. */
  forget(): void;
  close(): Promise<void>;
}

/** Subscribes, and resolves once all retained messages have arrived. The client closes with the test. */
export async function watchTopics(
  url: string,
  filters: string | string[],
  options: WatcherOptions = {},
): Promise<MqttWatcher> {
  const { protocolVersion = 4, qos = 0, caFile, ...credentials } = options;
  const client = await connectAsync(url, {
    protocolVersion,
    ...credentials,
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
  });
  client.on('error', () => undefined);
  const last = new Map<string, string>();
  const messages: SeenMessage[] = [];
  const echo = `watcher/${randomUUID()}`;
  let lastEcho = 0;
  const take: OnMessageCallback = (topic, payload, { retain, qos, properties }) => {
    if (topic === echo) {
      lastEcho = Number(payload);
      return;
    }
    const text = payload.toString('utf8');
    messages.push({ topic, text, retain, qos, atMs: performance.now(), properties });
    if (text === '') last.delete(topic);
    else last.set(topic, text);
  };
  client.on('message', take);
  const rap = protocolVersion === 5 ? { rap: true } : {};
  await client.subscribeAsync(filters, { qos, ...rap });
  await client.subscribeAsync(echo, { qos });
  let echoes = 0;
  const settle = async () => {
    const own = ++echoes;
    await client.publishAsync(echo, `${own}`, { qos });
    await waitFor(() => lastEcho >= own, { what: 'all messages', intervalMs: 1 });
  };
  // Mosquitto sends all retained messages before the first echo. aedes sends some of them after it.
  for (let quietEchoes = 0; quietEchoes < 5; ) {
    const seen = messages.length;
    await settle();
    quietEchoes = messages.length === seen ? quietEchoes + 1 : 0;
  }

  const close = () => client.endAsync(true);
  atTestEnd(close);
  return {
    last,
    messages,
    publish: async (topic, payload, publishOptions) => {
      await client.publishAsync(topic, payload, { qos: 1, ...publishOptions });
    },
    json: (topic) => {
      const text = last.get(topic);
      return text === undefined ? undefined : JSON.parse(text);
    },
    waitForTopic: (topic, predicate = () => true, timeoutMs = defaultTimeoutMs) =>
      waitFor(
        () => {
          const text = last.get(topic);
          return text !== undefined && predicate(text) ? text : undefined;
        },
        { what: `a fitting message on ${topic}`, timeoutMs },
      ).catch((error: Error) => {
        throw new Error(`${error.message}; last was ${last.get(topic) ?? 'nothing'}`);
      }),
    waitForMessage: (predicate, { from = 0, ...wait }) =>
      waitFor(() => messages.slice(from).find(predicate), wait),
    commands: (from = 0) =>
      messages
        .slice(from)
        .filter(({ topic }) => topic.endsWith('/valve/set') && !topic.endsWith('/sonic/check/valve/set')),
    forget: () => void messages.splice(0),
    settle,
    close,
  };
}
