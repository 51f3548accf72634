import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connectAsync, type MqttClient } from 'mqtt';
import { nowMs } from '../measure/now.ts';
import type { Message } from './script.ts';

/** A message, when it came. */
export interface Heard extends Message {
  readonly atMs: number;
}

const allTopics = ['sonic2mqtt/#', 'homeassistant/#', 'raw/#'];
/** However much a broker keeps, and however busy it is. */
const scanQuietMs = 700;

/** A client of the broker that hears what is published from now on, and publishes. */
export class Listener {
  readonly #client: MqttClient;
  heard: Heard[] = [];
  readonly #awaited = new Set<(message: Heard) => void>();

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload) => {
      const message = { topic, payload: payload.toString(), atMs: nowMs() };
      this.heard.push(message);
      for (const hear of this.#awaited) hear(message);
    });
  }

  static async start(url: string, filters: readonly string[] = allTopics): Promise<Listener> {
    const client = await connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0 });
    // Else the end of a message waits up to 40 ms for the acknowledgement of its beginning.
    if ('setNoDelay' in client.stream) (client.stream as Socket).setNoDelay(true);
    const listener = new Listener(client);
    // A broker need not keep what goes to it for long.
    await client.subscribeAsync([...filters], { qos: 0 });
    return listener;
  }

  /** The next message that is wanted. */
  next(isWanted: (message: Heard) => boolean): Promise<Heard> {
    return new Promise((resolve) => {
      const hear = (message: Heard) => {
        if (!isWanted(message)) return;
        this.#awaited.delete(hear);
        resolve(message);
      };
      this.#awaited.add(hear);
    });
  }

  /** Resolves once nothing more comes, for a little while. */
  async quiet(quietMs = scanQuietMs): Promise<void> {
    let count = -1;
    while (count !== this.heard.length) {
      count = this.heard.length;
      await pause(quietMs);
    }
  }

  async publish(topic: string, payload: string, qos: 0 | 1 = 1): Promise<void> {
    await this.#client.publishAsync(topic, payload, { qos });
  }

  async unsubscribe(filters: readonly string[]): Promise<void> {
    await this.#client.unsubscribeAsync([...filters]);
  }

  async stop(): Promise<void> {
    await this.#client.endAsync(true);
  }
}

/** What is retained on a broker. */
export async function retainedOn(url: string): Promise<Message[]> {
  const listener = await Listener.start(url);
  await listener.quiet();
  await listener.stop();
  // A message that is published meanwhile takes the place of what was kept.
  const kept = new Map(listener.heard.map(({ topic, payload }) => [topic, payload]));
  return [...kept].map(([topic, payload]) => ({ topic, payload }));
}
