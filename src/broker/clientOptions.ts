import type { IClientOptions, MqttClient } from 'mqtt';
import { parseBrokerUrl } from './brokerUrl.ts';

export type Connect = (options: IClientOptions) => MqttClient;

/** Finds the broker's URL. Rejects with a message for people. */
export type BrokerFinder = (stopping: AbortSignal) => Promise<string>;

export interface BrokerOptions {
  /**
   * At least one mqtt, mqtts, ws or wss URL. If one cannot be reached, the next is tried. A user name and a password in
   * a URL replace `username` and `password`.
   */
  readonly urls: readonly string[];
  /** If given, it is called before each attempt, and its URL is used instead of `urls`. */
  readonly find?: BrokerFinder | undefined;
  readonly clientId: string;
  /** The topics that only one client with this ID may use. Who is put out by another one stands still. */
  readonly baseTopic?: string;
  readonly protocolVersion: 4 | 5;
  readonly keepaliveS: number;
  /** How often the broker is pinged, in ms. The pings limit the age at which a message can still look new. */
  readonly pingEveryMs: number;
  readonly username: string | undefined;
  /** Called at each attempt, because it may be in a file. Rejects with a message for people. */
  readonly password: () => Promise<string | undefined>;
  readonly tls: () => Promise<{
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
    readonly rejectUnauthorized: boolean;
  }>;
  readonly will: { readonly topic: string; readonly payload: string } | null;
  /**
   * Filters for the messages that other clients publish at this bridge's topics. The broker does not send this bridge its
   * own messages there, unless it speaks MQTT 3.1.1. If it refuses these filters, the connection works without them.
   */
  readonly overheard?: readonly string[];
  /** Filters for commands. A connection counts as one only after the broker has accepted at least one of them. */
  readonly subscriptions: readonly string[];
  /** A topic of the subscriptions, of no device. Empty messages there show whether the bridge may read (`readTest`). */
  readonly testTopic?: string;
  /** Topics of birth messages, subscribed so that only a stored one has the retain flag. */
  readonly statusTopics?: readonly string[];
}

/** A node of a cluster may need ten seconds to take a client over from a node that has died. */
export const greetingTimeoutMs = 15_000;

/** In bytes. The bridge's own messages are not longer, because the cloud's answers are not. */
const maxPacketBytes = 16 * 1024 * 1024;

/** The options of mqtt.js for an address. Reads the password and the certificates. */
export async function clientOptions(
  options: BrokerOptions,
  url: string,
  version: 4 | 5,
): Promise<IClientOptions> {
  const { clientId, keepaliveS, will } = options;
  const { username, password, ...destination } = parseBrokerUrl(url);
  // Given a key without TLS, the library would use TLS on the port for plain MQTT.
  const isEncrypted = /^(mqtts|wss)$/.test(destination.protocol);
  const [tls, secret] = await Promise.all([
    isEncrypted ? options.tls() : null,
    password ?? options.password(),
  ]);
  const user = username ?? options.username;
  return {
    ...destination,
    clientId,
    keepalive: keepaliveS,
    protocolVersion: version,
    clean: true,
    reconnectPeriod: 0,
    // `MqttSession` has its own limit, which also shows whether TCP was connected. This longer one never ends first.
    connectTimeout: 2 * greetingTimeoutMs,
    resubscribe: false,
    queueQoSZero: false,
    // The cache would have a buffer for each of 65,536 numbers. That is seven megabytes to save a few bytes for each
    // message.
    writeCache: false,
    // An MQTT 5 broker sends no packet that is longer than this.
    ...(version === 5 && { properties: { maximumPacketSize: maxPacketBytes } }),
    ...(user !== undefined && { username: user }),
    // Given a password without a user name, the library would send nothing at all.
    ...(user !== undefined && secret !== undefined && { password: secret }),
    ...(will && {
      will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1 as const, retain: true },
    }),
    ...(tls?.ca !== undefined && { ca: tls.ca }),
    ...(tls?.cert !== undefined && { cert: tls.cert }),
    ...(tls?.key !== undefined && { key: tls.key }),
    ...(tls && { rejectUnauthorized: tls.rejectUnauthorized }),
  };
}
