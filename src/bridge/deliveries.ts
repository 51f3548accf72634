import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { EarlyPoll } from './earlyPoll.ts';
import type { Happening } from './readings.ts';
import { calmShareOfStale } from './tempo.ts';
import { WebhookTrust } from './webhookTrust.ts';

/** What is needed of the bridge around. */
export interface DeliveriesEvents {
  /** Something may have happened: it is time to look. */
  readonly poll: () => void;
  /** Incidents may be due sooner than they were. */
  readonly hasten: () => void;
}

/** The contract of the webhook: so many early polls at most. */
const earlyPollEveryMs = 5_000;

/** How much less often incidents are polled while the webhook tells of them. */
const calmFactor = 4;

/** What the cloud's calls lead to: an early poll each, and fewer polls of incidents while they can be relied on. */
export class Deliveries {
  readonly #staleAfterMs: number;
  readonly #events: DeliveriesEvents;
  readonly #log: Log;
  readonly #early: EarlyPoll;
  readonly #trust: WebhookTrust;

  constructor(staleAfterMs: number, events: DeliveriesEvents, clock: Clock, log: Log) {
    this.#staleAfterMs = staleAfterMs;
    this.#events = events;
    this.#log = log;
    this.#early = new EarlyPoll(events.poll, earlyPollEveryMs, clock);
    this.#trust = new WebhookTrust(clock, () => this.#trustChanged());
  }

  /** Whether the webhook can be relied on. */
  get isTrusted(): boolean {
    return this.#trust.isTrusted;
  }

  /** The cloud has called. */
  take(): void {
    this.#trust.delivered();
    this.#early.ask();
  }

  /** Takes what a poll has found. */
  found(happenings: readonly Happening[]): void {
    // The cloud calls for what opens and closes.
    const isTold = happenings.some(({ event }) => event === 'incident_opened' || event === 'incident_closed');
    if (isTold) this.#trust.found();
  }

  /** A poll has read all incidents; to be called after `found`. */
  polled(): void {
    this.#trust.polled();
  }

  /** How often incidents are polled that are to be polled so often by their schedule. */
  incidentsPeriodMs(everyMs: number): number {
    if (!this.#trust.isEnough) return everyMs;
    return Math.max(everyMs, Math.min(calmFactor * everyMs, calmShareOfStale * this.#staleAfterMs));
  }

  /** Polls and judges no more. */
  stop(): void {
    this.#early.stop();
    this.#trust.stop();
  }

  #trustChanged(): void {
    if (this.#trust.isTrusted) {
      this.#log.info('The webhook works: incidents are polled less often while it does');
      return;
    }
    this.#log.warn(
      'A poll has found news of an incident that the webhook did not tell: for a day incidents are polled by their schedule',
    );
    this.#events.hasten();
  }
}
