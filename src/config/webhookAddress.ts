import type { Config } from './schema.ts';
import { readSecret } from './secrets.ts';

/** Where the cloud is to deliver. */
export interface WebhookAddress {
  readonly url: string;
  /** Whether it ends with the path of the bridge; else a proxy has to lead there. */
  readonly isOwnPath: boolean;
}

/** What is put into each property; null where nothing is. Throws, in words, when the file of the secret is unreadable. */
export function webhookAddress({ http: { webhook } }: Pick<Config, 'http'>): WebhookAddress | null {
  const { public_url: written, register } = webhook;
  if (!register || written === null) return null;
  const secret = readSecret(webhook, 'secret');
  const endings = secret === undefined ? [] : [secret, encodeURIComponent(secret)];
  // What is there for a proxy may need its slash; the bridge's own path has none.
  const bare = written.replace(/\/+$/, '');
  const isOwnPath = endings.some((each) => bare.endsWith(`/webhook/${each}`));
  return { url: isOwnPath ? bare : written, isOwnPath };
}
