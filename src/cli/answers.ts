import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Given } from '../config/load.ts';
import { newConfigFile } from '../config/newFile.ts';
import { ConfigError } from '../config/problems.ts';
import type { Tree } from '../config/tree.ts';
import { systemDisk } from '../state/disk.ts';
import { brokerChecks } from './brokerChecks.ts';
import { type Check, type Reporter, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { CommandContext } from './context.ts';
import { ownClient, signOutAndClose } from './ownSession.ts';

/** What somebody who sets sonic2mqtt up is asked for. Empty: no user name, no password of the broker. */
export interface Answers {
  readonly email: string;
  readonly password: string;
  /** With or without the scheme and the port. */
  readonly broker: string;
  readonly brokerUsername: string;
  readonly brokerPassword: string;
}

/** Their names. */
export const answerNames = ['email', 'password', 'broker', 'brokerUsername', 'brokerPassword'] as const;

/** The answers as the configuration file will have them. */
function configurationOf({ email, password, broker, brokerUsername, brokerPassword }: Answers): Tree {
  return {
    cloud: { email, password },
    mqtt: {
      url: brokerUrl(broker),
      ...(brokerUsername !== '' && { username: brokerUsername }),
      ...(brokerPassword !== '' && { password: brokerPassword }),
    },
  };
}

/** People write `192.168.1.2`. */
function brokerUrl(answer: string): string {
  return /^[a-z]+:\/\//i.test(answer) ? answer : `mqtt://${answer}`;
}

const questions: Readonly<Record<string, string>> = {
  'cloud.email': 'E-mail',
  'cloud.password': 'Password',
  'mqtt.url': 'Broker',
  'mqtt.username': 'User name of the broker',
  'mqtt.password': 'Password of the broker',
};

/** The answers in place of a file. */
function givenBy(answers: Answers, file: string): Given {
  return {
    file,
    parsed: { value: configurationOf(answers), problems: [], lineOf: () => undefined },
    tell: ({ path, message }) => `${questions[path.join('.')] ?? path.join('.')}: ${message}`,
    inWords: (message) => message,
  };
}

/** Whose answers are tested: those about the account, or those about the broker. */
export type Part = 'account' | 'broker';

/** Invalid: no configuration can have these answers. */
export type TestResult = 'passed' | 'failed' | 'invalid';

/** Tests answers as `check` does, and reports what was found. */
export async function testAnswers(
  part: Part,
  answers: Answers,
  file: string,
  context: CommandContext,
  report: Reporter,
): Promise<TestResult> {
  const unused = part === 'broker' ? unusedAnswers(answers, context.env) : [];
  for (const words of unused) report.found({ check: part, outcome: 'FAIL', words });
  if (unused.length > 0) return 'invalid';
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(context, { level: 'error' }, givenBy(answers, file));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const words of error.problems) report.found({ check: part, outcome: 'FAIL', words });
    return 'invalid';
  }
  const { signal } = context;
  const run = (checks: readonly Check[]) => runChecks(checks, report, signal);
  if (part === 'broker') return outcomeOf(await run(brokerChecks(configuration, 'setup', signal)));
  const client = ownClient(configuration);
  const error = await run(cloudChecks(configuration.config, client));
  await signOutAndClose(client, signal);
  return outcomeOf(error);
}

/** What somebody entered in vain, as with Docker Compose, whose broker has a user of its own. */
function unusedAnswers({ brokerUsername, brokerPassword }: Answers, env: NodeJS.ProcessEnv): string[] {
  const rivals = [
    ['mqtt.username', brokerUsername, ['SONIC2MQTT_MQTT__USERNAME']],
    ['mqtt.password', brokerPassword, ['SONIC2MQTT_MQTT__PASSWORD', 'SONIC2MQTT_MQTT__PASSWORD_FILE']],
  ] as const;
  return rivals.flatMap(([option, answer, variables]) => {
    const variable = variables.find((each) => env[each]);
    if (answer === '' || variable === undefined) return [];
    return `${questions[option]}: ${variable} is set and has priority. Leave this empty, or remove that variable`;
  });
}

function outcomeOf(error: unknown): TestResult {
  return error === null ? 'passed' : 'failed';
}

/** Writes the configuration file, whole or not at all, and for its owner only; replaces none. */
export async function saveAnswers(answers: Answers, file: string): Promise<void> {
  if (existsSync(file)) throw new Error('the file exists already');
  await systemDisk.write(file, newConfigFile(configurationOf(answers)));
}

/** The usual name of a broker's container beside this one, this computer, and the usual name of Home Assistant in a home. */
const usualHosts = ['mosquitto', 'localhost', 'homeassistant.local'];
const mqttPort = 1883;
const lookLimitMs = 1_500;

/** Looks for a broker where it usually is; its address, or null. */
export async function findUsualBroker(
  hosts: readonly string[] = usualHosts,
  port = mqttPort,
): Promise<string | null> {
  const found = await Promise.all(hosts.map((host) => isListening(host, port)));
  const host = hosts[found.indexOf(true)];
  return host === undefined ? null : `mqtt://${host}:${port}`;
}

function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isThere: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isThere);
    };
    // Looking a name up may take longer than a person waits.
    const timer = setTimeout(() => end(false), lookLimitMs);
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
