import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes, type Client, type PublishPacket } from 'aedes';
import { minuteMs } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import { matchesAny } from './topicFilter.ts';

export interface EmbeddedOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  /** Called at each sign-in, because it may be in a file. If it rejects, nobody can sign in. */
  readonly password: () => Promise<string | undefined>;
  /** How long a client may leave messages unread, in ms. After that it is disconnected. */
  readonly unreadMs: number;
  /** Sees the retain flag of live messages under these filters, which MQTT 3.1.1 itself clears. */
  readonly retainAsPublished?: { readonly clientId: string; readonly filters: readonly string[] };
  readonly log: Log;
}

/** Marks a message that was sent with the retain flag, inside the broker only. The broker itself clears the flag. */
const sentRetained: NonNullable<PublishPacket['properties']> = {};

/** What a client may send before it has signed in. aedes itself would keep 256 MB. */
const signInBytes = 64 * 1024;
const signInTimeoutMs = 5_000;

const maxConnections = 100;
const maxPacketBytes = 1024 * 1024;
const maxRetained = { topics: 10_000, bytes: 16 * 1024 * 1024 };

/** MQTT forbids these characters in a topic. Other programs may read a NUL as its end. */
const forbidden = /[\0+#]/;

const notAuthorizedCode = 5;

/** A broker inside the bridge: MQTT 3.1.1, in memory, for trying out and for Node-RED. */
export class EmbeddedBroker {
  readonly #options: EmbeddedOptions;
  readonly #sockets = new Set<Socket>();
  #broker: Aedes | null = null;
  #server: Server | null = null;
  /** The bytes that each retained message takes, and those of all. */
  readonly #retained = new Map<string, number>();
  #retainedBytes = 0;
  readonly #warnings = new Map<string, { at: number; count: number }>();

  constructor(options: EmbeddedOptions) {
    this.#options = options;
  }

  /** Listens; resolves to the port. Throws the listener's error, such as EADDRINUSE. */
  async start(): Promise<number> {
    const { host, port, username, password, unreadMs, retainAsPublished } = this.#options;
    const broker = await Aedes.createBroker({
      connectTimeout: signInTimeoutMs,
      // Without this, aedes handles 100 messages at a time. A client that does not read would stop them all, and the
      // queue behind them overflows the stack when it is released. Now only those who send to that client wait.
      concurrency: 0,
      drainTimeout: unreadMs,
      // Stored sessions of clients that never return would fill the memory, so each session is a clean one.
      preConnect(_client, packet, done) {
        packet.clean = true;
        done(null, true);
      },
      authenticate: (client, user, secret, done) => {
        if (username === undefined) return done(null, true);
        const judge = (wanted: string | null) => {
          if (wanted !== null && same(user ?? '', username) && same(secret?.toString() ?? '', wanted))
            return done(null, true);
          this.#warn('wrong user name or password', `, last from ${addressOf(client)}`);
          done(Object.assign(new Error('not authorized'), { returnCode: notAuthorizedCode }), false);
        };
        void password()
          .catch(() => null)
          .then((wanted = '') => judge(wanted));
      },
      authorizeSubscribe: (_client, subscription, done) =>
        done(null, subscription.topic.includes('\0') ? null : subscription),
    });
    const { authorizePublish } = broker;
    broker.authorizePublish = (client, packet, done) => {
      if (forbidden.test(packet.topic)) return done(new Error('a forbidden topic'));
      if (packet.retain) packet.properties = sentRetained;
      authorizePublish(client, packet, (error) => {
        if (!error && packet.retain) this.#limitRetained(broker, packet);
        done(error);
      });
    };
    if (retainAsPublished) passRetainOn(broker, retainAsPublished);
    const server = createServer((socket) => {
      // Without this, a message waits until the receiver's system has acknowledged the one before, for up to 40 ms.
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      const client = broker.handle(socket);
      const isTooLong = packetLimit(maxPacketBytes);
      socket.on('data', (bytes) => {
        if (isTooLong(bytes) || (!client.connected && socket.bytesRead > signInBytes)) socket.destroy();
      });
    });
    server.maxConnections = maxConnections;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    this.#broker = broker;
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /**
   * Beyond the limits, a message is delivered but not stored. MQTT 3.1.1 has no word for that. The stored message of its
   * topic would be an old one, so it is deleted.
   */
  #limitRetained(broker: Aedes, packet: PublishPacket): void {
    const { topic, payload } = packet;
    const before = this.#retained.get(topic) ?? 0;
    const bytes = payload.length === 0 ? 0 : Buffer.byteLength(topic) + payload.length;
    const isFull =
      this.#retainedBytes - before + bytes > maxRetained.bytes ||
      (before === 0 && this.#retained.size >= maxRetained.topics);
    const kept = isFull ? 0 : bytes;
    this.#retainedBytes += kept - before;
    if (kept > 0) this.#retained.set(topic, kept);
    else this.#retained.delete(topic);
    if (kept === bytes) return;
    packet.retain = false;
    if (before > 0) void stored(broker).storeRetained({ ...packet, payload: Buffer.alloc(0) });
    this.#warn('too many retained messages, not stored', `, last at ${topic.slice(0, 200)}`);
  }

  #warn(problem: string, last: string): void {
    const now = performance.now();
    const warning = this.#warnings.get(problem) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
    this.#warnings.set(problem, warning);
    warning.count += 1;
    if (now - warning.at < minuteMs) return;
    const times = warning.count === 1 ? 'once' : `${warning.count} times`;
    this.#options.log.warn(`Built-in MQTT broker: ${problem} (${times}${last})`);
    Object.assign(warning, { at: now, count: 0 });
  }

  async stop(): Promise<void> {
    const broker = this.#broker;
    if (broker) await new Promise<void>((closed) => broker.close(() => closed()));
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    if (server) await new Promise<void>((closed) => server.close(() => closed()));
  }
}

/** Reads the lengths of packets from the bytes of a connection. The result says whether one is longer than this. */
function packetLimit(maxBytes: number): (bytes: Buffer) => boolean {
  let left = 0;
  /** Of the length that is being read, 7 bits a byte; null before a packet. */
  let shift: number | null = null;
  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      if (shift === null && left > 0) {
        const skipped = Math.min(left, bytes.length - at);
        left -= skipped;
        at += skipped;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      if (shift === null) {
        shift = 0;
        continue;
      }
      left += (byte & 127) * 2 ** shift;
      if (left > maxBytes || shift > 21) return true;
      shift = byte > 127 ? shift + 7 : null;
    }
    return false;
  };
}

/** Keeps the retain flag of live messages for one client, as MQTT 5 can. */
function passRetainOn(
  broker: Aedes,
  { clientId, filters }: NonNullable<EmbeddedOptions['retainAsPublished']>,
): void {
  const isSubscribed = matchesAny(filters);
  broker.authorizeForward = (client, packet) => {
    const isMeant = client.id === clientId && isSubscribed(packet.topic);
    return isMeant && packet.properties === sentRetained ? Object.assign(packet, { retain: true }) : packet;
  };
}

/** The messages that aedes has stored. Its types lack them. */
function stored(broker: Aedes): { storeRetained(packet: PublishPacket): Promise<void> } {
  return (broker as unknown as { persistence: ReturnType<typeof stored> }).persistence;
}

function addressOf({ conn }: Client): string {
  return ('remoteAddress' in conn && String(conn.remoteAddress)) || 'an unknown address';
}

function same(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}
