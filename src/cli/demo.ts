import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { fieldsIn } from '../base/json.ts';
import { createLog } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import type { Connection } from '../broker/connection.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { configSchema } from '../config/schema.ts';
import type { Tree } from '../config/tree.ts';
import { Daemon } from '../daemon.ts';
import { incidentName } from '../entities/incidents.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { demoCredentials, Simulator } from '../simulator/simulator.ts';
import { leak, startStory } from '../simulator/story.ts';
import { aborted, type CommandContext, exitStatus } from './context.ts';
import { readKeys } from './keys.ts';
import { tryPort } from './ports.ts';

const usualPort = 1883;
const usualHttpPort = 8099;

/** How much faster the valves measure than usual: every two seconds. */
const speed = 30;

/** THE KEYS of the demo: what each does, for people. */
const keys = {
  c: 'close the kitchen valve',
  o: 'open it',
  l: 'a leak in the kitchen',
  x: 'cut or restore the cloud',
  q: 'quit',
};

export async function demo(
  context: CommandContext,
  wanted: { readonly port?: number; readonly httpPort?: number },
): Promise<number> {
  const { logLevel: level = 'warn', print, signal } = context;
  const secrets = new Secrets();
  const log = createLog({ level, format: 'pretty', secrets });
  const simulator = new Simulator({ speed, happenings: startStory });
  await simulator.start();
  const port = await freePort('port', wanted.port, usualPort);
  const httpPort = await freePort('http-port', wanted.httpPort, usualHttpPort);
  const directory = mkdtempSync(join(tmpdir(), 'sonic2mqtt-demo-'));
  try {
    const config = configSchema.parse({
      cloud: { base_url: simulator.url, ...demoCredentials },
      mqtt: { embedded: { enabled: true, port } },
      schedules: { incidents: '2s', sonics: '2s', telemetry: '2s', signals: '5s' },
      valve: { confirm_interval: '500ms' },
      stale_after: '10s',
      http: { listen: `127.0.0.1:${httpPort}` },
      data_dir: directory,
    });
    const daemon = new Daemon(config, log, secrets);
    await Promise.race([daemon.start().then(() => daemon.shown), aborted(signal)]);
    const [kitchen] = simulator.world.sonics.ids;
    if (!signal.aborted && kitchen) {
      const topics = topicsOf(config);
      const topic = topics.below('sonic', kitchen, 'valve/set');
      // The terminal connects like any other client of the broker, and can do no more.
      const options = { ...brokerOptions(config, secrets, systemClock), subscriptions: [`${topics.base}/#`] };
      const parts = { clock: systemClock, log, stopping: signal };
      await probeBroker(options, 'terminal', parts, async (connection) => {
        printChanges(connection, topics, print);
        // Who reads of a key can press it.
        obeyKeys(connection, topic, simulator, kitchen, context);
        print(welcome(port, httpPort, topic));
        await aborted(signal);
      }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
    await aborted(signal);
    await daemon.stop();
    await simulator.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  print('Demo stopped. To see your own valves, run sonic2mqtt setup');
  return exitStatus.done;
}

function obeyKeys(
  connection: Connection,
  topic: string,
  simulator: Simulator,
  kitchen: string,
  { print, signal }: CommandContext,
): void {
  let isCut = false;
  const send = (payload: string) => {
    print(`Sent ${payload} to ${topic}`);
    connection.publish(topic, payload, { retain: false }).catch(({ message }: Error) => print(message));
  };
  const startLeak = () => {
    if (!leak(simulator.world, kitchen)) print('The kitchen leaks already, or its valve is closed');
  };
  const cutCloud = () => {
    isCut = !isCut;
    simulator.setFaults(isCut ? [{ kind: 'reset' }] : []);
    print(isCut ? 'The cloud is cut' : 'The cloud is restored');
  };
  const acts: Readonly<Record<string, () => void>> = {
    c: () => send('CLOSE'),
    o: () => send('OPEN'),
    l: startLeak,
    x: cutCloud,
    q: () => void process.kill(process.pid, 'SIGINT'),
  };
  const names = Object.keys(keys).join(', ');
  const press = (key: string) => {
    if (acts[key]) acts[key]();
    // An arrow key comes as several characters, of which only the last one is answered.
    else if (/^[\w ?]$/.test(key)) print(`The demo has no key ${JSON.stringify(key)}. Press one of ${names}`);
  };
  readKeys(press, signal);
}

/** By kind of message: its meaning for people; null if it has none. */
const wordsOf: Readonly<Record<string, (document: Tree, payload: string) => string | null>> = {
  'bridge/cloud': (_, payload) => payload,
  'sonic/': ({ valve }) => String(valve ?? 'unknown'),
  'sonic/telemetry': ({ flow_l_min: flow }) =>
    typeof flow === 'number' ? `${flow > 0 ? '' : 'no '}water runs` : null,
  'sonic/incidents': ({ open }) => {
    const types = Object.entries(Object(open)).flatMap(([type, incident]) => (incident ? [type] : []));
    const alerts = types.map((type) => incidentName({ type }) ?? type);
    return alerts.length === 0 ? 'no alert' : `ALERT: ${alerts.join(', ')}`;
  },
};

function printChanges(connection: Connection, topics: Topics, print: CommandContext['print']): void {
  const names = new Map<string, string>();
  const before = new Map<string, string>();
  connection.on('message', ({ topic, payload }) => {
    const { kind, id, path } = topics.parse(topic) ?? { kind: '', id: '', path: '' };
    const document = fieldsIn(payload);
    if (`${kind}/${path}` === 'sonic/') names.set(id, String(document['name']));
    const words = wordsOf[`${kind}/${path}`]?.(document, payload) ?? null;
    if (words === null) return;
    const isNews = (before.get(topic) ?? words) !== words;
    before.set(topic, words);
    const time = new Date().toTimeString().slice(0, 8);
    if (isNews) print(`${time} ${names.get(id) ?? 'Cloud'}: ${words}`);
  });
}

/** Without a wanted port, the usual one, or any free one. */
function freePort(option: string, wanted: number | undefined, usual: number): Promise<number> {
  if (wanted === undefined) return tryPort('127.0.0.1', usual).catch(() => tryPort('127.0.0.1', 0));
  return tryPort('127.0.0.1', wanted).catch(({ message }: Error) => {
    throw new Error(`The demo cannot start: ${message}. Choose another port with --${option}.`);
  });
}

function welcome(port: number, httpPort: number, topic: string): string {
  const at = `-h 127.0.0.1 -p ${port}`;
  const words = Object.entries(keys).map(([key, does]) => `${key} ${does}`);
  // Without a terminal, nobody can press a key.
  const how = process.stdin.isTTY
    ? `press c.\nKeys: ${words.join(', ')}.\n\nThe same over MQTT, in another terminal:`
    : 'send it a message over MQTT.';
  return `
The demo is running: four simulated valves, sonic2mqtt, and an MQTT broker on 127.0.0.1:${port}.

Open the status page:
  http://127.0.0.1:${httpPort}/

All is well at first. After 20 seconds somebody opens a tap, and after 40 seconds the kitchen leaks.
To end the leak within 10 seconds, close its valve: ${how}
  mosquitto_pub ${at} -t ${topic} -m CLOSE

If you do not have the Mosquitto clients, "npx mqtt pub" takes the same options. All topics are under sonic2mqtt/#,
and Home Assistant discovery is under homeassistant/#. Press Ctrl+C to stop.
`;
}
