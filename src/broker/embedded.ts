import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes, type PublishPacket } from 'aedes';
import { matchesAny } from './topicFilter.ts';

export interface EmbeddedOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** How long a client may leave messages unread, in ms. After that it is disconnected. */
  readonly unreadMs: number;
  /** Sees the retain flag of live messages under these filters, which MQTT 3.1.1 itself clears. */
  readonly retainAsPublished?: { readonly clientId: string; readonly filters: readonly string[] };
}

/** Marks a message that was sent with the retain flag, inside the broker only. The broker itself clears the flag. */
const sentRetained: NonNullable<PublishPacket['properties']> = {};

/** What a client may send before it has signed in. aedes itself would keep 256 MB. */
const signInBytes = 64 * 1024;
const signInTimeoutMs = 5_000;

const maxConnections = 100;

const notAuthorizedCode = 5;

/** A broker inside the bridge: MQTT 3.1.1, in memory, for trying out and for Node-RED. */
export class EmbeddedBroker {
  readonly #options: EmbeddedOptions;
  readonly #sockets = new Set<Socket>();
  #broker: Aedes | null = null;
  #server: Server | null = null;

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
      authenticate(_client, user, secret, done) {
        if (username === undefined) return done(null, true);
        const isKnown = same(user ?? '', username) && same(secret?.toString() ?? '', password ?? '');
        if (isKnown) done(null, true);
        else done(Object.assign(new Error('not authorized'), { returnCode: notAuthorizedCode }), false);
      },
    });
    if (retainAsPublished) passRetainOn(broker, retainAsPublished);
    const server = createServer((socket) => {
      // Without this, a message waits until the receiver's system has acknowledged the one before, for up to 40 ms.
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      const client = broker.handle(socket);
      socket.on('data', () => {
        if (!client.connected && socket.bytesRead > signInBytes) socket.destroy();
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

  async stop(): Promise<void> {
    const broker = this.#broker;
    if (broker) await new Promise<void>((closed) => broker.close(() => closed()));
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    if (server) await new Promise<void>((closed) => server.close(() => closed()));
  }
}

/** Keeps the retain flag of live messages for one client, as MQTT 5 can. */
function passRetainOn(
  broker: Aedes,
  { clientId, filters }: NonNullable<EmbeddedOptions['retainAsPublished']>,
): void {
  const { authorizePublish } = broker;
  const isSubscribed = matchesAny(filters);
  broker.authorizePublish = (client, packet, done) => {
    if (packet.retain) packet.properties = sentRetained;
    authorizePublish(client, packet, done);
  };
  broker.authorizeForward = (client, packet) => {
    const isMeant = client.id === clientId && isSubscribed(packet.topic);
    return isMeant && packet.properties === sentRetained ? Object.assign(packet, { retain: true }) : packet;
  };
}

function same(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}
