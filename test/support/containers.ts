import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startProcess } from './childProcess.ts';
import { copyWith, type Installation } from './installation.ts';
import { freePort } from './ports.ts';
import { waitFor } from './waitFor.ts';

/** The commands of a container image, run without Docker in folders of this machine. */
interface Image {
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly health: readonly string[];
}

/** The commands that the Dockerfile defines. */
function imageOf({ checkout }: Installation): Image {
  const dockerfile = readFileSync(join(checkout, 'Dockerfile'), 'utf8');
  const words = (instruction: RegExp): string[] => JSON.parse(instruction.exec(dockerfile)?.[1] ?? '[]');
  const [, env = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
  return {
    entrypoint: words(/^ENTRYPOINT (\[.*\])$/m),
    command: words(/^CMD (\[.*\])$/m),
    health: words(/^HEALTHCHECK .*CMD (\[.*\])$/m),
    env: Object.fromEntries(env.split(' ').map((each) => each.split('=', 2))),
  };
}

/** A container of the project's image, with this folder at /data, and the broker's data if given. */
export async function containerOf(installation: Installation, data: string, brokerData = '/nowhere') {
  const image = imageOf(installation);
  // Each start of a container has an empty one.
  const memory = installation.place(`/dev/shm/${randomUUID()}`);
  mkdirSync(memory, { recursive: true });
  const inside = (text: string) =>
    text
      .replace(/^\/app\//, `${installation.checkout}/`)
      .replace(/^\/data\b/, data)
      .replaceAll('/dev/shm', memory)
      .replace(/^\/mosquitto\/data\b/, brokerData);
  const PATH = installation.env['PATH'] ?? '';
  const [host = '', port = ''] = image.env['SONIC2MQTT_SETUP']?.split(':') ?? [];
  const published: Readonly<Record<string, number>> = { [port]: await freePort() };
  // A container has its own network, so names and ports must be unique.
  const own = {
    PATH,
    SONIC2MQTT_SETUP: `${host}:${published[port]}`,
  };
  const start = (words: readonly string[], given: Readonly<Record<string, string>>) => {
    const env = Object.entries({ ...image.env, ...given }).map(([name, value]) => [name, inside(value)]);
    const [program = '', ...args] = words.map(inside);
    return startProcess(program, args, { cwd: data, env: { ...Object.fromEntries(env), ...own } });
  };
  return {
    run: (args: readonly string[], given: Readonly<Record<string, string>> = {}) =>
      start([...image.entrypoint, ...(args.length > 0 ? args : image.command)], given),
    isHealthy: async () => (await start(image.health, {}).ended()).code === 0,
    /** The port of this machine for each published port of the container. */
    published,
  };
}

/** The settings of a service in compose.yaml that matter without containers. */
interface Service {
  readonly user?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly profiles?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}

/** Does what `docker compose` would do in the checkout, with its compose.yaml and .env. */
export async function composeIn(installation: Installation) {
  const { checkout } = installation;
  const dotenv = join(checkout, '.env');
  const lines = existsSync(dotenv) ? readFileSync(dotenv, 'utf8').trim().split('\n') : [];
  const given = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const text = readFileSync(join(checkout, 'compose.yaml'), 'utf8').replace(
    /\$\{(\w+):-([^}]*)\}/g,
    (_, name, other) => given[name] || other,
  );
  const compose = parse(text, { merge: true });
  const services: Record<string, Service> = compose.services;
  const brokerPort = await freePort();

  /** The folder that is mounted there: one of the checkout, or a volume of Docker. */
  const volume = (name: string, target: string) => {
    const found = services[name]?.volumes.map((each) => each.split(':')).find(([, at]) => at === target);
    const source = found?.[0] ?? `no volume at ${target}`;
    return source.startsWith('.') ? join(checkout, source) : installation.place(`/var/lib/volumes/${source}`);
  };
  for (const name of Object.keys(compose.volumes)) {
    mkdirSync(installation.place(`/var/lib/volumes/${name}`), { recursive: true });
  }

  async function startBroker(): Promise<void> {
    const { command = [], healthcheck } = services['mosquitto'] ?? {};
    const places = installation.place('/run/mosquitto');
    mkdirSync(join(places, 'tmp'), { recursive: true });
    const own: Readonly<Record<string, string>> = {
      '/tmp/': `${places}/tmp/`,
      '/mosquitto/config': `${places}/config`,
      '/mosquitto/data': volume('mosquitto', '/mosquitto/data'),
      // If root starts Mosquitto, it changes to a user who cannot read the folders.
      'listener 1883': `listener ${brokerPort} 127.0.0.1${process.getuid?.() === 0 ? '\nuser root' : ''}`,
    };
    const inside = (words: string) =>
      words.replace(new RegExp(Object.keys(own).join('|'), 'g'), (it) => own[it] ?? it);
    copyWith(volume('mosquitto', '/mosquitto/config'), join(places, 'config'), inside);
    const [program = '', ...args] = command.map(inside);
    const broker = startProcess(program, args, { env: installation.env });
    const [, check = ''] = healthcheck?.test ?? [];
    const asked = check.replaceAll('$$', '$').replace('mosquitto_sub', `mosquitto_sub -p ${brokerPort}`);
    const isHealthy = () => spawnSync('sh', ['-c', asked], { env: installation.env }).status === 0;
    await waitFor(isHealthy, { what: 'a healthy broker', intervalMs: 200 }).catch((error: Error) => {
      throw new Error(`${error.message}:\n${broker.output}`);
    });
  }

  return {
    services,
    brokerUrl: `mqtt://127.0.0.1:${brokerPort}`,
    /** `docker compose up -d`. Resolves once the bridge is healthy. */
    up: async () => {
      const { depends_on = {}, environment } = services['sonic2mqtt'] ?? {};
      if ('mosquitto' in depends_on) await startBroker();
      const at = (place: string) => volume('sonic2mqtt', place);
      const { run, isHealthy, published } = await containerOf(
        installation,
        at('/data'),
        at('/mosquitto/data'),
      );
      const process = run([], environment);
      await waitFor(isHealthy, { what: 'a healthy bridge', intervalMs: 200 });
      return { process, published };
    },
    /** `docker compose run sonic2mqtt` with these arguments. */
    run: async (words: readonly string[]) => {
      const at = (place: string) => volume('sonic2mqtt', place);
      const container = await containerOf(installation, at('/data'), at('/mosquitto/data'));
      return container.run(words, services['sonic2mqtt']?.environment);
    },
    /** `docker compose exec SERVICE cat FILE`, for a file that the broker writes. */
    brokerFile: (file: string) =>
      readFileSync(
        file.replace(/^\/mosquitto\/data\b/, volume('mosquitto', '/mosquitto/data')),
        'utf8',
      ).trim(),
  };
}
