import { mkdtempSync, rmSync } from 'node:fs';
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
import { tryPort } from './ports.ts';

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
    print(`Valves: ${properties.flatMap(({ sonics }) => sonics.map(sonicLine)).join(', ')}`);
  }
}

async function readStatus(httpPort: number): Promise<StatusDocument> {
  const answer = await fetch(`http://127.0.0.1:${httpPort}/status.json`);
  return ((await answer.json()) as { status: StatusDocument }).status;
}

/** As in "Kitchen open 4.2 L/min"; without its water while none flows. */
function sonicLine({ name, valve, flowLMin }: ShownSonic): string {
  const flow = flowLMin ? ` ${flowLMin.toFixed(1)} L/min` : '';
  return `${name} ${valve ?? 'unknown'}${flow}`;
}

/** The wanted port, or the usual one, or any other if that is taken. Throws if the wanted port is taken. */
function freePort(option: string, wanted: number | undefined, usual: number): Promise<number> {
  if (wanted === undefined) return tryPort('127.0.0.1', usual).catch(() => tryPort('127.0.0.1', 0));
  return tryPort('127.0.0.1', wanted).catch(({ message }: Error) => {
    throw new Error(`The demo cannot start: ${message}. Choose another port with --${option}.`);
  });
}

function welcome(port: number, httpPort: number, sonicId: string, name: string): string {
  const topic = `sonic2mqtt/sonic/${sonicId}`;
  const at = `-h 127.0.0.1 -p ${port}`;
  return `
The demo is running: a simulated cloud with a few properties, sonic2mqtt, and an MQTT broker on 127.0.0.1:${port}.

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
