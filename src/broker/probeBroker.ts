import type { Clock } from '../base/clock.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { Log } from '../base/log.ts';
import { describeUrl } from './brokerUrl.ts';
import type { BrokerOptions } from './clientOptions.ts';
import { Connection } from './connection.ts';

/** The broker has answered, and refuses the connection. */
export class BrokerRefusal extends Error {}

/** Connects while `work` runs, with its own client ID, so that a running bridge is not disconnected. */
export async function probeBroker<T>(
  options: Omit<BrokerOptions, 'will' | 'subscriptions'> & Partial<BrokerOptions>,
  visitor: string,
  parts: { readonly clock: Clock; readonly log: Log; readonly stopping: AbortSignal },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  if (parts.stopping.aborted) throw new Error('stopped');
  let connection: Connection | undefined;
  try {
    const connected = new Promise<Connection>((resolve, reject) => {
      const reasons: string[] = [];
      const created = new Connection(
        { will: null, subscriptions: [], ...options, clientId: `${options.clientId}-${visitor}` },
        parts.clock,
        Math.random,
        parts.log,
      );
      created.on('connected', () => resolve(created));
      created.on('failed', (reason, url, hasAnswered) => {
        reasons.push(options.find ? reason : `${describeUrl(url)}: ${reason}`);
        if (reasons.length < options.urls.length) return;
        const words = joinSentences(reasons);
        reject(hasAnswered ? new BrokerRefusal(words) : new Error(words));
      });
      parts.stopping.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      connection = created;
      created.start();
    });
    return await work(await connected);
  } finally {
    await connection?.stop([]);
  }
}
