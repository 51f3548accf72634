import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts, freePort } from '../../test/support/ports.ts';
import { waitUntil } from './time.ts';

/** Mosquitto in a process of its own, with nothing retained after each start. */
export interface Broker {
  readonly url: string;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly restart: () => Promise<void>;
}

// Debian installs it in a folder that only root's PATH has.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** Starts Mosquitto with its default options, except those given. */
export async function startBroker(folder: string, options: readonly string[] = []): Promise<Broker> {
  const port = await freePort();
  const file = join(folder, 'mosquitto.conf');
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    // By default, Mosquitto drops messages for a client if more than a thousand wait.
    'max_queued_messages 0',
    'log_dest none',
    ...options,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  let child: ChildProcess | null = null;
  const kill = () => void child?.kill('SIGKILL');
  const broker: Broker = {
    url: `mqtt://127.0.0.1:${port}`,
    signal: (name) => void child?.kill(name),
    async start() {
      process.on('exit', kill);
      child = spawn('mosquitto', ['-c', file], { env, stdio: ['ignore', 'ignore', 'inherit'] });
      await once(child, 'spawn');
      await waitUntil('the broker', async () => ((await accepts(port)) ? null : 'it takes no connections'));
    },
    async stop() {
      process.off('exit', kill);
      if (child !== null && child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      child = null;
    },
    async restart() {
      await broker.stop();
      await broker.start();
    },
  };
  await broker.start();
  return broker;
}
