import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { BrokerOptions } from '../../src/broker/clientOptions.ts';
import { type Connect, connectLimited } from '../../src/broker/connect.ts';
import { Connection } from '../../src/broker/connection.ts';
import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import type { BrokerMessage } from '../../src/broker/message.ts';
import { atTestEnd } from './childProcess.ts';
import { type LogLines, logLines } from './logLines.ts';
import { mosquittoAvailable, startMosquitto } from './mosquitto.ts';
import { waitFor } from './waitFor.ts';

/** Options of a connection to the broker at this address, or these, with nothing but what it needs. */
export function brokerOptions(
  url: string | readonly string[],
  changes: Partial<BrokerOptions> = {},
): BrokerOptions {
  return {
    urls: [url].flat(),
    clientId: 'bridge-under-test',
    protocolVersion: 5,
    keepaliveS: 60,
    pingEveryMs: 2_500,
    username: undefined,
    password: () => undefined,
    tls: () => ({ ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true }),
    will: null,
    subscriptions: [],
    ...changes,
  };
}

/** A connection, what it told its owner and the log, and how its clients fared. */
export interface TestConnection {
  readonly connection: Connection;
  readonly lines: LogLines;
  readonly heard: readonly BrokerMessage[];
  /** `connected`, `disconnected`, `will published` and `failed: REASON`, in order. */
  readonly happenings: readonly string[];
  /** How often it has waited before an attempt. */
  readonly waits: number;
}

/** Beyond what is drawn in earnest, so that a second's wait is a twentieth. */
const impatience = -0.9;

/** Starts a connection, which does not wait long between its attempts; it ends with the test. */
export function openConnection(
  url: string | readonly string[],
  changes: Partial<BrokerOptions> = {},
  clock: Clock = systemClock,
): TestConnection {
  const lines = logLines('info');
  const heard: BrokerMessage[] = [];
  const happenings: string[] = [];
  let waits = 0;
  let isConnected = false;
  const dial: Connect = (...given) => {
    const client = connectLimited(...given);
    client.on('close', () => {
      if (isConnected) happenings.push('disconnected');
      isConnected = false;
    });
    return client;
  };
  const connection = new Connection(
    brokerOptions(url, changes),
    clock,
    () => {
      waits += 1;
      return impatience;
    },
    lines.log,
    dial,
  );
  connection.on('connected', () => {
    isConnected = true;
    happenings.push('connected');
  });
  connection.on('message', (message) => heard.push(message));
  connection.on('failed', (reason) => happenings.push(`failed: ${reason}`));
  connection.on('willPublished', () => happenings.push('will published'));
  connection.start();
  atTestEnd(() => connection.stop([]));
  return {
    connection,
    lines,
    heard,
    happenings,
    get waits() {
      return waits;
    },
  };
}

/** Starts a connection and resolves once it is one. */
export async function connected(
  url: string | readonly string[],
  changes: Partial<BrokerOptions> = {},
): Promise<TestConnection> {
  const opened = openConnection(url, changes);
  await waitFor(() => opened.connection.isConnected, { what: 'the connection' });
  return opened;
}

/** A kind of broker, and whether it is on this machine. */
export interface BrokerKind {
  readonly name: string;
  readonly isHere: boolean;
  readonly protocolVersion: 4 | 5;
  /** What the connection says it speaks in the end. */
  readonly spoken: string;
  start(): Promise<{ readonly url: string; readonly port: number }>;
}

/** Starts an embedded broker, which ends with the test. */
export async function startEmbedded(): Promise<{ url: string; port: number; broker: EmbeddedBroker }> {
  const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, username: undefined, password: undefined });
  const port = await broker.start();
  atTestEnd(() => broker.stop());
  return { url: `mqtt://127.0.0.1:${port}`, port, broker };
}

const isHere = mosquittoAvailable();
if (!isHere) console.info('Mosquitto is not installed: its broker tests are skipped');

/** Mosquitto as it is installed, which drops what does not fit into a client's queue. */
const startInstalled = () => startMosquitto({ lines: ['max_queued_messages 1000'] });

/** The brokers that all must work with. */
export const brokerKinds: readonly BrokerKind[] = [
  { name: 'Mosquitto with MQTT 5', isHere, protocolVersion: 5, spoken: 'MQTT 5', start: startInstalled },
  {
    name: 'Mosquitto with MQTT 3.1.1',
    isHere,
    protocolVersion: 4,
    spoken: 'MQTT 3.1.1',
    start: startInstalled,
  },
  {
    name: 'the embedded broker',
    isHere: true,
    protocolVersion: 5,
    spoken: 'MQTT 3.1.1',
    start: startEmbedded,
  },
];
