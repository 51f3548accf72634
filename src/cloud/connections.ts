import { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { joinedLookUp } from './lookUp.ts';

export interface Connections {
  readonly dispatcher: Dispatcher;
  readonly reset: () => void;
}

/** The TCP sockets of this process to the cloud, beneath TLS too: open, or being opened. */
const allSockets = new Set<Socket>();

const lookup = joinedLookUp();

/** The kernel discards what it has not delivered. After an ordinary close it would try to deliver it for a minute or more. */
function reset(sockets: Iterable<Socket>): void {
  for (const socket of sockets) {
    // Nothing was written to a socket that is not connected, and its reset would wait until it is.
    if (socket.connecting) socket.destroy();
    else socket.resetAndDestroy();
  }
}

// Whatever ends the process, after an error too: no change is left to the kernel.
process.on('exit', () => reset(allSockets));

export function connectionsTo({ origin }: URL, count: number, connectTimeoutMs: number): Connections {
  const sockets = new Set<Socket>();
  // Set here, so that no environment variable can switch it off.
  const tls = { timeout: connectTimeoutMs, rejectUnauthorized: true };
  const open = buildConnector({ ...tls, lookup });
  // TCP first and then TLS on top, because only a TCP socket can be reset.
  const connect = inTurnOfItsOwn((options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = options.port || (isSecure ? '443' : '80');
    const socket: unknown = open({ ...options, protocol: 'http:', port }, (...[error, tcp]) => {
      if (error) callback(error, null);
      else if (isSecure) open({ ...options, httpSocket: tcp }, callback);
      else callback(null, tcp);
    });
    if (!(socket instanceof Socket)) return;
    for (const all of [sockets, allSockets]) {
      all.add(socket);
      socket.once('close', () => all.delete(socket));
    }
  });
  // Each request has one deadline for everything. undici's own timeouts are switched off.
  const dispatcher = new Pool(origin, { connections: count, headersTimeout: 0, bodyTimeout: 0, connect });
  return { dispatcher, reset: () => reset(sockets) };
}

/**
 * Hands each connection over in a turn of its own. OpenSSL calls back in the middle of a handshake, and all that follows
 * in the same turn runs within its call. A connection that is given up there, by the gate of its request for example, is
 * freed while OpenSSL still uses it, which ends the process.
 */
function inTurnOfItsOwn(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => connect(options, (...outcome) => void setImmediate(callback, ...outcome));
}
