/** How an attempt was met: with a greeting, with a no to the version, in silence, or in another way. */
export type ConnectResult = 'welcomed' | 'unspoken' | 'hungUp' | 'failed';

/**
 * How sure it is that an address speaks 3.1.1 only, though it has not said so. A broker from before MQTT 5 may just
 * hang up on it, as does a proxy whose broker restarts: only what answers 3.1.1 and hangs up on MQTT 5 right after,
 * too, is such a broker. With 3.1.1 nobody can tell that a live command was sent with the retain flag.
 */
type Doubt = 'none' | 'trial' | 'recheck' | 'settled';

/** What follows of how an attempt went; anything else leaves no doubt. */
const doubts: Readonly<Record<Doubt, Partial<Record<ConnectResult, Doubt>>>> = {
  none: { hungUp: 'trial' },
  trial: { welcomed: 'recheck' },
  recheck: { hungUp: 'settled' },
  settled: {},
};

/** No restart takes so long: after so many hang-ups in a row, some minutes of them, there may be another broker. */
const mostHangUps = 20;

/** One of the broker's addresses, and what is known of it. */
export class Address {
  readonly url: string;
  readonly #wantedVersion: 4 | 5;
  /** Of MQTT, what it speaks at most as far as it has said. */
  #bestVersion: 4 | 5;
  /** Whether it has said, or shown: then no hang-up counts, unless there are too many. */
  #isSure: boolean;
  /** In a row. */
  #hangUps = 0;
  #doubt: Doubt = 'none';
  #hasRefused = false;
  #hasWelcomed = false;

  constructor(url: string, version: 4 | 5) {
    this.url = url;
    this.#wantedVersion = version;
    this.#bestVersion = version;
    this.#isSure = version === 4;
  }

  /** Of MQTT, at the next attempt. */
  get version(): 4 | 5 {
    return this.#doubt === 'trial' || this.#doubt === 'settled' ? 4 : this.#bestVersion;
  }

  /** Whether the next attempt only asks for a greeting, and is no connection. */
  get isTrial(): boolean {
    return this.#doubt === 'trial';
  }

  /** Whether it has ever said that it does not speak MQTT 5. */
  get hasRefused(): boolean {
    return this.#hasRefused;
  }

  /** Whether there was a connection to it. */
  get hasWelcomed(): boolean {
    return this.#hasWelcomed;
  }

  /** An attempt, or the connection that it became, is over; says whether the next one follows here and at once. */
  hasEnded(reception: ConnectResult): boolean {
    this.#hasWelcomed ||= reception === 'welcomed';
    this.#isSure ||= reception === 'unspoken' || (reception === 'welcomed' && this.version === 5);
    this.#hangUps = reception === 'hungUp' ? this.#hangUps + 1 : 0;
    if (this.#hangUps >= mostHangUps) this.#isSure = this.#wantedVersion === 4;
    // At the end of a connection too, as brokers are stopped to be replaced.
    if (reception === 'welcomed' || !this.#isSure) this.#bestVersion = this.#wantedVersion;
    if (reception === 'unspoken') {
      this.#bestVersion = 4;
      this.#hasRefused = true;
    }
    this.#doubt = this.#isSure ? 'none' : (doubts[this.#doubt][reception] ?? 'none');
    return reception === 'unspoken' || this.#doubt === 'recheck' || this.#doubt === 'settled';
  }
}

/**
 * The addresses of a broker, which is one or a cluster of several: the next one where one is away. It stays where it
 * works, since those that work are all the same.
 */
export class Addresses {
  readonly #all: readonly Address[];
  #index = 0;
  #tried = 0;

  constructor(urls: readonly string[], version: 4 | 5) {
    this.#all = urls.map((url) => new Address(url, version));
  }

  /** Where the next attempt goes. */
  get current(): Address {
    const address = this.#all[this.#index];
    if (!address) throw new Error('there is no address of an MQTT broker');
    return address;
  }

  /** Whether there is one only. */
  get isSingle(): boolean {
    return this.#all.length === 1;
  }

  /** The current one has failed; whether the next one is to be tried at once, or only after a wait, since each was. */
  goOn(): boolean {
    this.#index = (this.#index + 1) % this.#all.length;
    this.#tried = (this.#tried + 1) % this.#all.length;
    return this.#tried !== 0;
  }

  /** The current one has worked for long: what was tried before it counts no more. */
  hasLasted(): void {
    this.#tried = 0;
  }
}

/** Whom a URL leads to, and as whom where it says so. */
export interface BrokerAddress {
  readonly protocol: 'mqtt' | 'mqtts' | 'ws' | 'wss';
  readonly host: string;
  readonly port: number;
  /** Of a WebSocket. */
  readonly path?: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const defaultPorts = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 } as const;

/** Takes a valid URL of a broker apart. */
export function parseBrokerUrl(url: string): BrokerAddress {
  const { protocol, hostname, port, pathname, username, password } = new URL(url);
  const scheme = protocol.slice(0, -1) as BrokerAddress['protocol'];
  return {
    protocol: scheme,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || defaultPorts[scheme],
    ...(scheme.startsWith('ws') && { path: pathname }),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
  };
}

/** The URL without what is nobody's business. */
export function describeUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}
