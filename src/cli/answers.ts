import { existsSync } from 'node:fs';
import { variableOf } from '../config/environment.ts';
import { newConfigFile } from '../config/file.ts';
import type { Form } from '../config/load.ts';
import { ConfigError } from '../config/problems.ts';
import { type Tree, withValueAt } from '../config/tree.ts';
import type { Language } from '../model/language.ts';
import { systemDisk } from '../state/disk.ts';
import { brokerChecks } from './brokerChecks.ts';
import { type Check, type Reporter, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { CommandContext } from './context.ts';
import { rejectionText, withOwnClient } from './ownSession.ts';
import { connectOnce } from './ports.ts';

/** The options of the answers. The last two are left empty if the broker needs no user. */
const answerPaths = {
  email: 'cloud.email',
  password: 'cloud.password',
  broker: 'mqtt.url',
  brokerUsername: 'mqtt.username',
  brokerPassword: 'mqtt.password',
} as const;

type AnswerName = keyof typeof answerPaths;
const answerNames = Object.keys(answerPaths) as readonly AnswerName[];

const choicePaths = {
  language: 'homeassistant.language',
  keepPage: 'http.listen',
  watchOnly: 'control.valves',
};

export interface Answers extends Readonly<Record<AnswerName, string>> {
  /** Of entity names. */
  readonly language: Language;
  /** The address of the status page; undefined if it is not served. */
  readonly listen: string | undefined;
  readonly watchOnly: boolean;
}

function givenBy({ language, listen, watchOnly, ...answers }: Answers) {
  // People write `192.168.1.2`.
  const broker = /^[a-z]+:\/\//i.test(answers.broker) ? answers.broker : `mqtt://${answers.broker}`;
  const given: readonly (readonly [path: string, value: unknown])[] = [
    ...answerNames.map((name) => [answerPaths[name], { ...answers, broker }[name] || undefined] as const),
    [choicePaths.language, language === 'en' ? undefined : language],
    [choicePaths.watchOnly, watchOnly ? false : undefined],
    [choicePaths.keepPage, listen],
  ];
  return given.filter(([, value]) => value !== undefined);
}

function formOf(answers: Answers): Form {
  const settings = givenBy(answers).map(([path, value]) => ({
    path: path.split('.'),
    value,
    place: 'setup',
  }));
  return { file: null, settings, defaults: [], problems: [], placeOf: () => undefined };
}

export type Part = 'account' | 'broker';

/** `invalid`: no configuration can have these answers. `rejected`: the cloud rejects the e-mail or the password. */
export type TestResult = 'passed' | 'failed' | 'rejected' | 'invalid';

/** Stand in for the other part, because no configuration is valid without both. */
const others: Readonly<Record<Part, Partial<Answers>>> = {
  account: { broker: 'localhost', brokerUsername: '', brokerPassword: '' },
  broker: { email: 'nobody@example.com', password: 'none' },
};

/** Tests answers like `check`. A finding about a single answer has its name. */
export async function testAnswers(
  part: Part,
  answers: Answers,
  context: CommandContext,
  report: Reporter,
): Promise<TestResult> {
  const refuse = (words: string, field: AnswerName | undefined) => {
    const check = field ? answerPaths[field] : 'configuration';
    const shown = field
      ? ({ field, text: 'result_field' } as const)
      : ({ text: 'result_file_fails' } as const);
    report.found({ check, outcome: 'FAIL', words, ...shown });
  };
  // Docker Compose, for example, sets its broker's own user.
  const set = setElsewhere(context.env);
  const ofUser = part === 'broker' ? (['brokerUsername', 'brokerPassword'] as const) : [];
  const unused = ofUser.filter((field) => answers[field] !== '' && set[field] !== undefined);
  for (const field of unused)
    refuse(`${set[field]} is set and has priority. Leave this empty, or remove that variable`, field);
  if (unused.length > 0) return 'invalid';
  let configuration: Configuration;
  try {
    const form = formOf({ ...answers, ...others[part] });
    configuration = await readConfiguration(context, { level: 'error' }, form);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    error.problems.forEach((problem, index) => {
      const place = error.places[index];
      const field = answerNames.find((name) => answerPaths[name] === place?.option);
      refuse((field && place?.words) ?? problem, field);
    });
    return 'invalid';
  }
  const { signal } = context;
  const run = (checks: readonly Check[]) => runChecks(checks, report, signal);
  if (part === 'broker')
    return (await run(brokerChecks(configuration, 'setup', signal))) === null ? 'passed' : 'failed';
  // An account may get its first valve after the setup.
  const error = await withOwnClient(configuration, signal, (client) =>
    run(cloudChecks(configuration.config, client, {}, 'WARN')),
  );
  if (error === null) return 'passed';
  return rejectionText(error) === null ? 'failed' : 'rejected';
}

/** The variables in the environment that replace answers, by the name of the answer. */
export function setElsewhere(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries({ ...answerPaths, ...choicePaths }).flatMap(([name, path]) => {
      const variable = [path, `${path}_file`].map(variableOf).find((each) => env[each]);
      return variable === undefined ? [] : [[name, variable]];
    }),
  );
}

/** Never replaces a file. */
export async function saveAnswers(answers: Answers, file: string): Promise<void> {
  if (existsSync(file)) throw new Error('the file exists already');
  const options = givenBy(answers).reduce<Tree>(
    (tree, [path, value]) => withValueAt(tree, path.split('.'), value),
    {},
  );
  await systemDisk.write(file, newConfigFile(options));
}

/** A container next to this one, this computer, and the name of Home Assistant in a home. */
const usualHosts = ['mosquitto', 'localhost', 'homeassistant.local'];
const mqttPort = 1883;
const lookLimitMs = 1_500;

export async function findUsualBroker(
  hosts: readonly string[] = usualHosts,
  port = mqttPort,
): Promise<string | null> {
  const looks = hosts.map((host) => connectOnce(host, port, lookLimitMs));
  const found = (await Promise.allSettled(looks)).map(({ status }) => status === 'fulfilled');
  const host = hosts[found.indexOf(true)];
  return host === undefined ? null : `mqtt://${host}:${port}`;
}
