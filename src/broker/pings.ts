import type { MqttClient, Packet } from 'mqtt';
import type { Clock } from '../base/clock.ts';

/**
 * Bounds the age of the messages of a connection. The broker answers pings and sends messages in one order, so a message was
 * sent after the newest ping that was answered before it. Thus a network that stalls, a process that is stopped and a
 * machine that sleeps all look the same: the ping before the message is an old one.
 */
export class Pings {
  readonly #client: MqttClient;
  readonly #everyMs: number;
  readonly #clock: Clock;
  /** The pings that have no answer yet, oldest first. */
  readonly #unanswered: { readonly sentAt: number; onAnswer?: () => void }[] = [];
  #sentAfter: number;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(client: MqttClient, everyMs: number, clock: Clock) {
    this.#client = client;
    this.#everyMs = everyMs;
    this.#clock = clock;
    this.#sentAfter = clock.monotonic();
    // The library sends pings of its own, which are answered in the same order.
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

  /** The broker sent what comes now after this moment, in ms of the clock. */
  get sentAfter(): number {
    return this.#sentAfter;
  }

  /** Begins with the broker's greeting: with a clean session it has sent no message before. */
  start(): void {
    this.#sentAfter = this.#clock.monotonic();
    this.#pingLater();
  }

  /** Pings the broker now, and calls back once it has answered all that was sent before; never if the connection ends. */
  ask(onAnswer: () => void): void {
    this.#client.sendPing();
    const ping = this.#unanswered.at(-1);
    if (ping) ping.onAnswer = onAnswer;
  }

  /** Sends no more pings. */
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
