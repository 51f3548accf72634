import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atTestEnd, type RunningProcess, startProcess } from './childProcess.ts';
import { accepts, freePort } from './ports.ts';
import { temporaryFolder } from './program.ts';
import { waitFor } from './waitFor.ts';

// Debian installs it in a folder that is only in root's PATH.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** Options of the broker. It speaks MQTT 3.1.1 and 5. */
export interface MosquittoOptions {
  port?: number;
  password?: { user: string; password: string };
  /** TLS with a certificate for 127.0.0.1 and localhost, signed by a CA of its own. */
  tls?: boolean;
  /** MQTT over WebSocket instead of TCP. */
  websocket?: boolean;
  /** Keeps retained messages over `restart()`, but not over SIGKILL. */
  persistence?: boolean;
  /** The only topics that clients may read and write. By default all. */
  permitted?: readonly string[];
  /** Keeps the default limit of 1,000 waiting messages per subscriber. Mosquitto silently drops the rest. */
  hasDefaultQueue?: boolean;
  /** Additional lines of its configuration. */
  lines?: readonly string[];
}

/** A running Mosquitto on the loopback. */
export interface Mosquitto {
  readonly port: number;
  /** Scheme, host and port, without credentials. */
  readonly url: string;
  /** The certificate of the CA, if TLS is on. */
  readonly caFile: string | undefined;
  /** The folder with its configuration, certificates and stored messages. */
  readonly folder: string;
  readonly log: string;
  stop(): Promise<void>;
  /** Sends it SIGSTOP or SIGCONT, or another signal and then waits for its end. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Replaces the CA and the certificates. This takes effect at the next start. */
  renewCertificates(): void;
  /** Restarts it on the same port. */
  restart(): Promise<void>;
}

/** Whether Mosquitto is installed on this machine. */
export function mosquittoAvailable(): boolean {
  return spawnSync('mosquitto', ['-h'], { env }).error === undefined;
}

/** Starts Mosquitto, and resolves once it accepts connections. It ends with the test. */
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
  // A broker that one test restarts also serves the next tests of the file.
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
    // If root starts Mosquitto, it changes to a user who cannot read the folder.
    'user root',
    // By default Mosquitto drops messages beyond 1,000 for a client. But without a limit, Mosquitto 2.0.11
    // closes the connection of a client after rejecting its message.
    ...(options.permitted
      ? [`acl_file ${join(folder, 'permitted')}`, 'max_queued_messages 100000']
      : options.hasDefaultQueue
        ? []
        : ['max_queued_messages 0']),
    'log_dest stdout',
    ...(options.lines ?? []),
  ];
}

/** Creates a CA and a server certificate in the folder. Returns the file of the CA. */
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
