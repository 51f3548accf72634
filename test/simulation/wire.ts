import { createRequire } from 'node:module';
import { Duplex } from 'node:stream';
import { type IClientOptions, MqttClient, type Packet } from 'mqtt';
import type { Connect } from '../../src/broker/clientOptions.ts';
import { matches, type Peer, type VirtualBroker } from './virtualBroker.ts';
import type { ProcessClock } from './virtualTime.ts';

/** The connection of a bridge, as a script can control it. */
export interface WireConnection {
  /** Sends the bridge a packet, or any bytes. */
  toBridge(packet: Packet | Buffer): void;
  hangUp(): void;
  /** Resets the connection, like a machine that has restarted. */
  reset(): void;
}

/** Handles packets in place of the broker. A handler returns true if the packet must go no further. */
export interface Script {
  readonly fromBridge?: (packet: Packet, connection: WireConnection) => boolean;
  readonly fromBroker?: (packet: Packet, connection: WireConnection) => boolean;
}

interface Codec {
  parser(options: { protocolVersion?: number }): {
    parse(bytes: Buffer): number;
    on(event: 'packet', take: (packet: Packet) => void): void;
    on(event: 'error', take: (error: Error) => void): void;
  };
  generate(packet: object, options?: { protocolVersion: number }): Buffer;
}

/** The parser and writer of mqtt.js itself. */
export const codec: Codec = createRequire(createRequire(import.meta.url).resolve('mqtt'))('mqtt-packet');

/**
 * A link to the virtual broker on which mqtt.js itself speaks MQTT, byte by byte. `VirtualClient` covers only
 * normal answers. With a script on this link, a test can send any answer, right or wrong. Without a script
 * all packets pass.
 */
export class Wire {
  readonly connections = new Set<WireConnection>();
  connectionCount = 0;
  script: Script = {};
  readonly #broker: VirtualBroker;

  constructor(broker: VirtualBroker) {
    this.#broker = broker;
  }

  /** Uses this script from the next packet on. */
  play(script: Script = {}): void {
    this.script = script;
  }

  /** How a process connects to the broker over this link. */
  dialFrom(clock: ProcessClock): Connect {
    return (options) => {
      this.connectionCount += 1;
      const end = new BrokerSide(this, this.#broker, clock, options);
      return new MqttClient(() => end.stream, { ...options, timerVariant: timersOf(clock) });
    };
  }
}

/** Timers for mqtt.js that run by that clock. */
function timersOf(clock: ProcessClock) {
  const cancels = new Map<number, () => void>();
  let numbers = 0;
  return {
    set: (run: () => void, everyMs: number) => {
      const number = ++numbers;
      const again = () => {
        cancels.set(number, clock.after(everyMs, again));
        run();
      };
      cancels.set(number, clock.after(everyMs, again));
      return number;
    },
    clear: (number: number) => {
      cancels.get(number)?.();
      cancels.delete(number);
    },
  };
}

/** The broker's end of a connection: reads the bytes of the bridge, and acts on the broker. */
class BrokerSide implements Peer, WireConnection {
  readonly clientId: string;
  readonly stream: Duplex;
  readonly #wire: Wire;
  readonly #broker: VirtualBroker;
  readonly #clock: ProcessClock;
  readonly #options: IClientOptions;
  readonly #parser = codec.parser({});
  readonly #filters = new Map<string, { readonly isFlagKept: boolean; readonly isNotEchoed: boolean }>();
  readonly #forgetDeath: () => void;
  /** The packet IDs of messages that were sent to the bridge. */
  readonly #delivered = new Set<number>();
  #isOver = false;

  constructor(wire: Wire, broker: VirtualBroker, clock: ProcessClock, options: IClientOptions) {
    this.#wire = wire;
    this.#broker = broker;
    this.#clock = clock;
    this.#options = options;
    this.clientId = options.clientId ?? '';
    this.#forgetDeath = clock.onDeath(() => this.cut('killed'));
    this.#parser.on('packet', (packet) => {
      if (!wire.script.fromBridge?.(packet, this)) this.#take(packet);
    });
    this.stream = new Duplex({
      allowHalfOpen: false,
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        clock.after(1, () => {
          if (!this.#isOver && broker.fault !== 'frozen') this.#parser.parse(bytes);
        });
        done();
      },
      destroy: (error, done) => {
        clock.after(1, () => this.#over('closed by the bridge'));
        done(error);
      },
    });
    if (broker.fault === 'away') {
      this.#isOver = true;
      clock.after(5, () => this.#fail('ECONNREFUSED'));
    } else wire.connections.add(this);
  }

  toBridge(packet: Packet | Buffer): void {
    if (!Buffer.isBuffer(packet) && packet.cmd === 'publish') {
      const { topic, payload, retain, dup, messageId = 0 } = packet;
      const isAgain = dup && this.#delivered.has(messageId);
      this.#delivered.add(messageId);
      const publishedAt = retain || isAgain ? null : this.#broker.now;
      this.#broker.tap.delivered(topic, String(payload), retain, publishedAt);
    }
    const bytes = Buffer.isBuffer(packet)
      ? packet
      : codec.generate(packet, { protocolVersion: this.#version });
    this.#clock.after(1, () => {
      if (!this.stream.destroyed && this.#broker.fault !== 'frozen') this.stream.push(bytes);
    });
  }

  hangUp(): void {
    this.#over('hung up');
    this.#clock.after(1, () => {
      if (!this.stream.destroyed) this.stream.push(null);
    });
  }

  reset(): void {
    this.#over('reset');
    this.#fail('ECONNRESET');
  }

  cut(reason: string): void {
    if (reason === 'taken-over') {
      if (this.#version === 5) this.toBridge({ cmd: 'disconnect', reasonCode: 142 });
      this.hangUp();
    } else this.reset();
  }

  deliverLive(topic: string, payload: string, isRetained: boolean): void {
    for (const [filter, { isFlagKept }] of this.#filters) {
      if (!matches(filter, topic)) continue;
      this.#deliver(topic, payload, isRetained && isFlagKept);
      return;
    }
  }

  get #version(): 4 | 5 {
    return this.#options.protocolVersion === 5 ? 5 : 4;
  }

  #fail(code: string): void {
    this.#clock.after(1, () => this.stream.destroy(Object.assign(new Error(`connect ${code}`), { code })));
  }

  /** The connection has ended. The will is published unless the bridge has disconnected normally. */
  #over(reason: string, hasSaidGoodbye = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forgetDeath();
    this.#wire.connections.delete(this);
    const { will } = this.#options;
    const isKnown = this.#broker.isPeerOf(this);
    this.#broker.detach(this);
    if (isKnown && will && !hasSaidGoodbye && reason !== '')
      this.#broker.takeFrom(this, will.topic, String(will.payload), will.retain === true);
  }

  #answer(packet: Packet): void {
    if (!this.#isOver && !this.#wire.script.fromBroker?.(packet, this)) this.toBridge(packet);
  }

  #deliver(topic: string, payload: string, retain: boolean): void {
    this.#answer({ cmd: 'publish', topic, payload, qos: 0, retain, dup: false });
  }

  #take(packet: Packet): void {
    if (this.#isOver) return;
    const messageId = 'messageId' in packet ? Number(packet.messageId) : 0;
    if (packet.cmd === 'connect') {
      this.#broker.attach(this);
      this.#answer({ cmd: 'connack', sessionPresent: false, reasonCode: 0, returnCode: 0 });
    } else if (packet.cmd === 'subscribe') {
      const isTaken = packet.subscriptions.map(({ topic }) => !this.#broker.refusesFilter(topic));
      const granted = packet.subscriptions.map(({ qos }, index) => (isTaken[index] ? qos : 0x80));
      this.#answer({ cmd: 'suback', messageId, granted } as Packet);
      for (const { topic, rap = false, nl = false } of packet.subscriptions.filter((_, at) => isTaken[at])) {
        this.#filters.set(topic, { isFlagKept: rap, isNotEchoed: nl });
        for (const [kept, payload] of [...this.#broker.retained])
          if (matches(topic, kept)) this.#deliver(kept, payload, true);
      }
    } else if (packet.cmd === 'unsubscribe') {
      for (const filter of packet.unsubscriptions) this.#filters.delete(filter);
      this.#answer({ cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) } as Packet);
    } else if (packet.cmd === 'publish')
      this.#publish(packet.topic, String(packet.payload), packet.retain, messageId);
    else if (packet.cmd === 'pingreq') this.#answer({ cmd: 'pingresp' });
    else if (packet.cmd === 'disconnect') this.#over('goodbye', true);
  }

  #publish(topic: string, payload: string, retain: boolean, messageId: number): void {
    this.#broker.tap.handedOver(topic, payload, retain);
    this.#broker.takeFrom(this, topic, payload, retain);
    this.#answer({ cmd: 'puback', messageId, reasonCode: 0 });
    // A broker sends a message back to its publisher if a subscription matches, unless it asked for no local
    // messages.
    for (const [filter, { isNotEchoed, isFlagKept }] of this.#filters) {
      if (isNotEchoed || !matches(filter, topic)) continue;
      this.#deliver(topic, payload, retain && isFlagKept);
      return;
    }
  }
}
