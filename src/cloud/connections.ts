import { Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool } from 'undici';

/** Opens a connection; what is open already may be given, to put TLS on top of it. */
export type Connector = ReturnType<typeof buildConnector>;

/** Connections to the cloud, and a way to end all of them at once. */
export class Connections {
  readonly dispatcher: Dispatcher;
  readonly #open: Connector;
  /** The TCP sockets, beneath TLS too: open, or being opened. */
  readonly #sockets = new Set<Socket>();

  constructor(origin: string, connections: number, open: Connector) {
    this.#open = open;
    this.dispatcher = new Pool(origin, {
      connections,
      // Each request has one deadline of its own for everything; undici's partial ones would only blur it.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) => this.#connect(options, callback),
    });
  }

  /**
   * Breaks all connections off with a reset, upon which the kernel throws away what it has not delivered. After a mere
   * close it would go on trying to deliver that for a minute or more, even after the end of the process.
   */
  reset(): void {
    for (const socket of this.#sockets) {
      // Nothing was written to a socket that is not connected, and its reset would wait until it is.
      if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** TCP first and then TLS on top, because only a TCP socket can be reset. */
  #connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const isSecure = options.protocol === 'https:';
    const port = options.port || (isSecure ? '443' : '80');
    const socket: unknown = this.#open({ ...options, protocol: 'http:', port }, (...[error, tcp]) => {
      if (error) callback(error, null);
      else if (isSecure) this.#open({ ...options, httpSocket: tcp }, callback);
      else callback(null, tcp);
    });
    if (!(socket instanceof Socket)) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
