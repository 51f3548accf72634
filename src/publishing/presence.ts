import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { Announcers } from '../health/announcers.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import type { Publisher } from './publisher.ts';

interface PresenceParts {
  readonly topics: Topics;
  readonly statusTopic: string;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly otherBridges: OtherBridges;
  readonly announcers: Announcers;
  readonly discovery: DiscoveryMessages;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** In ms, after a start of Home Assistant. Incident events come later. */
const birthJitterMs = 1_500;

/** The shortest time between two corrections, in ms, while another client keeps publishing `offline`. */
const willSpacingMs = 5_000;

/** Other clients may delete or replace several discovery messages at a time. They are published again after this, in ms. */
const restoreMs = 2_000;

/** The shortest time between two restorations, in ms, while somebody deletes messages again and again. */
const restoreSpacingMs = 300_000;

/**
 * Publishes again what other clients need or have replaced: all devices after a start of Home Assistant, after another
 * bridge with the same topics has stopped, and if discovery messages were deleted; the messages about the bridge if the
 * broker has published its last will.
 */
export class Presence {
  readonly #parts: PresenceParts;
  #cancelBirth: () => void = () => {};
  #willCorrectedAt = Number.NEGATIVE_INFINITY;
  #cancelCorrection: () => void = () => {};
  #restoredAt = Number.NEGATIVE_INFINITY;
  #cancelRestoration: (() => void) | null = null;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { connection, otherBridges, announcers, publisher } = parts;
    connection
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#correctWill());
    let isOtherRunning = false;
    otherBridges.on('changed', () => {
      // The other bridge may have replaced messages of this one.
      if (isOtherRunning && otherBridges.problem === null) publisher.publishAll();
      isOtherRunning = otherBridges.problem !== null;
    });
    announcers.on('overwritten', () => this.#restore());
  }

  stop(): void {
    this.#cancelBirth();
    this.#cancelCorrection();
    this.#cancelRestoration?.();
  }

  #restore(): void {
    const { publisher, clock, log } = this.#parts;
    const waitMs = Math.max(restoreMs, this.#restoredAt + restoreSpacingMs - clock.monotonic());
    this.#cancelRestoration ??= clock.after(waitMs, () => {
      this.#cancelRestoration = null;
      if (!publisher.isShowingDevices) return;
      this.#restoredAt = clock.monotonic();
      log.warn(
        'Another client has deleted or replaced discovery messages of this bridge. Publishing all devices',
      );
      publisher.publishAll();
    });
  }

  /** Home Assistant sets up its entities after its birth message. A stored one is from an earlier start. */
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
    const { topics, mirror, publisher, clock } = this.#parts;
    if (publisher.isStopped) return;
    const waitMs = this.#willCorrectedAt + willSpacingMs - clock.monotonic();
    this.#cancelCorrection();
    this.#cancelCorrection = clock.after(Math.max(0, waitMs), () => {
      this.#willCorrectedAt = clock.monotonic();
      // The will may belong to a second bridge, which this one did not notice before it stopped. So everything is
      // published again.
      mirror.forget(topics.documents('bridge', ''));
      publisher.wake();
    });
  }
}
