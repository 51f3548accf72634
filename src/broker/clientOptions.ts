import type { IClientOptions } from 'mqtt';
import { parseBrokerUrl } from './brokerUrl.ts';
import { NoopStore } from './noopStore.ts';
import { maxPacketBytes } from './packetLimit.ts';

/** Finds the URL of the broker. Rejects with a message for people. */
export type BrokerFinder = (stopping: AbortSignal) => Promise<string>;

/** Where and how to connect. */
export interface BrokerOptions {
  /**
   * At least one, with mqtt, mqtts, ws or wss. If one cannot be reached, the next is tried. A user name and a password in a
   * URL replace those below.
   */
  readonly urls: readonly string[];
  /** Called before each attempt, instead of these. */
  readonly find?: BrokerFinder | undefined;
  readonly clientId: string;
  readonly protocolVersion: 4 | 5;
  readonly keepaliveS: number;
  /** How often the broker is pinged, which bounds how old a message can be that passes for new. */
  readonly pingEveryMs: number;
  readonly username: string | undefined;
  /** Read again at each attempt, since it may be in a file. Not sent without a user name. Throws a message for people. */
  readonly password: () => string | undefined;
  /** Read again at each attempt: certificates are renewed while the bridge runs. */
  readonly tls: () => {
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
    readonly rejectUnauthorized: boolean;
  };
  /** Published by the broker, retained, when the bridge vanishes. */
  readonly will: { readonly topic: string; readonly payload: string } | null;
  /** Filters for the messages of other bridges. The connection works without them if the broker refuses them. */
  readonly overheard?: readonly string[];
  /** Filters for commands, subscribed to before a connection counts as one. */
  readonly subscriptions: readonly string[];
  /** Topics of birth messages, subscribed to like those. Of the messages there, only stored ones have the retain flag. */
  readonly statusTopics?: readonly string[];
}

/** A node of a cluster may need ten seconds to take a client over from one that has died. */
export const greetingTimeoutMs = 15_000;

/** The options of mqtt.js for an address, with the present content of the files. Throws if a file cannot be read. */
export function clientOptions(options: BrokerOptions, url: string, version: 4 | 5): IClientOptions {
  const { clientId, keepaliveS, will } = options;
  const tls = options.tls();
  const { username, password, ...destination } = parseBrokerUrl(url);
  const user = username ?? options.username;
  const secret = password ?? options.password();
  return {
    ...destination,
    clientId,
    keepalive: keepaliveS,
    protocolVersion: version,
    clean: true,
    reconnectPeriod: 0,
    // The session has a limit of its own, which says whether there was a connection at all.
    connectTimeout: 2 * greetingTimeoutMs,
    resubscribe: false,
    queueQoSZero: false,
    // The cache would have a buffer for each of 65,536 numbers: seven megabytes, to save a few bytes a message.
    writeCache: false,
    // An MQTT 5 broker sends no longer packet.
    ...(version === 5 && { properties: { maximumPacketSize: maxPacketBytes } }),
    outgoingStore: new NoopStore(),
    ...(user !== undefined && { username: user }),
    // With a password and no user name, the library would send nothing at all.
    ...(user !== undefined && secret !== undefined && { password: secret }),
    ...(will && {
      will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1 as const, retain: true },
    }),
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.cert !== undefined && { cert: tls.cert }),
    ...(tls.key !== undefined && { key: tls.key }),
    rejectUnauthorized: tls.rejectUnauthorized,
  };
}
