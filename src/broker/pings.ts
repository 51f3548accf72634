import type { MqttClient, Packet } from 'mqtt';
import type { Clock } from '../base/clock.ts';

/** A connection on which a ping is unanswered and nothing comes for this long, in ms, is dead. */
const maxSilenceMs = 15_000;

/** After a sleep of the machine, an answer may have come and not be read yet. It has this long, in ms. */
const secondLookMs = 100;

export type Pings = ReturnType<typeof pingsOn>;

/**
 * Limits the age of the messages on a connection. The broker answers pings and sends messages in one order. So a
 * message was sent after the newest ping that was answered before it came. If the network stalls, the process is
 * stopped or the machine sleeps, the newest ping before a message is simply an old one.
 *
 * The broker is gone if it answers no ping and sends nothing else. A long transfer over a slow link may keep answers back.
 * `onSilence` is called when it has done neither for 15 seconds.
 */
export function pingsOn(client: MqttClient, everyMs: number, clock: Clock, onSilence: () => void) {
  const unanswered: { readonly sentAt: number; onAnswer?: () => void }[] = [];
  let sentAfter = clock.monotonic();
  let heardAt = sentAfter;
  let isStopped = false;
  let cancelPing = () => {};
  let cancelWatch = () => {};
  // The library also sends pings, and the broker answers them in the same order.
  client.on('packetsend', ({ cmd }: Packet) => {
    if (cmd === 'pingreq') unanswered.push({ sentAt: clock.monotonic() });
  });
  client.on('packetreceive', ({ cmd }: Packet) => {
    heardAt = clock.monotonic();
    if (cmd !== 'pingresp') return;
    const ping = unanswered.shift();
    sentAfter = ping?.sentAt ?? sentAfter;
    ping?.onAnswer?.();
  });

  /** Call this at the broker's CONNACK. With a clean session, the broker has sent no message before it. */
  function start(): void {
    sentAfter = clock.monotonic();
    pingLater();
    watch();
  }

  /** `onAnswer` is called once the broker has answered all that was sent before; never if the connection ends. */
  function ask(onAnswer: () => void): void {
    client.sendPing();
    const ping = unanswered.at(-1);
    if (ping) ping.onAnswer = onAnswer;
  }

  function stop(): void {
    isStopped = true;
    cancelPing();
    cancelWatch();
  }

  function watch(afterMs = maxSilenceMs, isSecondLook = false): void {
    cancelWatch = clock.after(afterMs, () => {
      const now = clock.monotonic();
      const [oldest] = unanswered;
      const leftMs = Math.max(heardAt, oldest?.sentAt ?? now) + maxSilenceMs - now;
      if (leftMs > 0) watch(leftMs);
      else if (isSecondLook) onSilence();
      else watch(secondLookMs, true);
    });
  }

  function pingLater(): void {
    cancelPing = clock.after(everyMs, () => {
      client.sendPing();
      if (!isStopped) pingLater();
    });
  }

  return {
    start,
    ask,
    stop,
    /** Whatever comes now, the broker has sent after this moment, in ms of the monotonic clock. */
    get sentAfter(): number {
      return sentAfter;
    },
  };
}
