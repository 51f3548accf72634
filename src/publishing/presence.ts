import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Retained } from '../broker/retained.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import type { Publisher } from './publisher.ts';

/** What `Presence` works with. */
interface PresenceParts {
  readonly topics: Topics;
  /** The topic at which Home Assistant publishes that it has started. */
  readonly statusTopic: string;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly otherBridges: OtherBridges;
  readonly discovery: DiscoveryMessages;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * After a start of Home Assistant, everything is published again within this time, in ms. Incident events come later.
 */
const birthJitterMs = 1_500;

/** The shortest time between two corrections, in ms, while another client keeps publishing `offline`. */
const willSpacingMs = 5_000;

/**
 * Publishes again what other clients need or have replaced. After a start of Home Assistant, or after another bridge
 * with the same topics has stopped, it publishes all devices. It publishes the messages about the bridge if another
 * bridge does not know this one yet, or if the broker has published its last will.
 */
export class Presence {
  readonly #parts: PresenceParts;
  #cancelBirth: () => void = () => {};
  #willCorrectedAt = Number.NEGATIVE_INFINITY;
  #cancelCorrection: () => void = () => {};

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { connection, otherBridges, publisher } = parts;
    connection
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#correctWill());
    let isOtherRunning = false;
    otherBridges
      .on('greet', () => this.#publishAgain('info'))
      .on('changed', () => {
        // The other bridge may have replaced messages of this one.
        if (isOtherRunning && otherBridges.problem === null) publisher.publishAll();
        isOtherRunning = otherBridges.problem !== null;
      });
  }

  /** Stops publishing. */
  stop(): void {
    this.#cancelBirth();
    this.#cancelCorrection();
  }

  /**
   * Reacts to the birth message of Home Assistant, which sets up its entities now. A stored message is from an earlier
   * start.
   */
  #onMessage({ topic, payload, isRetained }: BrokerMessage): void {
    const { statusTopic, discovery, publisher, clock, random, log } = this.#parts;
    if (topic !== statusTopic || payload !== 'online' || isRetained) return;
    log.info('Home Assistant has started. Publishing all devices');
    discovery.homeAssistantStarted();
    this.#cancelBirth();
    this.#cancelBirth = clock.after(birthJitterMs * random(), () => publisher.publishAll());
  }

  /**
   * A cluster may notice late that an earlier connection has ended, and then publishes the last will of that
   * connection. So `online` is published again, but only from time to time, because another client may keep publishing
   * `offline`.
   */
  #correctWill(): void {
    const { publisher, clock } = this.#parts;
    if (publisher.isStopped) return;
    const waitMs = this.#willCorrectedAt + willSpacingMs - clock.monotonic();
    this.#cancelCorrection();
    this.#cancelCorrection = clock.after(Math.max(0, waitMs), () => {
      this.#willCorrectedAt = clock.monotonic();
      // The will may belong to a second bridge, which this one did not notice before it stopped. So everything is
      // published again.
      this.#publishAgain('state', 'info', 'cloud', 'health', 'incidents', 'homeassistant');
    });
  }

  /** Publishes these topics of the bridge again. */
  #publishAgain(...paths: readonly string[]): void {
    const { topics, retained, publisher } = this.#parts;
    for (const path of paths) retained.markUnknown(topics.bridge(path));
    publisher.wake();
  }
}
