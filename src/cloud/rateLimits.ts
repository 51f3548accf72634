import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration, hourMs, minuteMs } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { Deadline } from './deadline.ts';
import { CloudError } from './errors.ts';
import type { HttpResponse } from './http.ts';
import { isVitalList, type OperationName } from './operations.ts';
import { maxWaitForRetryMs, retryAfterOf } from './retry.ts';

/** A vital list is requested again after this many ms, even if the cloud requests a longer wait. */
const maxVitalPauseMs = 10 * minuteMs;

/** The wait after a 429 that does not say how long to wait, in ms. */
const defaultPauseMs = 2_000;

/** How long the cloud requests to wait. What it says about an operation concerns no other. */
export class RateLimits {
  readonly #clock: Clock;
  readonly #log: Log;
  /** In ms of the monotonic clock. */
  readonly #until = new Map<OperationName, number>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  record(name: OperationName, response: HttpResponse): void {
    const asked = retryAfterOf(response, this.#clock.now());
    const ms = asked ?? (response.status === 429 ? defaultPauseMs : 0);
    if (ms <= 0) return;
    const now = this.#clock.monotonic();
    // A cloud may limit requests again and again.
    const isNews = now - this.#loggedAt >= hourMs;
    if (isNews) this.#loggedAt = now;
    const message = `The cloud limits requests. Waiting ${describeDuration(ms)}`;
    this.#log[isNews ? 'warn' : 'debug']({ operation: name }, message);
    const waitMs = isVitalList(name) ? Math.min(ms, maxVitalPauseMs) : ms;
    this.#until.set(name, Math.max(this.#until.get(name) ?? 0, now + waitMs));
  }

  /** Waits as long as the cloud requests for this operation; throws if that is too long for the caller. */
  async wait(name: OperationName, deadline: Deadline): Promise<void> {
    const waitMs = this.leftMs(name);
    if (waitMs > Math.min(maxWaitForRetryMs, deadline.remainingMs())) {
      const until = new Date(this.#clock.now() + waitMs).toISOString().slice(0, 16).replace('T', ' ');
      throw new CloudError('rateLimited', name, `the cloud requests a wait until ${until} UTC`, {
        key: 'the cloud requests a wait',
        retryAfterMs: waitMs,
        mayHaveActed: false,
      });
    }
    if (waitMs > 0) await sleep(this.#clock, waitMs, deadline.signal);
  }

  /** Of any operation, in ms; 0 if none waits. */
  get longestMs(): number {
    return Math.max(0, ...[...this.#until.keys()].map((name) => this.leftMs(name)));
  }

  leftMs(name: OperationName): number {
    return Math.max(0, (this.#until.get(name) ?? 0) - this.#clock.monotonic());
  }
}
