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

/** What publishing again works with. */
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

/** Everything is published again within this time of the start of Home Assistant: sooner than an incident event. */
const birthJitterMs = 1_500;

/** While another client says `offline`, the bridge says `online` no more often than this. */
const willSpacingMs = 5_000;

/**
 * Publishes again what other clients need or have replaced: all devices after a start of Home Assistant or a stop of another
 * bridge with the same topics, and the bridge itself if another bridge does not know it or the broker has published its last
 * will.
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
        // What it has published here is not what this bridge shows.
        if (isOtherRunning && otherBridges.problem === null) publisher.publishAll();
        isOtherRunning = otherBridges.problem !== null;
      });
  }

  /** Publishes nothing more. */
  stop(): void {
    this.#cancelBirth();
    this.#cancelCorrection();
  }

  /** Home Assistant has started, and sets up its entities. A stored message is about an earlier start. */
  #onMessage({ topic, payload, isRetained }: BrokerMessage): void {
    const { statusTopic, discovery, publisher, clock, random, log } = this.#parts;
    if (topic !== statusTopic || payload !== 'online' || isRetained) return;
    log.info('Home Assistant has started. Publishing all devices');
    discovery.homeAssistantStarted();
    this.#cancelBirth();
    this.#cancelBirth = clock.after(birthJitterMs * random(), () => publisher.publishAll());
  }

  /**
   * A cluster may notice late that an earlier connection has ended, and then publishes its last will. `online` is
   * published again, but not as fast as another client that insists on `offline`.
   */
  #correctWill(): void {
    const { publisher, clock } = this.#parts;
    if (publisher.isStopped) return;
    const waitMs = this.#willCorrectedAt + willSpacingMs - clock.monotonic();
    this.#cancelCorrection();
    this.#cancelCorrection = clock.after(Math.max(0, waitMs), () => {
      this.#willCorrectedAt = clock.monotonic();
      // The will may be of a second bridge that has stopped before this one has heard it.
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
