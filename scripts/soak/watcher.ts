import { connectAsync, type MqttClient } from 'mqtt';

const reconnectMs = 200;

/** A client of the broker that sends commands, and sees everything that the bridge publishes. */
export class Watcher {
  /** The states of the valves by sonic. */
  readonly valves = new Map<string, string | null>();
  readonly incidents = new Set<string>();
  /** Devices that Home Assistant would have. */
  readonly devices = new Set<string>();
  /** Events by name, and outcomes of commands by status. */
  readonly events: Record<string, number> = {};
  readonly outcomes: Record<string, number> = {};
  /** What `bridge/state`, `bridge/cloud` and others show. */
  readonly bridge = new Map<string, string>();
  messages = 0;
  /** How often the bridge has lost the broker, or the broker has ended. */
  losses = 0;
  /** How many outcomes the commands of a topic have had. */
  readonly #ends = new Map<string, number>();
  #client: MqttClient | null = null;

  async start(url: string): Promise<void> {
    const client = await connectAsync(url, { reconnectPeriod: reconnectMs, queueQoSZero: false });
    client.on('error', () => {});
    client.on('message', (topic, payload) => this.#take(topic, payload.toString()));
    // A broker that restarts has lost everything.
    client.on('close', () => {
      this.losses += 1;
      for (const each of [this.valves, this.incidents, this.devices, this.bridge]) each.clear();
    });
    await client.subscribeAsync(['sonic2mqtt/#', 'homeassistant/#'], { qos: 1 });
    this.#client = client;
  }

  endsAt(topic: string): number {
    return this.#ends.get(topic) ?? 0;
  }

  async publish(topic: string, payload: string, options: { readonly retain?: boolean } = {}): Promise<void> {
    await this.#client?.publishAsync(topic, payload, { qos: 1, ...options });
  }

  async stop(): Promise<void> {
    await this.#client?.endAsync(true);
  }

  #take(topic: string, text: string): void {
    this.messages += 1;
    const [root, kind = '', id = '', ...rest] = topic.split('/');
    if (root === 'homeassistant') {
      if (kind === 'device') keep(this.devices, id, text !== '');
    } else if (kind === 'bridge') {
      if (id === 'event') this.#takeEvent(JSON.parse(text));
      else if (id === 'state' && text === 'offline' && this.bridge.has(id)) this.losses += 1;
      this.bridge.set(id, text);
    } else if (rest.length > 0) return;
    else if (kind === 'incident') keep(this.incidents, id, text !== '');
    else if (kind === 'sonic') {
      if (text === '') this.valves.delete(id);
      else this.valves.set(id, JSON.parse(text).valve_state);
    }
  }

  #takeEvent({ event = '', topic = '', status = '' }: Record<string, string>): void {
    this.events[event] = (this.events[event] ?? 0) + 1;
    if (event !== 'command') return;
    this.outcomes[status] = (this.outcomes[status] ?? 0) + 1;
    this.#ends.set(topic, this.endsAt(topic) + 1);
  }
}

function keep(set: Set<string>, id: string, isThere: boolean): void {
  if (isThere) set.add(id);
  else set.delete(id);
}
