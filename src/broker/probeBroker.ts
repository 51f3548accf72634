import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { describeUrl } from './addresses.ts';
import type { BrokerOptions } from './clientOptions.ts';
import { Connection } from './connection.ts';

/** The second failure of each address ends a visit: the first may only have been about the version of the protocol. */
const mostFailures = 2;

/**
 * Connects for as long as the work takes, under a name of its own, so that a running bridge is not pushed out.
 * Rejects with the reason in words when the broker cannot be reached, or when the signal aborts.
 */
export async function probeBroker<T>(
  options: Omit<BrokerOptions, 'will' | 'subscriptions'>,
  visitor: string,
  parts: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  if (parts.signal.aborted) throw new Error('stopped');
  let connection: Connection | undefined;
  try {
    const connected = new Promise<Connection>((resolve, reject) => {
      let failures = 0;
      const reasons = new Map<string, string>();
      const created = new Connection(
        { ...options, clientId: `${options.clientId}-${visitor}`, will: null, subscriptions: [] },
        parts.clock,
        Math.random,
        parts.log,
      );
      created.on('connected', () => resolve(created));
      created.on('failed', (reason, url) => {
        failures += 1;
        const name = describeUrl(url);
        reasons.set(name, options.find ? reason : `${name}: ${reason}`);
        if (failures >= mostFailures * options.urls.length) {
          reject(new Error([...reasons.values()].join('; ')));
        }
      });
      parts.signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      connection = created;
      created.start();
    });
    return await work(await connected);
  } finally {
    await connection?.stop([]);
  }
}
