import { isOwnMachine } from './risks.ts';
import type { Config } from './schema.ts';

type Served = { readonly http: Pick<Config['http'], 'listen'> };

/**
 * Where a browser on another machine opens the status page; null where that is not known: the page is not served, or
 * on all addresses, or for this machine alone.
 */
export function statusPageUrl({ http: { listen } }: Served): string | null {
  if (listen === null || listen.port === 0) return null;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  const written = `http://${host}:${listen.port}/`;
  if (!URL.canParse(written)) return null;
  const { hostname, href } = new URL(written);
  return hostname === '0.0.0.0' || hostname === '[::]' || isOwnMachine(hostname) ? null : href;
}
