import { ConfigError } from './problems.ts';
import type { Config } from './schema.ts';
import { decoded } from './values.ts';

// Addresses that follow from the configuration: of the broker, the status page and the proxy.

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

/**
 * The proxy for an address, from the environment; null if there is none. The rules are those of undici's
 * EnvHttpProxyAgent: `HTTPS_PROXY` or else `HTTP_PROXY` for https, `HTTP_PROXY` for http, unless `NO_PROXY` names the
 * host. Names in lower case come first. This machine is always reached directly.
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | null {
  if (isLoopback(url.hostname) || isExempt(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return null;
  const names = url.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  for (const name of names) {
    const value = env[name.toLowerCase()] ?? env[name];
    if (value) return parseProxy(name, value);
  }
  return null;
}

function parseProxy(name: string, value: string): URL {
  const proxy = URL.parse(value.includes('://') ? value : `http://${value}`);
  // In a user name or password, % is written %25.
  if (proxy && /^https?:$/.test(proxy.protocol) && decoded(proxy.username + proxy.password) !== null)
    return proxy;
  // The message does not repeat the value, because it may hold a password.
  throw new ConfigError([`${name}: must be the address of an HTTP proxy, for example http://proxy:3128`]);
}

/** Whether a list such as `.example.com,cloud.example.com:8443` names the host or one of its parent domains. */
function isExempt({ hostname, protocol, port }: URL, list: string): boolean {
  if (list.trim() === '*') return true;
  const usedPort = port || (protocol === 'https:' ? '443' : '80');
  return list.split(/[,\s]+/).some((entry) => {
    const [, name = entry, namedPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const domain = name.replace(/^\*?\./, '').toLowerCase();
    const isNamed = domain !== '' && (hostname === domain || hostname.endsWith(`.${domain}`));
    return isNamed && (namedPort === undefined || Number(namedPort) === Number(usedPort));
  });
}
