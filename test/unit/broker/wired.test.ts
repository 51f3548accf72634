import type { Packet } from 'mqtt';
import type { BrokerOptions } from '../../../src/broker/clientOptions.ts';
import { Connection } from '../../../src/broker/connection.ts';
import { VirtualBroker } from '../../simulation/virtualBroker.ts';
import { ProcessClock, VirtualTime } from '../../simulation/virtualTime.ts';
import { type Script, Wire, type WireConnection } from '../../simulation/wire.ts';
import { brokerOptions } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { tellStories, type Verbs } from '../../support/script.ts';

type Answer = (connection: WireConnection, packet: Packet) => void;

/** Answers the client's first packet so, whatever the broker says: with MQTT 5, or with each. */
const greeting = (answer: Answer, versions = [5, 4]): Script => ({
  fromBridge: (packet, connection) => {
    if (packet.cmd !== 'connect' || !versions.includes(packet.protocolVersion ?? 0)) return false;
    answer(connection, packet);
    return true;
  },
});
const silently: Answer = () => {};
const hangUp: Answer = (connection) => connection.hangUp();
const bytes = (hex: string): Script =>
  greeting((connection) => connection.toBridge(Buffer.from(hex.replaceAll(' ', ''), 'hex')));
const swallowed = (cmd: string): Script => ({ fromBroker: (packet) => packet.cmd === cmd });
const connack = (code: string, versions?: number[]) =>
  greeting((connection) => {
    const [reasonCode, returnCode] = [Number(code), Number(code)];
    connection.toBridge({ cmd: 'connack', sessionPresent: false, reasonCode, returnCode });
    connection.hangUp();
  }, versions);

const withProperties = (properties: object): Script => ({
  fromBroker: (packet, connection) => {
    if (packet.cmd !== 'connack') return false;
    connection.toBridge({ ...packet, properties });
    return true;
  },
});

/** How a broker, or what is at its address, can behave. */
const scripts: Readonly<Record<string, (word: string) => Script>> = {
  'hangs-up': () => greeting(hangUp),
  'hangs-up-at-5': () => greeting(hangUp, [5]),
  'ignores-5': () => greeting(silently, [5]),
  'refuses-5': () => connack('1', [5]),
  connack: (code) => connack(code),
  resets: () => greeting((connection) => connection.reset()),
  'breaks-off': () =>
    greeting((connection) => {
      connection.toBridge(Buffer.from([0x20]));
      connection.hangUp();
    }),
  says: bytes,
  speaks: (words) => bytes(Buffer.from(words).toString('hex')),
  'ignores-subscriptions': () => swallowed('suback'),
  grants: (code) => ({
    fromBroker: (packet, connection) => {
      if (packet.cmd !== 'suback') return false;
      connection.toBridge({ ...packet, granted: packet.granted.map(() => Number(code)) } as Packet);
      return true;
    },
  }),
  'ignores-pings': () => swallowed('pingresp'),
  'keeps-messages': () => swallowed('publish'),
  /** Takes no longer packet. */
  takes: (bytes) => withProperties({ maximumPacketSize: Number(bytes) }),
  well: () => ({}),
};

/** A broker, and the link to it, on which mqtt.js itself speaks. */
class Side {
  readonly broker: VirtualBroker;
  readonly wire: Wire;
  /** Answers to pings that are held back. */
  readonly held: (() => void)[] = [];
  readonly rival = { clientId: 'bridge-under-test', cut: () => undefined, deliverLive: () => undefined };

  constructor(time: VirtualTime) {
    const ignored = () => {};
    const tap = { handedOver: ignored, taken: ignored, delivered: ignored, linked: ignored };
    this.broker = new VirtualBroker(time, () => 0.5, tap);
    this.wire = new Wire(this.broker);
  }
}

/** A connection that was not started yet, its brokers by the hosts in its addresses, and what was told so far. */
class Bench {
  readonly time = new VirtualTime();
  readonly clock = new ProcessClock(this.time, () => this.time.now);
  readonly lines = logLines('info');
  readonly sides = new Map<string, Side>();
  readonly connection: Connection;
  readonly dials: string[] = [];
  readonly dialledAt: string[] = [];
  readonly events: string[] = [];
  readonly heard: string[] = [];
  readonly subscribed: string[] = [];
  password: string | undefined;
  waits = 0;
  hasRival = false;
  /** How many messages were sent and not acknowledged, at most. */
  mostInFlight = 0;
  askedAt = 0;

  constructor(settings: readonly string[]) {
    const given = Object.fromEntries(settings.map((setting) => setting.split(/=(.*)/)));
    const list = (name: string): string[] => given[name]?.split(',') ?? [];
    const urls = (given.urls ?? 'a').split(',').map((host: string) => `mqtt://${host}`);
    this.password = given.password;
    this.time.turnsToRest = 8;
    const options: BrokerOptions = brokerOptions(urls, {
      protocolVersion: given.mqtt === '5' ? 5 : 4,
      subscriptions: 'many' in given ? Array.from({ length: 30 }, (_, at) => `set/${at}`) : list('set'),
      overheard: list('overheard'),
      will: 'will' in given ? { topic: 'state', payload: 'offline' } : null,
      username: given.user,
      password: async () => {
        if (this.password === 'unreadable') throw new Error('cannot read the file mqtt.password_file');
        return this.password;
      },
      pingEveryMs: Number(given.ping ?? 2_500),
      ...('base' in given && { baseTopic: given.base }),
      ...('test' in given && { testTopic: given.test }),
    });
    const random = () => {
      this.waits += 1;
      return 0;
    };
    this.connection = new Connection(options, this.clock, random, this.lines.log, (dialled) => {
      const { host = '', protocolVersion, username, password, clean } = dialled;
      const credentials = username || password ? ` as ${username}:${password}` : '';
      this.dials.push(`${host} ${protocolVersion}${credentials}${clean ? '' : ', a lasting session'}`);
      this.dialledAt.push(`${Math.round(this.time.now / 1_000)} s`);
      return this.side(host).wire.dialFrom(this.clock)(dialled);
    });
    const { connection, events } = this;
    for (const event of ['connected', 'lost', 'willPublished'] as const)
      connection.on(event, () => events.push(event));
    connection.on('failed', (reason) => events.push(`failed: ${reason}`));
    connection.on('message', ({ topic, payload, isText, sentAfter, mayBeStored }) =>
      this.heard.push(
        `${topic} ${isText ? payload : 'no text'} after ${sentAfter / 1_000} s${mayBeStored ? `, ${mayBeStored}` : ''}`,
      ),
    );
  }

  side(host = ''): Side {
    const side = this.sides.get(host) ?? new Side(this.time);
    if (!this.sides.has(host)) this.sides.set(host, side);
    return side;
  }

  pass(ms: number): Promise<void> {
    return this.time.runUntil(this.time.now + ms);
  }

  /** What becomes of it is told as an event. */
  later(what: string, promise: Promise<unknown>): void {
    promise.then(
      () => this.events.push(`${what}: done`),
      (error) => this.events.push(`${what}: ${error.message}`),
    );
  }
}

const played: Verbs<Bench> = Object.fromEntries(
  Object.entries(scripts).map(([name, script]) => [
    name,
    (bench: Bench, host: string, ...words: string[]) => bench.side(host).wire.play(script(words.join(' '))),
  ]),
);

const verbs: Verbs<Bench> = {
  ...played,
  start: ({ connection }) => connection.start(),
  /** Tells how long that took. */
  stop: async (bench) => {
    const from = bench.time.now;
    let isOver = false;
    bench.connection.stop([{ topic: 'state', payload: 'offline' }]).then(() => {
      isOver = true;
    });
    while (!isOver) await bench.pass(1);
    return `stopped in ${bench.time.now - from} ms`;
  },
  publish: (bench, topic = '', payload = '') =>
    bench.later(`publish ${topic}`, bench.connection.publish(topic, payload, { retain: true })),
  read: (bench, ...filters) => {
    const found = new Set<string>();
    const reading = bench.connection.readRetained(filters, ({ topic }) => found.add(topic));
    bench.later(
      `read ${filters.join(' ')}`,
      reading.finally(() => bench.events.push(`found ${[...found].join(' ')}`)),
    );
  },
  /** Another client publishes. */
  send: (bench, host, topic = '', payload = '', retain = '') =>
    bench.side(host).broker.publish(topic, payload, retain === 'retained'),
  bytes: (bench, host, topic = '', hex = '') => {
    const packet = { cmd: 'publish', qos: 0, dup: false, retain: false } as const;
    for (const connection of bench.side(host).wire.connections)
      connection.toBridge({ ...packet, topic, payload: Buffer.from(hex, 'hex') });
  },
  /** Others never cease to publish. */
  chatter: (bench, host, topic = '') => {
    const { broker } = bench.side(host);
    const next = () => {
      broker.publish(topic, 'chatter', false);
      bench.time.after(10, next);
    };
    next();
  },
  away: (bench, host) => {
    bench.side(host).broker.fault = 'away';
    bench.side(host).broker.cut();
  },
  cut: (bench, host) => bench.side(host).broker.cut(),
  frozen: (bench, host) => {
    bench.side(host).broker.fault = 'frozen';
  },
  back: (bench, host) => {
    bench.side(host).broker.fault = null;
  },
  refuses: (bench, host, ...filters) => {
    bench.side(host).broker.refusesFilter = (filter) => filters.includes(filter) || filters.includes('all');
  },
  /** Notes the subscriptions from now on, and the time between them. */
  noted: (bench, host) =>
    bench.side(host).wire.play({
      fromBridge: (packet) => {
        if (packet.cmd !== 'subscribe') return false;
        const filters = packet.subscriptions.map(
          ({ topic, qos, rap, nl }) => `${topic} at ${qos}${rap ? ' rap' : ''}${nl ? ' nl' : ''}`,
        );
        const after = bench.askedAt > 0 ? `after ${(bench.time.now - bench.askedAt) / 1_000} s: ` : '';
        bench.askedAt = bench.time.now;
        bench.subscribed.push(
          after + (filters.length > 4 ? `${filters.length} filters` : filters.join(', ')),
        );
        return false;
      },
    }),
  /** Acknowledges messages late, and takes no more than so many at a time. */
  acknowledges: (bench, host, ms, limit) => {
    let inFlight = 0;
    const { fromBroker } = withProperties({ receiveMaximum: Number(limit) });
    bench.side(host).wire.play({
      fromBridge: ({ cmd }) => {
        if (cmd === 'publish') bench.mostInFlight = Math.max(bench.mostInFlight, ++inFlight);
        return false;
      },
      fromBroker: (packet, connection) => {
        if (packet.cmd !== 'puback') return (limit && fromBroker?.(packet, connection)) === true;
        bench.time.after(Number(ms), () => {
          inFlight -= 1;
          connection.toBridge(packet);
        });
        return true;
      },
    });
  },
  many: (bench, count) => {
    for (let at = 0; at < Number(count); at++)
      bench.later('publish', bench.connection.publish(`many/${at}`, 'x', { retain: true }));
  },
  disconnect: (bench, host, code) => {
    for (const connection of bench.side(host).wire.connections) {
      connection.toBridge({ cmd: 'disconnect', reasonCode: Number(code) });
      connection.hangUp();
    }
  },
  holds: (bench, host) => {
    const { wire, held } = bench.side(host);
    wire.play({
      fromBroker: (packet, connection) =>
        packet.cmd === 'pingresp' && held.push(() => connection.toBridge(packet)) > 0,
    });
  },
  /** The oldest answer that is held back comes. */
  answers: (bench, host) => bench.side(host).held.shift()?.(),
  /** Another client of the same ID takes each connection over within 50 ms, until it leaves. */
  rival: (bench, ...hosts) => {
    for (const host of hosts) {
      const { broker, rival } = bench.side(host);
      const takeOver = () => {
        if (bench.hasRival && !broker.isPeerOf(rival) && broker.hasPeer(rival.clientId)) broker.attach(rival);
        if (bench.hasRival) bench.time.after(50, takeOver);
      };
      bench.hasRival = true;
      takeOver();
    }
  },
  leaves: (bench, host) => {
    bench.hasRival = false;
    bench.side(host).broker.detach(bench.side(host).rival);
  },
  sleep: ({ clock }, ms) => clock.machine.sleep(Number(ms)),
  password: (bench, word) => {
    bench.password = word;
  },
};

tellStories<Bench>(import.meta.url, {
  open: (settings) => new Bench(settings),
  pass: (bench, ms) => bench.pass(ms),
  verbs,
  fact: (name) => (bench) => {
    if (name === 'log') return bench.lines.messages;
    if (name === 'waits') return `${bench.waits} waits`;
    if (name === 'flight') return `at most ${bench.mostInFlight} in flight`;
    if (name === 'unread') return `unread: ${bench.connection.unreadTopic ?? 'nothing'}`;
    if (name === 'standing') return bench.connection.isStandingStill ? 'stands still' : 'tries';
    if (name === 'state') return bench.connection.isConnected ? 'connected' : 'not connected';
    const lists: Readonly<Record<string, readonly string[]>> = {
      dials: bench.dials,
      dialled: bench.dialledAt,
      events: bench.events,
      heard: bench.heard,
      subscribed: bench.subscribed,
    };
    const list = lists[name];
    if (!list) throw new Error(`there is no fact ${name}`);
    return [...list];
  },
});
