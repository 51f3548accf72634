import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts, freePort } from '../../test/support/ports.ts';
import type { EmbeddedBrokerDeeds } from './embeddedBroker.ts';
import { type Part, startPart } from './part.ts';
import { typescript } from './program.ts';
import { waitUntil } from './waitUntil.ts';

/** What a broker is called, and which MQTT it speaks: 4 is 3.1.1. */
export const brokers = {
  mosquitto: { name: 'Mosquitto', protocolVersion: 5 },
  'mosquitto-tuned': { name: 'Mosquitto, tuned', protocolVersion: 5 },
  embedded: { name: 'the embedded broker', protocolVersion: 4 },
} as const;

export type BrokerKind = keyof typeof brokers;

/** A broker in a process of its own. */
export interface Broker {
  readonly name: string;
  readonly url: string;
  readonly protocolVersion: 4 | 5;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Null once it has ended. */
  readonly pid: () => number | null;
  /** Ends it and starts it anew, with nothing retained. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** How one of its lives begins; it can then be reached on the port. */
type Start = () => Pick<Part<never>, 'signal' | 'stop' | 'pid'>;

// Debian puts it where only root's PATH looks.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** Mosquitto where it is installed, else the embedded broker. */
export function usualBroker(): BrokerKind {
  return spawnSync('mosquitto', ['-h'], { env }).error === undefined ? 'mosquitto' : 'embedded';
}

export async function startBroker(folder: string, kind: BrokerKind = usualBroker()): Promise<Broker> {
  const port = await freePort();
  const start = kind === 'embedded' ? embedded(port) : mosquitto(port, folder, kind === 'mosquitto-tuned');
  let life = start();
  await reached(port);
  return {
    ...brokers[kind],
    url: `mqtt://127.0.0.1:${port}`,
    signal: (name) => life.signal(name),
    pid: () => life.pid(),
    async restart() {
      await life.stop();
      life = start();
      await reached(port);
    },
    async stop() {
      await life.stop();
    },
  };
}

/** So that it is not the limit. */
const tuning = [
  // So many unacknowledged messages it takes from a client; by default 20.
  'max_inflight_messages 64',
  // By default a message may wait 40 ms for the acknowledgement of the one before.
  'set_tcp_nodelay true',
];

function mosquitto(port: number, folder: string, isTuned: boolean): Start {
  const file = join(folder, 'mosquitto.conf');
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    // Its default drops what goes beyond a thousand messages.
    'max_queued_messages 0',
    ...(isTuned ? tuning : []),
    'log_dest none',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return () => {
    const child = spawn('mosquitto', ['-c', file], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    const kill = () => child.kill('SIGKILL');
    process.on('exit', kill);
    return {
      signal: (name) => void child.kill(name),
      pid: () => child.pid ?? null,
      async stop() {
        process.off('exit', kill);
        await ended(child);
        return child.exitCode;
      },
    };
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function embedded(port: number): Start {
  return () => {
    const file = new URL('./embeddedBroker.ts', import.meta.url);
    const part: Part<EmbeddedBrokerDeeds> = startPart('the broker', file, {
      args: [`${port}`],
      nodeArgs: typescript,
    });
    void part.ask('start');
    return part;
  };
}

function reached(port: number): Promise<void> {
  return waitUntil('the broker', async () => ((await accepts(port)) ? null : 'it takes no connections'));
}
