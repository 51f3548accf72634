import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import { configSchema } from '../config/schema.ts';
import { Daemon } from '../daemon.ts';
import type { ShownSonic, StatusDocument } from '../http/status.ts';
import { demoCredentials, Simulator } from '../simulator/simulator.ts';
import { aborted, type CommandContext, exitStatus } from './context.ts';

const usualPort = 1883;
const usualHttpPort = 8099;

/** How many times as often as usual something happens by itself, so that a minute of watching is enough. */
const speed = 12;

/** How often the terminal shows the valves and their water. */
const showEveryMs = 5_000;

/** `sonic2mqtt demo`: a simulated cloud, a broker and the bridge between them, on this machine only. */
export async function demo(
  { logLevel: level = 'info', print, signal }: CommandContext,
  wanted: { readonly port?: number; readonly httpPort?: number },
): Promise<number> {
  const secrets = new Secrets();
  const log = createLog({ level, format: 'pretty', secrets });
  const simulator = new Simulator({ speed });
  await simulator.start();
  const port = await freePort('port', wanted.port, usualPort);
  const httpPort = await freePort('http-port', wanted.httpPort, usualHttpPort);
  const directory = mkdtempSync(join(tmpdir(), 'sonic2mqtt-demo-'));
  try {
    const config = configSchema.parse({
      cloud: { base_url: simulator.url, ...demoCredentials },
      mqtt: { embedded: { enabled: true, port } },
      schedules: { incidents: '5s', sonics: '5s', telemetry: '5s', signals: '5s' },
      valve: { confirm_interval: '500ms' },
      http: { listen: `127.0.0.1:${httpPort}` },
      data_dir: directory,
    });
    const daemon = new Daemon(config, log, secrets);
    await Promise.race([daemon.start().then(() => daemon.shown), aborted(signal)]);
    const [sonic] = simulator.world.sonics.values();
    if (!signal.aborted && sonic) {
      print(welcome(port, httpPort, sonic.id, sonic.name ?? ''));
      await showValves(httpPort, print, signal);
    }
    await aborted(signal);
    await daemon.stop();
    await simulator.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  print('Demo stopped');
  return exitStatus.done;
}

/** Prints a line with every valve and its water, again and again, as the status page has them. */
async function showValves(
  httpPort: number,
  print: CommandContext['print'],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(systemClock, showEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    const { properties } = await readStatus(httpPort);
    print(`Valves: ${properties.flatMap(({ sonics }) => sonics.map(inWords)).join(', ')}`);
  }
}

async function readStatus(httpPort: number): Promise<StatusDocument> {
  const answer = await fetch(`http://127.0.0.1:${httpPort}/status.json`);
  return ((await answer.json()) as { status: StatusDocument }).status;
}

/** As in "Kitchen open 4.2 L/min"; without its water while none flows. */
function inWords({ name, valve, flowLMin }: ShownSonic): string {
  const flow = flowLMin ? ` ${flowLMin.toFixed(1)} L/min` : '';
  return `${name} ${valve ?? 'unknown'}${flow}`;
}

/** The wanted port, or the usual one, or any other if that is taken; throws in words if the wanted one is taken. */
async function freePort(option: string, wanted: number | undefined, usual: number): Promise<number> {
  try {
    return await tried(wanted ?? usual);
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken) throw error;
    if (wanted !== undefined)
      throw new Error(`Port ${wanted} is in use by another program. Choose another with --${option}.`);
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

function welcome(port: number, httpPort: number, sonicId: string, name: string): string {
  const topic = `sonic2mqtt/sonic/${sonicId}`;
  const at = `-h 127.0.0.1 -p ${port}`;
  return `
The demo is running: a simulated cloud with a few homes, sonic2mqtt, and an MQTT broker on 127.0.0.1:${port}.

Open the status page:
  http://127.0.0.1:${httpPort}/

Watch the valves, in another terminal:
  mosquitto_sub ${at} -v -t 'sonic2mqtt/sonic/+' -t 'sonic2mqtt/sonic/+/telemetry' -t 'sonic2mqtt/bridge/event'

Close the valve "${name}":
  mosquitto_pub ${at} -t ${topic}/valve/set -m CLOSE

It shows "valve":"closing", and about 6 seconds later "valve":"closed". The demo also simulates water flow, incidents
and lost radio links by itself. All topics are under sonic2mqtt/#, and Home Assistant discovery is under
homeassistant/#. If you do not have the Mosquitto clients, "npx mqtt sub" and "npx mqtt pub" take the same options.
Press Ctrl+C to stop.
`;
}
