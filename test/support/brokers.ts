import { type AddressInfo, createServer } from 'node:net';
import { Aedes, type AedesOptions, type Subscription } from 'aedes';
import { connect } from 'mqtt';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { BrokerOptions, Connect } from '../../src/broker/clientOptions.ts';
import { Connection } from '../../src/broker/connection.ts';
import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import type { BrokerMessage } from '../../src/broker/message.ts';
import { atTestEnd } from './childProcess.ts';
import { type LogLines, logLines } from './logLines.ts';
import { mosquittoAvailable, startMosquitto } from './mosquitto.ts';
import { waitFor } from './waitFor.ts';

/** The minimal options of a connection to this broker or these brokers. */
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
    password: async () => undefined,
    tls: async () => ({ ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true }),
    will: null,
    subscriptions: [],
    ...changes,
  };
}

/** A connection, with the messages, events and log lines that it has produced. */
export interface TestConnection {
  readonly connection: Connection;
  readonly lines: LogLines;
  readonly received: readonly BrokerMessage[];
  /** The events so far, in order: `connected`, `disconnected`, `will published` and `failed: REASON`. */
  readonly events: readonly string[];
}

/** A "random" number below the range of real ones. It makes each wait 20 times shorter. */
const shortestWait = -0.9;

/** Starts a connection with short waits between its attempts. It ends with the test. */
export function openConnection(
  url: string | readonly string[],
  changes: Partial<BrokerOptions> = {},
  clock: Clock = systemClock,
): TestConnection {
  const lines = logLines('info');
  const received: BrokerMessage[] = [];
  const events: string[] = [];
  let isConnected = false;
  const dial: Connect = (options) => {
    const client = connect(options);
    client.on('close', () => {
      if (isConnected) events.push('disconnected');
      isConnected = false;
    });
    return client;
  };
  const connection = new Connection(brokerOptions(url, changes), clock, () => shortestWait, lines.log, dial);
  connection.on('connected', () => {
    isConnected = true;
    events.push('connected');
  });
  connection.on('message', (message) => received.push(message));
  connection.on('failed', (reason) => events.push(`failed: ${reason}`));
  connection.on('willPublished', () => events.push('will published'));
  connection.start();
  atTestEnd(() => connection.stop([]));
  return { connection, lines, received, events };
}

/** Starts a connection and waits until it is connected. */
export async function connected(
  url: string | readonly string[],
  changes: Partial<BrokerOptions> = {},
): Promise<TestConnection> {
  const opened = openConnection(url, changes);
  await waitFor(() => opened.connection.isConnected, { what: 'the connection' });
  return opened;
}

/** A kind of broker, and whether it is installed on this machine. */
export interface BrokerKind {
  readonly name: string;
  readonly isInstalled: boolean;
  readonly protocolVersion: 4 | 5;
  /** The MQTT version that the connection reports. */
  readonly loggedVersion: string;
  start(): Promise<{ readonly url: string; readonly port: number }>;
}

/** Starts an embedded broker. It ends with the test. */
export async function startEmbedded(): Promise<{ url: string; port: number; broker: EmbeddedBroker }> {
  const broker = new EmbeddedBroker({
    host: '127.0.0.1',
    port: 0,
    username: undefined,
    password: async () => undefined,
    unreadMs: 2_500,
    log: logLines().log,
  });
  const port = await broker.start();
  atTestEnd(() => broker.stop());
  return { url: `mqtt://127.0.0.1:${port}`, port, broker };
}

/** Starts a broker with these rules. It ends with the test. */
export async function startAedes(options: AedesOptions): Promise<string> {
  const broker = await Aedes.createBroker(options);
  const server = createServer(broker.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => new Promise<void>((resolve) => broker.close(() => server.close(() => resolve()))));
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a broker that refuses these subscriptions. It ends with the test. */
export function startRefusing(isRefused: (subscription: Subscription) => boolean): Promise<string> {
  return startAedes({
    authorizeSubscribe: (_client, subscription, done) =>
      done(null, isRefused(subscription) ? null : subscription),
  });
}

const isInstalled = mosquittoAvailable();
if (!isInstalled) console.info('Mosquitto is not installed: its broker tests are skipped');

/** Mosquitto with its default limit, above which it drops messages to a slow client. */
const startInstalled = () => startMosquitto({ lines: ['max_queued_messages 1000'] });

/** The brokers with which every feature must work. */
export const brokerKinds: readonly BrokerKind[] = [
  {
    name: 'Mosquitto with MQTT 5',
    isInstalled,
    protocolVersion: 5,
    loggedVersion: 'MQTT 5',
    start: startInstalled,
  },
  {
    name: 'Mosquitto with MQTT 3.1.1',
    isInstalled,
    protocolVersion: 4,
    loggedVersion: 'MQTT 3.1.1',
    start: startInstalled,
  },
  {
    name: 'the embedded broker',
    isInstalled: true,
    protocolVersion: 5,
    loggedVersion: 'MQTT 3.1.1',
    start: startEmbedded,
  },
];
