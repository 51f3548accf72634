import { connectAsync, type MqttClient } from 'mqtt';

/**
 * Hands each message to a node once. A client that reconnects by itself hands over again what was not acknowledged, and
 * then it is two messages for the broker and for everybody behind it.
 */
export class Publisher {
  readonly #protocolVersion: 4 | 5;
  #url: string;
  #client: Promise<MqttClient> | null = null;

  constructor(url: string, protocolVersion: 4 | 5) {
    this.#url = url;
    this.#protocolVersion = protocolVersion;
  }

  /** From now on to another node. */
  goTo(url: string): void {
    this.close();
    this.#url = url;
  }

  /** Whether the node has acknowledged it; where it has not, it may have come through all the same. */
  async publish(topic: string, payload: string): Promise<boolean> {
    try {
      this.#client ??= this.#connect();
      const client = await this.#client;
      return await new Promise<boolean>((resolve) => {
        client.once('close', () => resolve(false));
        client.publish(topic, payload, { qos: 1 }, (error) => resolve(!error));
      });
    } catch {
      this.#client = null;
      return false;
    }
  }

  close(): void {
    this.#client?.then((client) => client.end(true)).catch(() => undefined);
    this.#client = null;
  }

  async #connect(): Promise<MqttClient> {
    const client = await connectAsync(this.#url, {
      protocolVersion: this.#protocolVersion,
      reconnectPeriod: 0,
    });
    // One for each message that waits for its acknowledgement.
    client.setMaxListeners(0);
    client.on('error', () => undefined);
    client.once('close', () => {
      this.#client = null;
    });
    return client;
  }
}
