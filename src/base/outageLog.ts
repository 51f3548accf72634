import type { Clock } from './clock.ts';
import { describeDuration, hourMs } from './duration.ts';
import type { Log } from './log.ts';

export type OutageLog = ReturnType<typeof outageLog>;

/**
 * Logs the outages of one subject: one line when it fails, one line for each other reason, one line an hour during the
 * outage, and one line when it works again. So an evening without internet is a few lines, not thousands. Each line
 * starts with the subject, for example "MQTT broker localhost:1883".
 */
export function outageLog(clock: Clock, log: Log, subject: string) {
  let since: number | null = null;
  let saidAt = 0;
  const keys = new Set<string>();
  let failures = 0;

  /** Records a failure. Another message gets a line only if its key is new too. */
  function failed(message: string, key = message): void {
    const now = clock.monotonic();
    since ??= now;
    failures += 1;
    if (!keys.has(key)) {
      log.warn(`${subject}: ${message}. Retrying`);
    } else if (now - saidAt >= hourMs) {
      const awayFor = describeDuration(now - since);
      log.warn(`${subject}: offline for ${awayFor}, ${failures} attempts: ${message}`);
    } else {
      log.debug(`${subject}: ${message}`);
      return;
    }
    keys.add(key);
    saidAt = now;
  }

  /** Records that it works, and logs this if it had failed. */
  function recovered(): void {
    if (since === null) return;
    const awayFor = describeDuration(clock.monotonic() - since);
    log.info(`${subject}: works again after ${awayFor} (${failures} failed attempts)`);
    since = null;
    failures = 0;
    keys.clear();
  }

  return { failed, recovered };
}
