import { ConfigError } from './load.ts';
import { isOwnMachine } from './risks.ts';

/**
 * The proxy that the environment names for an address, by the rules of undici's EnvHttpProxyAgent: `HTTPS_PROXY` or else
 * `HTTP_PROXY` for https, `HTTP_PROXY` for http, unless `NO_PROXY` names the host; lower case goes first. Null for none.
 * What is on this machine is always reached directly.
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | null {
  if (isOwnMachine(url.hostname) || isExempt(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return null;
  const names = url.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  for (const name of names) {
    const value = env[name.toLowerCase()] ?? env[name];
    if (value) return readProxy(name, value);
  }
  return null;
}

function readProxy(name: string, value: string): URL {
  const written = value.includes('://') ? value : `http://${value}`;
  const proxy = URL.canParse(written) ? new URL(written) : null;
  if (proxy && /^https?:$/.test(proxy.protocol)) return proxy;
  // The value is not repeated: it may hold a password.
  throw new ConfigError([`${name}: must be the address of an HTTP proxy, for example http://proxy:3128`]);
}

/** Whether a list such as `localhost,.example.com,cloud.example.com:8443` names the host, or a domain that it is in. */
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
