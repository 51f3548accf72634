import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type RunningProcess, startProcess } from './childProcess.ts';
import { accepts, freePort } from './ports.ts';
import { temporaryFolder } from './program.ts';
import { waitFor } from './waitFor.ts';

/** A broker other than Mosquitto, installed by `.ci/tools`. */
export interface OtherBroker {
  readonly name: string;
  /** What is special about it. */
  readonly peculiarity: string;
  readonly isInstalled: boolean;
  /**
   * The MQTT version to use. With 5, each connection to a broker that does not answer it would take 15
   * seconds.
   */
  readonly protocolVersion: 4 | 5;
  /** The text about the version in the log. */
  readonly loggedVersion: string;
  /** Whether subscriptions with wildcards receive retained messages. */
  readonly listsRetained: boolean;
  /** Starts it, and resolves once it accepts connections. */
  start(): Promise<{ readonly url: string; stop(): Promise<void> }>;
}

async function untilListening(name: string, port: number, processes: readonly RunningProcess[]) {
  const isUp = async () => {
    const ended = processes.find(({ isRunning }) => !isRunning);
    if (ended) throw new Error(`${name} ended:\n${ended.output}`);
    return accepts(port);
  };
  await waitFor(isUp, { what: `${name} to accept connections`, timeoutMs: 240_000, intervalMs: 100 });
  return {
    url: `mqtt://127.0.0.1:${port}`,
    stop: async () => {
      for (const each of processes) await each.stop('SIGKILL');
    },
  };
}

const debianFolder = '/usr/lib/rabbitmq/lib';

/**
 * The server program itself, because Debian's wrapper changes to a user who cannot read the folder. Empty if
 * it is not installed.
 */
function findRabbitMq(): string {
  const [version] = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  return version === undefined ? '' : join(debianFolder, version, 'sbin/rabbitmq-server');
}

const rabbitMqServer = findRabbitMq();

async function startRabbitMq() {
  const folder = temporaryFolder();
  const [port, namesPort, nodePort] = await Promise.all([freePort(), freePort(), freePort()]);
  const lines = [
    'listeners.tcp = none',
    `mqtt.listeners.tcp.1 = 127.0.0.1:${port}`,
    'mqtt.allow_anonymous = true',
    'log.console = true',
    'log.file = false',
  ];
  writeFileSync(join(folder, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'plugins'), '[rabbitmq_mqtt].\n');
  const env = {
    ...process.env,
    HOME: folder,
    RABBITMQ_NODENAME: 'broker@localhost',
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_DIST_PORT: `${nodePort}`,
    // Makes the script replace itself by the server.
    RUNNING_UNDER_SYSTEMD: 'true',
    // An epmd that the server starts would keep running.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-start_epmd false',
    ERL_EPMD_PORT: `${namesPort}`,
    ERL_EPMD_ADDRESS: '127.0.0.1',
  };
  const names = startProcess('epmd', ['-port', `${namesPort}`], { env, outlivesTest: true });
  await waitFor(() => accepts(namesPort), { what: 'epmd to accept connections' });
  const server = startProcess(rabbitMqServer, [], { env, outlivesTest: true });
  return untilListening('RabbitMQ', port, [server, names]);
}

const amqttFolder = join(homedir(), '.cache/sonic2mqtt-amqtt/bin');

/**
 * While a client connects, aMQTT 0.12.1 sends it retained messages for each subscription of any client. If another
 * client subscribes or leaves meanwhile, the iteration fails, and the connection is closed. Here it uses a copy.
 */
const amqttProgram = `
from amqtt.broker import Broker
from amqtt.scripts.broker_script import main

class Subscriptions(dict):
    def __iter__(self):
        return iter(list(self.keys()))

start = Broker.start

async def start_with_copies(self):
    self._subscriptions = Subscriptions()
    await start(self)

Broker.start = start_with_copies
main()
`;

async function startAmqtt() {
  const port = await freePort();
  const file = join(temporaryFolder(), 'amqtt.json');
  const config = {
    listeners: { default: { type: 'tcp', bind: `127.0.0.1:${port}` } },
    plugins: { 'amqtt.plugins.authentication.AnonymousAuthPlugin': { allow_anonymous: true } },
  };
  // aMQTT reads YAML, which includes JSON.
  writeFileSync(file, JSON.stringify(config));
  return untilListening('aMQTT', port, [
    startProcess(join(amqttFolder, 'python3'), ['-c', amqttProgram, '-c', file], { outlivesTest: true }),
  ]);
}

export const otherBrokers: readonly OtherBroker[] = [
  {
    name: 'RabbitMQ',
    peculiarity: 'shows retained messages to exact topics only, and by 3.12 closes the connection at MQTT 5',
    isInstalled: rabbitMqServer !== '',
    protocolVersion: 5,
    // 3.13 is the first version with MQTT 5.
    loggedVersion: /-3\.(\d|1[0-2])\./.test(rabbitMqServer) ? '(MQTT 3.1.1)' : '(MQTT 5)',
    listsRetained: false,
    start: startRabbitMq,
  },
  {
    name: 'aMQTT',
    peculiarity: 'does not answer MQTT 5, and sends retained messages that nobody asked for',
    isInstalled: existsSync(join(amqttFolder, 'amqtt')),
    protocolVersion: 4,
    loggedVersion: '(MQTT 3.1.1)',
    listsRetained: true,
    start: startAmqtt,
  },
];
for (const { name, isInstalled } of otherBrokers) {
  if (!isInstalled) console.info(`${name} is not installed (see .ci/tools): its tests are skipped`);
}
