import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Given } from '../config/load.ts';
import { newConfigFile } from '../config/newFile.ts';
import { ConfigError } from '../config/problems.ts';
import type { Tree } from '../config/tree.ts';
import type { Language } from '../model/language.ts';
import { systemDisk } from '../state/disk.ts';
import { brokerChecks } from './brokerChecks.ts';
import { type Check, type Reporter, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { CommandContext } from './context.ts';
import { ownClient, rejectionText, signOutAndClose } from './ownSession.ts';

/** The answers to the setup's questions. User name and password of the broker are empty if it needs none. */
export interface Answers {
  readonly email: string;
  readonly password: string;
  /** The broker's address, with or without scheme and port. */
  readonly broker: string;
  readonly brokerUsername: string;
  readonly brokerPassword: string;
  /** The language of entity names; English if it is not given. */
  readonly language?: Language;
  /** The address of the status page; the page is not served if it is not given. */
  readonly listen?: string | undefined;
  /** Whether the bridge may not move valves. */
  readonly isWatchOnly?: boolean;
}

/** The names of the required answers. */
export const answerNames = ['email', 'password', 'broker', 'brokerUsername', 'brokerPassword'] as const;

/** The answers in the form of the configuration file. */
function configurationOf(answers: Answers): Tree {
  const { email, password, broker, brokerUsername, brokerPassword } = answers;
  const { language = 'en', listen, isWatchOnly } = answers;
  return {
    cloud: { email, password },
    mqtt: {
      url: brokerUrl(broker),
      ...(brokerUsername !== '' && { username: brokerUsername }),
      ...(brokerPassword !== '' && { password: brokerPassword }),
    },
    ...(language !== 'en' && { homeassistant: { language } }),
    ...(isWatchOnly && { control: { valves: false } }),
    ...(listen !== undefined && { http: { listen } }),
  };
}

/** Adds `mqtt://` if it is missing, because people write `192.168.1.2`. */
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

/** Uses the answers in place of a configuration file. */
function givenBy(answers: Answers, file: string): Given {
  return {
    file,
    parsed: { value: configurationOf(answers), problems: [], lineOf: () => undefined },
    tell: ({ path, message }) => `${questions[path.join('.')] ?? path.join('.')}: ${message}`,
    inWords: (message) => message,
  };
}

/** Which answers are tested: those about the account, or those about the broker. */
export type Part = 'account' | 'broker';

/** `invalid`: no configuration can have these answers. `rejected`: the cloud rejects the e-mail or the password. */
export type TestResult = 'passed' | 'failed' | 'rejected' | 'invalid';

/** Tests answers like `check`, and reports the findings. */
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
  if (part === 'broker') return testResultOf(await run(brokerChecks(configuration, 'setup', signal)));
  const client = ownClient(configuration);
  // An account may get its first valve after the setup.
  const error = await run(cloudChecks(configuration.config, client, {}, 'WARN'));
  await signOutAndClose(client, signal);
  return rejectionText(error) === null ? testResultOf(error) : 'rejected';
}

/** The variables in the environment that replace answers, by the name of the answer. */
export function setElsewhere(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const set = Object.entries(variables).map(([answer, names]) => [answer, names.find((each) => env[each])]);
  return Object.fromEntries(set.filter(([, variable]) => variable !== undefined));
}

const variables: Readonly<Record<string, readonly string[]>> = {
  brokerUsername: ['SONIC2MQTT_MQTT__USERNAME'],
  brokerPassword: ['SONIC2MQTT_MQTT__PASSWORD', 'SONIC2MQTT_MQTT__PASSWORD_FILE'],
  language: ['SONIC2MQTT_HOMEASSISTANT__LANGUAGE'],
  keepPage: ['SONIC2MQTT_HTTP__LISTEN'],
  watchOnly: ['SONIC2MQTT_CONTROL__VALVES'],
};

/**
 * A problem for each answer that an environment variable replaces. Docker Compose, for example, sets its broker's own
 * user.
 */
function unusedAnswers({ brokerUsername, brokerPassword }: Answers, env: NodeJS.ProcessEnv): string[] {
  const set = setElsewhere(env);
  const rivals = [
    ['mqtt.username', brokerUsername, set['brokerUsername']],
    ['mqtt.password', brokerPassword, set['brokerPassword']],
  ] as const;
  return rivals.flatMap(([option, answer, variable]) => {
    if (answer === '' || variable === undefined) return [];
    return `${questions[option]}: ${variable} is set and has priority. Leave this empty, or remove that variable`;
  });
}

function testResultOf(error: unknown): TestResult {
  return error === null ? 'passed' : 'failed';
}

/** Writes the configuration file, completely or not at all, readable by its owner only. Never replaces a file. */
export async function saveAnswers(answers: Answers, file: string): Promise<void> {
  if (existsSync(file)) throw new Error('the file exists already');
  await systemDisk.write(file, newConfigFile(configurationOf(answers)));
}

/**
 * The usual name of a broker's container next to this one, this computer, and the usual name of Home Assistant in a
 * home.
 */
const usualHosts = ['mosquitto', 'localhost', 'homeassistant.local'];
const mqttPort = 1883;
const lookLimitMs = 1_500;

/** Looks for a broker at the usual places. Resolves to its address, or to null. */
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
    // Resolving a name may take longer than a person waits.
    const timer = setTimeout(() => end(false), lookLimitMs);
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
