import type { Clock } from './clock.ts';
import { describeDuration } from './duration.ts';
import type { Log } from './log.ts';

const summaryEveryMs = 3_600_000;

/**
 * Tells the log of something that comes and goes: one line when it fails, one an hour while it stays away (and one
 * for each other gist of the reason), one when it is back. An evening without internet is a handful of lines, not
 * thousands.
 */
export class OutageLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #what: string;
  #since: number | null = null;
  #saidAt = 0;
  readonly #gists = new Set<string>();
  #failures = 0;

  /** The log lines start with `what`: "MQTT broker localhost:1883". */
  constructor(clock: Clock, log: Log, what: string) {
    this.#clock = clock;
    this.#log = log;
    this.#what = what;
  }

  /** Notes a failure, with its reason in words; another one is said only if its gist is new too. */
  failed(reason: string, gist = reason): void {
    const now = this.#clock.monotonic();
    this.#since ??= now;
    this.#failures += 1;
    if (!this.#gists.has(gist)) {
      this.#log.warn(`${this.#what}: ${reason}. Retrying`);
    } else if (now - this.#saidAt >= summaryEveryMs) {
      const awayFor = describeDuration(now - this.#since);
      this.#log.warn(`${this.#what}: offline for ${awayFor}, ${this.#failures} attempts: ${reason}`);
    } else {
      this.#log.debug(`${this.#what}: ${reason}`);
      return;
    }
    this.#gists.add(gist);
    this.#saidAt = now;
  }

  /** Notes that it works; says so, if it had failed. */
  recovered(): void {
    if (this.#since === null) return;
    const awayFor = describeDuration(this.#clock.monotonic() - this.#since);
    this.#log.info(`${this.#what}: works again after ${awayFor} (${this.#failures} failed attempts)`);
    this.#since = null;
    this.#failures = 0;
    this.#gists.clear();
  }
}
