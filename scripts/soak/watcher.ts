import { connectAsync, type MqttClient } from 'mqtt';

/** What came by `bridge/event` and by other topics, in numbers. */
export interface Seen {
  /** Messages of any kind. */
  readonly messages: number;
  /** Events by name. */
  readonly events: Readonly<Record<string, number>>;
  /** Ends of commands by status. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** What the retained messages of the bridge show. */
export interface Shown {
  /** State of the valve by sonic. */
  readonly valves: ReadonlyMap<string, string | null>;
  readonly incidents: ReadonlySet<string>;
  /** Devices that Home Assistant is told of. */
  readonly devices: ReadonlySet<string>;
  readonly state: string | null;
  readonly cloud: string | null;
  /** Its status and reason in words; null while there is none. */
  readonly health: { readonly status: string; readonly reason: string | null } | null;
}

const reconnectMs = 200;

/** A client of the broker that sends commands and sees all that the bridge publishes. */
export class Watcher implements Shown, Seen {
  readonly valves = new Map<string, string | null>();
  readonly incidents = new Set<string>();
  readonly devices = new Set<string>();
  readonly events: Record<string, number> = {};
  readonly outcomes: Record<string, number> = {};
  state: string | null = null;
  cloud: string | null = null;
  health: Shown['health'] = null;
  messages = 0;
  /** How often the bridge has lost the broker, or the broker has gone. */
  losses = 0;
  /** Ends of commands by topic; an answer to a request is at its own topic. */
  readonly #ends = new Map<string, number>();
  #client: MqttClient | null = null;

  async start(url: string): Promise<void> {
    const client = await connectAsync(url, { reconnectPeriod: reconnectMs, queueQoSZero: false });
    client.on('error', () => {});
    client.on('message', (topic, payload) => this.#take(topic, payload.toString()));
    // A broker that restarts has forgotten everything.
    client.on('close', () => this.#forget());
    await client.subscribeAsync(['sonic2mqtt/#', 'homeassistant/#'], { qos: 1 });
    this.#client = client;
  }

  /** How many ends a topic's commands have had. */
  endsAt(topic: string): number {
    return this.#ends.get(topic) ?? 0;
  }

  /** Resolves when the broker has it. */
  async publish(topic: string, payload: string, options: { readonly retain?: boolean } = {}): Promise<void> {
    await this.#client?.publishAsync(topic, payload, { qos: 1, ...options });
  }

  async stop(): Promise<void> {
    await this.#client?.endAsync(true);
  }

  #forget(): void {
    this.losses += 1;
    for (const each of [this.valves, this.incidents, this.devices]) each.clear();
    this.state = null;
    this.cloud = null;
    this.health = null;
  }

  #take(topic: string, text: string): void {
    this.messages += 1;
    const [root, kind = '', id = '', ...rest] = topic.split('/');
    if (root === 'homeassistant') {
      if (kind === 'device') keep(this.devices, id, text !== '');
    } else if (kind === 'incident' && rest.length === 0) keep(this.incidents, id, text !== '');
    else if (kind === 'sonic' && rest.length === 0) this.#takeSonic(id, text);
    else if (kind === 'bridge') this.#takeBridge(id, text);
  }

  #takeSonic(id: string, text: string): void {
    if (text === '') this.valves.delete(id);
    else this.valves.set(id, JSON.parse(text).valve_state);
  }

  #takeBridge(path: string, text: string): void {
    if (path === 'state') this.#takeState(text);
    else if (path === 'cloud') this.cloud = text;
    else if (path === 'health') this.health = JSON.parse(text);
    else if (path === 'event') this.#takeEvent(JSON.parse(text));
  }

  #takeState(state: string): void {
    if (state === 'offline' && this.state !== null) this.losses += 1;
    this.state = state;
  }

  #takeEvent({ event, topic, status }: Record<string, string>): void {
    this.events[String(event)] = (this.events[String(event)] ?? 0) + 1;
    if (event !== 'command') return;
    this.outcomes[String(status)] = (this.outcomes[String(status)] ?? 0) + 1;
    this.#ends.set(String(topic), this.endsAt(String(topic)) + 1);
  }
}

function keep(set: Set<string>, id: string, isThere: boolean): void {
  if (isThere) set.add(id);
  else set.delete(id);
}
