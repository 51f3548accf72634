interface BrokerAddress {
  readonly protocol: 'mqtt' | 'mqtts' | 'ws' | 'wss';
  readonly host: string;
  readonly port: number;
  /** The path of a WebSocket, with its query: some brokers need a token in the query. */
  readonly path?: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const defaultPorts = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 } as const;

export function parseBrokerUrl(url: string): BrokerAddress {
  const { protocol, hostname, port, pathname, search, username, password } = new URL(url);
  const scheme = protocol.slice(0, -1) as BrokerAddress['protocol'];
  return {
    protocol: scheme,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || defaultPorts[scheme],
    ...(scheme.startsWith('ws') && { path: pathname + search }),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
  };
}

/** The URL for people, without credentials, path and query. */
export function describeUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}
