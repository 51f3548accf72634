import { createRequire } from 'node:module';
import { createServer, connect as dial, type Socket } from 'node:net';
import type { Packet } from 'mqtt';
import { atTestEnd } from './childProcess.ts';

/** A client's way to the broker, as a script has it in its hands. */
export interface Way {
  /** Of MQTT, as the client said. */
  readonly version: 4 | 5;
  /** Shows the client a packet, or any bytes. */
  toClient(packet: Packet | Buffer): void;
  toBroker(packet: Packet): void;
  hangUp(): void;
  /** Hangs up as a machine does that knows nothing of the connection. */
  reset(): void;
}

/** What becomes of packets: each answers whether it has dealt with the packet, which then goes no further. */
export interface Script {
  readonly fromClient?: (packet: Packet, way: Way) => boolean;
  readonly fromBroker?: (packet: Packet, way: Way) => boolean;
}

/** A broker whose answers are a real one's, but for what the script says. */
export interface ScriptedBroker {
  readonly url: string;
  /** Ways that are open. */
  readonly ways: ReadonlySet<Way>;
  /** How many connections were made. */
  readonly visits: number;
  /** Plays this from the next packet on; without a script, all packets pass. */
  play(script?: Script): void;
}

interface Codec {
  parser(options: { protocolVersion?: number }): {
    parse(bytes: Buffer): number;
    on(event: 'packet', take: (packet: Packet) => void): void;
    on(event: 'error', take: (error: Error) => void): void;
  };
  generate(packet: Packet, options: { protocolVersion: number }): Buffer;
}

/** The one that mqtt.js brings along. */
const codec: Codec = createRequire(createRequire(import.meta.url).resolve('mqtt'))('mqtt-packet');

/** Starts a scripted broker in front of a real one on the loopback; it ends with the test that started it. */
export async function startScriptedBroker(brokerUrl: string): Promise<ScriptedBroker> {
  const ways = new Set<Way>();
  const sockets = new Set<Socket>();
  let script: Script = {};
  let visits = 0;

  const server = createServer((client) => {
    visits += 1;
    const broker = dial(Number(new URL(brokerUrl).port), '127.0.0.1');
    let version: 4 | 5 = 4;
    const bytesOf = (packet: Packet | Buffer) =>
      Buffer.isBuffer(packet) ? packet : codec.generate(packet, { protocolVersion: version });
    const way: Way = {
      get version() {
        return version;
      },
      toClient: (packet) => void (client.writable && client.write(bytesOf(packet))),
      toBroker: (packet) => void (broker.writable && broker.write(bytesOf(packet))),
      hangUp: () => client.destroy(),
      reset: () => client.resetAndDestroy(),
    };
    ways.add(way);
    const pairs = [
      [client, broker],
      [broker, client],
    ] as const;
    for (const [from, to] of pairs) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        ways.delete(way);
        to.destroy();
      });
    }
    const fromClient = codec.parser({});
    client.on('data', (bytes) => fromClient.parse(bytes));
    fromClient.on('error', () => client.destroy());
    fromClient.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        version = packet.protocolVersion === 5 ? 5 : 4;
        const fromBroker = codec.parser({ protocolVersion: version });
        broker.on('data', (bytes) => fromBroker.parse(bytes));
        fromBroker.on('packet', (answer) => {
          if (!script.fromBroker?.(answer, way)) way.toClient(answer);
        });
        fromBroker.on('error', () => broker.destroy());
      }
      if (!script.fromClient?.(packet, way)) way.toBroker(packet);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    url: `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    ways,
    get visits() {
      return visits;
    },
    play(next = {}) {
      script = next;
    },
  };
}
