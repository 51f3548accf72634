import type { MqttClient, Packet } from 'mqtt';
import type { Clock } from '../base/clock.ts';

/**
 * Limits the age of the messages on a connection. The broker answers pings and sends messages in one order. So a
 * message was sent after the newest ping that was answered before it came. If the network stalls, the process is
 * stopped or the machine sleeps, the newest ping before a message is simply an old one.
 */
export class Pings {
  readonly #client: MqttClient;
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #unanswered: { readonly sentAt: number; onAnswer?: () => void }[] = [];
  #sentAfter: number;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(client: MqttClient, everyMs: number, clock: Clock) {
    this.#client = client;
    this.#everyMs = everyMs;
    this.#clock = clock;
    this.#sentAfter = clock.monotonic();
    // The library also sends pings, and the broker answers them in the same order.
    client.on('packetsend', ({ cmd }: Packet) => {
      if (cmd === 'pingreq') this.#unanswered.push({ sentAt: clock.monotonic() });
    });
    client.on('packetreceive', ({ cmd }: Packet) => {
      if (cmd !== 'pingresp') return;
      const ping = this.#unanswered.shift();
      this.#sentAfter = ping?.sentAt ?? this.#sentAfter;
      ping?.onAnswer?.();
    });
  }

  /** Whatever comes now, the broker has sent after this moment, in ms of the monotonic clock. */
  get sentAfter(): number {
    return this.#sentAfter;
  }

  /** Call this at the broker's CONNACK. With a clean session, the broker has sent no message before it. */
  start(): void {
    this.#sentAfter = this.#clock.monotonic();
    this.#pingLater();
  }

  /** `onAnswer` is called once the broker has answered all that was sent before; never if the connection ends. */
  ask(onAnswer: () => void): void {
    this.#client.sendPing();
    const ping = this.#unanswered.at(-1);
    if (ping) ping.onAnswer = onAnswer;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #pingLater(): void {
    this.#cancel = this.#clock.after(this.#everyMs, () => {
      this.#client.sendPing();
      if (!this.#isStopped) this.#pingLater();
    });
  }
}
