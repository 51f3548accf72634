import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Clock, sleep } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';

/*
 * A process that hangs cannot recover by itself, so another one watches it. The health check of the image looks at the time
 * stamp of a file, and systemd waits for messages (sd_notify). Both see that the event loop works, and nothing else.
 */

/** The health check fails a minute after the last time stamp. */
const stampEveryMs = 10_000;

/** `WatchdogSec` in microseconds, if systemd does not say. */
const usualLimitUs = 180_000_000;

/** Reports within the limit of systemd. With three, a single one may fail or be late without a restart. */
const reportsPerLimit = 3;

// Node.js has no datagram sockets for this. Packages that add them are compiled during their installation. If that
// fails, systemd restarts the service again and again. systemd's own tool is always there.
const runFile = promisify(execFile);

/**
 * Shows from now on that the bridge has started and that its event loop works, to those that ask for it by environment
 * variables. Ends when `stopping` aborts. Logs only the first failure.
 */
export function showLife(clock: Clock, log: Log, stopping: AbortSignal): void {
  const { HEARTBEAT_FILE: file, NOTIFY_SOCKET: socket, WATCHDOG_USEC: limitUs } = process.env;
  const repeat = async (
    everyMs: number,
    show: () => Promise<unknown>,
    failure: (reason: string | undefined) => string,
  ) => {
    let hasFailed = false;
    while (!stopping.aborted) {
      await show().catch((error) => {
        if (!hasFailed) log.warn(failure(errorMessage(error).trim().split('\n').at(-1)));
        hasFailed = true;
      });
      await sleep(clock, everyMs, stopping).catch(() => undefined);
    }
  };
  if (file) {
    const stamp = () => writeFile(file, '\n');
    void repeat(stampEveryMs, stamp, (reason) => `The health check fails: ${reason}`);
  }
  if (socket) {
    const everyMs = Number(limitUs ?? usualLimitUs) / 1_000 / reportsPerLimit;
    const report = () => runFile('systemd-notify', ['READY=1', 'WATCHDOG=1']);
    void repeat(everyMs, report, (reason) => `Cannot report to systemd: ${reason}`);
  }
}
