import type { MqttClient, Packet } from 'mqtt';
import type { Clock } from '../base/clock.ts';

/** A connection on which a ping is unanswered and nothing comes for this long, in ms, is dead. */
const maxSilenceMs = 15_000;

/** After a sleep of the machine, an answer may have come and not be read yet. It has this long, in ms. */
const secondLookMs = 100;

/**
 * Limits the age of the messages on a connection. The broker answers pings and sends messages in one order. So a
 * message was sent after the newest ping that was answered before it came. If the network stalls, the process is
 * stopped or the machine sleeps, the newest ping before a message is simply an old one.
 *
 * The broker is gone if it answers no ping and sends nothing else. A long transfer over a slow link may keep answers back.
 */
export class Pings {
  readonly #client: MqttClient;
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #onSilence: () => void;
  readonly #unanswered: { readonly sentAt: number; onAnswer?: () => void }[] = [];
  #sentAfter: number;
  #heardAt: number;
  #isStopped = false;
  #cancel: () => void = () => {};
  #cancelWatch: () => void = () => {};

  /** `onSilence` is called when the broker has neither answered a ping nor sent anything for 15 seconds. */
  constructor(client: MqttClient, everyMs: number, clock: Clock, onSilence: () => void) {
    this.#client = client;
    this.#everyMs = everyMs;
    this.#clock = clock;
    this.#onSilence = onSilence;
    this.#sentAfter = clock.monotonic();
    this.#heardAt = this.#sentAfter;
    // The library also sends pings, and the broker answers them in the same order.
    client.on('packetsend', ({ cmd }: Packet) => {
      if (cmd === 'pingreq') this.#unanswered.push({ sentAt: clock.monotonic() });
    });
    client.on('packetreceive', ({ cmd }: Packet) => {
      this.#heardAt = clock.monotonic();
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
    this.#watch();
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
    this.#cancelWatch();
  }

  #watch(afterMs = maxSilenceMs, isSecondLook = false): void {
    this.#cancelWatch = this.#clock.after(afterMs, () => {
      const now = this.#clock.monotonic();
      const [oldest] = this.#unanswered;
      const leftMs = Math.max(this.#heardAt, oldest?.sentAt ?? now) + maxSilenceMs - now;
      if (leftMs > 0) this.#watch(leftMs);
      else if (isSecondLook) this.#onSilence();
      else this.#watch(secondLookMs, true);
    });
  }

  #pingLater(): void {
    this.#cancel = this.#clock.after(this.#everyMs, () => {
      this.#client.sendPing();
      if (!this.#isStopped) this.#pingLater();
    });
  }
}
