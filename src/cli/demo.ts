import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import { configSchema } from '../config/schema.ts';
import { Daemon } from '../daemon.ts';
import { demoCredentials, Simulator } from '../simulator/simulator.ts';
import { aborted, type CommandContext, exitStatus, UsageError } from './command.ts';
import { logLevelOption } from './setup.ts';

const usualPort = 1883;

/** `sonic2mqtt demo`: a simulated cloud, a broker and the bridge between them, on this machine only. */
export async function demo({ options, print, signal }: CommandContext): Promise<number> {
  const wantedPort = portOption(options['port']);
  const level = logLevelOption(options['log-level']) ?? 'info';
  const secrets = new Secrets();
  const log = createLog({ level, format: 'pretty', secrets });
  const simulator = new Simulator();
  await simulator.start();
  const port = await freePort(wantedPort);
  const directory = mkdtempSync(join(tmpdir(), 'sonic2mqtt-demo-'));
  try {
    const config = configSchema.parse({
      cloud: { base_url: simulator.url, ...demoCredentials },
      mqtt: { embedded: { enabled: true, port } },
      schedules: { incidents: '5s', sonics: '5s', telemetry: '10s', signals: '10s' },
      valve: { confirm_interval: '500ms' },
      http: { listen: '127.0.0.1:0' },
      data_dir: directory,
    });
    const daemon = new Daemon(config, log, secrets);
    await Promise.race([daemon.start().then(() => daemon.shown), aborted(signal)]);
    const [sonic] = simulator.world.sonics.values();
    if (!signal.aborted && sonic) {
      print(welcome(port, daemon.httpPort, sonic.id, sonic.name ?? 'its first'));
    }
    await aborted(signal);
    await daemon.stop();
    await simulator.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return exitStatus.done;
}

async function freePort(wanted: number | null): Promise<number> {
  try {
    return await tried(wanted ?? usualPort);
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken) throw error;
    if (wanted !== null)
      throw new Error(`Port ${wanted} is in use by another program; choose another with --port`);
    // A broker of one's own on the usual port must not stand in the way of trying this one out.
    return tried(0);
  }
}

/** The port once it was listened on, any for 0; throws the listener's error. */
async function tried(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { port: found } = server.address() as AddressInfo;
  await new Promise<void>((closed) => server.close(() => closed()));
  return found;
}

function welcome(port: number, httpPort: number | null, sonicId: string, name: string): string {
  const topic = `sonic2mqtt/sonic/${sonicId}`;
  const at = `-h 127.0.0.1 -p ${port}`;
  const page = httpPort === null ? '' : `\nSee the homes in a browser:\n  http://127.0.0.1:${httpPort}/\n`;
  return `
The demo runs: a simulated cloud with a few homes, bridged to an MQTT broker on 127.0.0.1:${port}.
${page}
Watch the valves, in another terminal:
  mosquitto_sub ${at} -v -t 'sonic2mqtt/sonic/+' -t 'sonic2mqtt/bridge/event'

Close the valve of sonic "${name}":
  mosquitto_pub ${at} -t ${topic}/valve/set -m CLOSE

It goes through "valve":"closing" to "valve":"closed" within some seconds. Without your doing, incidents open and
resolve, radio links drop and return, and water flows. Everything is under sonic2mqtt/#, and what Home Assistant is
told of the devices under homeassistant/#. Where Mosquitto's clients are not installed, "npx mqtt sub" and "npx mqtt
pub" take the same options. Ctrl+C ends it.
`;
}

function portOption(value: unknown): number | null {
  if (value === undefined) return null;
  const port = Number(value);
  if (/^\d+$/.test(String(value)) && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 to 65535; got ${String(value)}`, 'demo --help');
}
