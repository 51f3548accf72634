import type { Socket } from 'node:net';
import { connectAsync, type MqttClient } from 'mqtt';
import { nowMs } from '../measure/time.ts';

/** A message, and when it came. */
export interface Heard {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
  readonly atMs: number;
}

/** A client of the broker that hears and publishes messages. */
export class Listener {
  readonly #client: MqttClient;
  readonly heard: Heard[] = [];
  #hear: (message: Heard) => void = () => {};

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload, { retain }) => {
      const message = { topic, payload, retain, atMs: nowMs() };
      this.heard.push(message);
      this.#hear(message);
    });
  }

  static async start(url: string, filters: readonly string[] = []): Promise<Listener> {
    const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0 });
    // Otherwise a message may wait up to 40 ms for the acknowledgement of the one before.
    if ('setNoDelay' in client.stream) (client.stream as Socket).setNoDelay(true);
    const listener = new Listener(client);
    // Only new messages are of interest, and whether they are retained.
    if (filters.length > 0) await client.subscribeAsync([...filters], { qos: 0, rh: 2, rap: true });
    return listener;
  }

  /** Resolves with the message that is wanted, heard from now on. */
  until(isWanted: (message: Heard) => boolean): Promise<Heard> {
    return new Promise((resolve) => {
      this.#hear = (message) => {
        if (isWanted(message)) resolve(message);
      };
    });
  }

  async publish(topic: string, payload: string): Promise<void> {
    await this.#client.publishAsync(topic, payload, { qos: 0 });
  }

  async stop(): Promise<void> {
    await this.#client.endAsync(true);
  }
}
