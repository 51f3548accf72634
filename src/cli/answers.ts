import { connect } from 'node:net';
import type { Given } from '../config/load.ts';
import { newConfigFile } from '../config/newFile.ts';
import type { Tree } from '../config/tree.ts';

/** What somebody who sets sonic2mqtt up is asked for. Empty: no user name, no password of the broker. */
export interface Answers {
  readonly email: string;
  readonly password: string;
  /** With or without the scheme and the port. */
  readonly broker: string;
  readonly brokerUsername: string;
  readonly brokerPassword: string;
}

/** The answers as the configuration file will have them. */
function treeOf({ email, password, broker, brokerUsername, brokerPassword }: Answers): Tree {
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

/** The text of a new configuration file. */
export function configFileOf(answers: Answers): string {
  return newConfigFile(treeOf(answers));
}

const questions: Readonly<Record<string, string>> = {
  'cloud.email': 'E-mail',
  'cloud.password': 'Password',
  'mqtt.url': 'Broker',
  'mqtt.username': 'User name of the broker',
  'mqtt.password': 'Password of the broker',
};

/** The answers in place of a file, for `loadConfig`. */
export function givenBy(answers: Answers, file: string): Given {
  return {
    file,
    parsed: { value: treeOf(answers), problems: [], lineOf: () => undefined },
    tell: ({ path, what }) => `${questions[path.join('.')] ?? path.join('.')}: ${what}`,
    inWords: (words) => words,
  };
}

/** This computer, the usual name of Home Assistant in a home, and the usual name of the broker's container. */
const usualHosts = ['localhost', 'homeassistant.local', 'mosquitto'];
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
