import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Clock, sleep } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';

/** The service that is reported to systemd. */
export interface Service {
  /** Resolves once the service has started. */
  readonly started: Promise<void>;
  /** Whether the service does its work. */
  readonly isAlive: () => boolean;
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
}

/** Pings within the watchdog's limit. With three, a single ping may fail or be late without a restart. */
const pingsPerLimit = 3;

// Node.js has no datagram sockets for this. Packages that add them are compiled during their installation. If that
// fails, systemd restarts the service again and again. systemd's own tool is always there.
const runFile = promisify(execFile);

/**
 * Reports to systemd (sd_notify) when the service has started and when it stops. In between, it reports that the
 * service is alive, as often as `WatchdogSec` needs. Does nothing unless systemd asks for it by environment variables.
 * Logs only the first failure.
 */
export async function reportToSystemd(service: Service, clock: Clock, log: Log): Promise<void> {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: limitUs = 0 } = process.env;
  if (!socket) return;
  const { started, isAlive, stopping } = service;
  let hasFailed = false;
  const report = async (state: string) => {
    try {
      await runFile('systemd-notify', [state]);
    } catch (error) {
      if (!hasFailed) log.warn(`Cannot report to systemd: ${errorMessage(error).trim().split('\n').at(-1)}`);
      hasFailed = true;
    }
  };
  await started;
  if (stopping.aborted) return;
  stopping.addEventListener('abort', () => void report('STOPPING=1'), { once: true });
  await report('READY=1');
  const pingMs = Number(limitUs) / 1_000 / pingsPerLimit;
  let deadPings = 0;
  while (pingMs > 0) {
    await sleep(clock, pingMs, stopping).catch(() => undefined);
    if (stopping.aborted) return;
    deadPings = isAlive() ? 0 : deadPings + 1;
    // The first failed check may only follow a sleep of the computer, during which nothing was read either.
    if (deadPings < 2) await report('WATCHDOG=1');
    if (deadPings === 2) log.error('Reading the cloud has stopped. systemd restarts sonic2mqtt');
  }
}
