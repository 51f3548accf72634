import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';

/** Where the embedded broker listens and whom it lets in. */
export interface EmbeddedOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** MQTT 3.1.1's "not authorized". */
const notAuthorized = 5;

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
    const { host, port, username, password } = this.#options;
    const broker = await Aedes.createBroker({
      authenticate(_client, user, secret, done) {
        if (username === undefined) return done(null, true);
        const isKnown = same(user ?? '', username) && same(secret?.toString() ?? '', password ?? '');
        if (isKnown) done(null, true);
        else done(Object.assign(new Error('not authorized'), { returnCode: notAuthorized }), false);
      },
    });
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      broker.handle(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    this.#broker = broker;
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /** Hangs up on everybody and stops listening. */
  async stop(): Promise<void> {
    const broker = this.#broker;
    if (broker) await new Promise<void>((closed) => broker.close(() => closed()));
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    if (server) await new Promise<void>((closed) => server.close(() => closed()));
  }
}

function same(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}
