import type { Config } from './schema.ts';

// Addresses that follow from the configuration of the status page.

/** Whether a host name means this machine. If so, no other machine can receive or read the data. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** For a browser on another machine; null if the page is not served, or its address is not known. */
export function statusPageUrl({ http: { listen } }: { http: Pick<Config['http'], 'listen'> }): string | null {
  if (listen === null || listen.port === 0) return null;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  const url = URL.parse(`http://${host}:${listen.port}/`);
  // If the page is served on all addresses, it is not known which of them a browser can reach.
  if (url === null || ['0.0.0.0', '[::]'].includes(url.hostname) || isLoopback(url.hostname)) return null;
  return url.href;
}
