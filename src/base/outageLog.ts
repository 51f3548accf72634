import type { Clock } from './clock.ts';
import { describeDuration, hourMs } from './duration.ts';
import type { Log } from './log.ts';

/**
 * Logs the outages of one subject: one line when it fails, one line for each other reason, one line an hour during the
 * outage, and one line when it works again. So an evening without internet is a few lines, not thousands.
 */
export class OutageLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #subject: string;
  #since: number | null = null;
  #saidAt = 0;
  readonly #keys = new Set<string>();
  #failures = 0;

  /** Each line starts with the subject, for example "MQTT broker localhost:1883". */
  constructor(clock: Clock, log: Log, subject: string) {
    this.#clock = clock;
    this.#log = log;
    this.#subject = subject;
  }

  /** Records a failure. Another message gets a line only if its key is new too. */
  failed(message: string, key = message): void {
    const now = this.#clock.monotonic();
    this.#since ??= now;
    this.#failures += 1;
    if (!this.#keys.has(key)) {
      this.#log.warn(`${this.#subject}: ${message}. Retrying`);
    } else if (now - this.#saidAt >= hourMs) {
      const awayFor = describeDuration(now - this.#since);
      this.#log.warn(`${this.#subject}: offline for ${awayFor}, ${this.#failures} attempts: ${message}`);
    } else {
      this.#log.debug(`${this.#subject}: ${message}`);
      return;
    }
    this.#keys.add(key);
    this.#saidAt = now;
  }

  /** Records that it works, and logs this if it had failed. */
  recovered(): void {
    if (this.#since === null) return;
    const awayFor = describeDuration(this.#clock.monotonic() - this.#since);
    this.#log.info(`${this.#subject}: works again after ${awayFor} (${this.#failures} failed attempts)`);
    this.#since = null;
    this.#failures = 0;
    this.#keys.clear();
  }
}
