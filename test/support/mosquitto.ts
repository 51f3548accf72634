import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atTestEnd, type RunningProcess, startProcess } from './childProcess.ts';
import { accepts, freePort } from './ports.ts';
import { temporaryFolder } from './program.ts';
import { waitFor } from './waitFor.ts';

// Debian puts it where only root's PATH looks.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** What the broker asks of its clients, and whether it remembers over a restart. It speaks MQTT 3.1.1 and 5. */
export interface MosquittoOptions {
  port?: number;
  password?: { user: string; password: string };
  /** TLS with a certificate for 127.0.0.1 and localhost under an authority of its own. */
  tls?: boolean;
  /** MQTT over WebSocket instead of TCP. */
  websocket?: boolean;
  /** Keeps retained messages over `restart()`, though not over SIGKILL. */
  persistence?: boolean;
  /** The only topics that clients may read and write; all unless given. */
  permitted?: readonly string[];
  /** Keeps the default limit of messages that wait for a subscriber, a thousand: the rest is dropped without a word. */
  isAsItComes?: boolean;
  /** Further lines of its configuration. */
  lines?: readonly string[];
}

/** A running Mosquitto on the loopback. */
export interface Mosquitto {
  readonly port: number;
  /** With scheme and port, without credentials. */
  readonly url: string;
  /** The authority's certificate, where TLS is on. */
  readonly caFile: string | undefined;
  /** Where its configuration, certificates and stored messages are. */
  readonly folder: string;
  readonly log: string;
  stop(): Promise<void>;
  /** Sends it a signal: SIGKILL (and waits for its end), SIGSTOP, SIGCONT. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Puts an authority and certificates in place of those that there are, for the next start. */
  renewCertificates(): void;
  /** Starts it again on the same port, after stopping it if it still runs. */
  restart(): Promise<void>;
}

/** Whether Mosquitto is installed on this machine. */
export function mosquittoAvailable(): boolean {
  return spawnSync('mosquitto', ['-h'], { env }).error === undefined;
}

/** Starts Mosquitto and resolves once it accepts connections; it ends with the test that started it. */
export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const folder = temporaryFolder();
  const port = options.port ?? (await freePort());
  const caFile = options.tls ? makeCertificates(folder) : undefined;
  if (options.password) {
    const { user, password } = options.password;
    execFileSync('mosquitto_passwd', ['-b', '-c', join(folder, 'passwords'), user, password], { env });
  }
  if (options.permitted) {
    const lines = options.permitted.map((topic) => `topic readwrite ${topic}\n`);
    writeFileSync(join(folder, 'permitted'), lines.join(''));
  }
  const configFile = join(folder, 'mosquitto.conf');
  writeFileSync(configFile, `${configuration(options, port, await freePort(), folder).join('\n')}\n`);

  let broker: RunningProcess | undefined;
  async function start(): Promise<void> {
    broker = startProcess('mosquitto', ['-c', configFile], { env, outlivesTest: true });
    await waitFor(() => accepts(port) || failIfEnded(broker), { what: 'Mosquitto to accept connections' });
  }
  async function stop(): Promise<void> {
    if (broker?.isRunning) await broker.stop();
  }
  await start();
  // A broker that one test of a file starts again serves the tests after it, too.
  atTestEnd(async () => void (broker?.isRunning && (await broker.stop('SIGKILL'))));
  const scheme = options.websocket ? 'ws' : 'mqtt';
  return {
    port,
    url: `${scheme}${options.tls ? 's' : ''}://127.0.0.1:${port}`,
    caFile,
    folder,
    get log() {
      return broker?.output ?? '';
    },
    stop,
    async kill(signal) {
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') broker?.signal(signal);
      else await broker?.stop(signal);
    },
    renewCertificates: () => void makeCertificates(folder),
    async restart() {
      await stop();
      await start();
    },
  };
}

function configuration(
  options: MosquittoOptions,
  port: number,
  unusedPort: number,
  folder: string,
): string[] {
  return [
    // Mosquitto 2.0 refuses to start with nothing but WebSocket listeners.
    ...(options.websocket ? [`listener ${unusedPort} 127.0.0.1`] : []),
    `listener ${port} 127.0.0.1`,
    ...(options.websocket ? ['protocol websockets'] : []),
    ...(options.tls
      ? [
          `cafile ${join(folder, 'ca.crt')}`,
          `certfile ${join(folder, 'server.crt')}`,
          `keyfile ${join(folder, 'server.key')}`,
        ]
      : []),
    ...(options.password
      ? ['allow_anonymous false', `password_file ${join(folder, 'passwords')}`]
      : ['allow_anonymous true']),
    ...(options.persistence ? ['persistence true', `persistence_location ${folder}/`] : []),
    // Started by root it would become a user who cannot read the folder.
    'user root',
    // The default drops what goes beyond a thousand retained messages; but without a limit Mosquitto 2.0.11 hangs up
    // on a client after it refused it a message.
    ...(options.permitted
      ? [`acl_file ${join(folder, 'permitted')}`, 'max_queued_messages 100000']
      : options.isAsItComes
        ? []
        : ['max_queued_messages 0']),
    'log_dest stdout',
    ...(options.lines ?? []),
  ];
}

/** Makes an authority and a server certificate under it in the folder; returns the authority's file. */
function makeCertificates(folder: string): string {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  );
  openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-out', 'server.crt', '-days', '2', '-extfile', 'names'],
  );
  return join(folder, 'ca.crt');
}

function failIfEnded(broker: RunningProcess | undefined): boolean {
  if (broker?.isRunning === false) throw new Error(`Mosquitto ended:\n${broker.output}`);
  return false;
}
