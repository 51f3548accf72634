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

interface Question {
  /** The option that the answer gives. */
  readonly path: string;
  readonly label: string;
  readonly isHidden?: true;
}

/** THE QUESTIONS of the setup about account and broker. The last two are left empty if the broker needs no user. */
const questions = {
  email: { path: 'cloud.email', label: 'E-mail' },
  password: { path: 'cloud.password', label: 'Password', isHidden: true },
  broker: { path: 'mqtt.url', label: 'Broker' },
  brokerUsername: { path: 'mqtt.username', label: 'User name of the broker' },
  brokerPassword: { path: 'mqtt.password', label: 'Password of the broker', isHidden: true },
} as const satisfies Readonly<Record<string, Question>>;

type AnswerName = keyof typeof questions;
const answerNames = Object.keys(questions) as readonly AnswerName[];

/** The options of the choices, by the name of their field in the page. */
const choicePaths = {
  language: 'homeassistant.language',
  keepPage: 'http.listen',
  watchOnly: 'control.valves',
};

interface Choices {
  /** The language of entity names; English if it is not given. */
  readonly language?: Language;
  /** The address of the status page; the page is not served if it is not given. */
  readonly listen?: string | undefined;
  readonly watchOnly?: boolean;
}

export interface Answers extends Readonly<Record<AnswerName, string>>, Choices {}

type Given = readonly (readonly [path: string, value: unknown])[];

function givenBy({ language = 'en', listen, watchOnly, ...answers }: Answers): Given {
  // People write `192.168.1.2`.
  const broker = /^[a-z]+:\/\//i.test(answers.broker) ? answers.broker : `mqtt://${answers.broker}`;
  const given: Given = [
    ...answerNames.map((name) => [questions[name].path, { ...answers, broker }[name] || undefined] as const),
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

const answerAt = (path: string | null | undefined) =>
  answerNames.find((name) => questions[name].path === path);

export type Part = 'account' | 'broker';

/** `invalid`: no configuration can have these answers. `rejected`: the cloud rejects the e-mail or the password. */
export type TestResult = 'passed' | 'failed' | 'rejected' | 'invalid';

/** Each part is tested with these in place of the other part, because no configuration is valid without both. */
const others: Readonly<Record<Part, Partial<Answers>>> = {
  account: { broker: 'localhost', brokerUsername: '', brokerPassword: '' },
  broker: { email: 'nobody@example.com', password: 'none' },
};

/** Tests answers like `check`, and reports the findings. A finding about a single answer has the name of the answer. */
export async function testAnswers(
  part: Part,
  answers: Answers,
  context: CommandContext,
  report: Reporter,
): Promise<TestResult> {
  const refuse = (words: string, field: AnswerName | undefined) => {
    const check = field ? questions[field].label : 'configuration';
    const shown = field
      ? ({ field, text: 'result_field' } as const)
      : ({ text: 'result_file_fails' } as const);
    report.found({ check, outcome: 'FAIL', words, ...shown });
  };
  const unused = part === 'broker' ? unusedAnswers(answers, context.env) : [];
  for (const { field, variable } of unused)
    refuse(`${variable} is set and has priority. Leave this empty, or remove that variable`, field);
  if (unused.length > 0) return 'invalid';
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(
      context,
      { level: 'error' },
      formOf({ ...answers, ...others[part] }),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    error.problems.forEach((problem, index) => {
      const place = error.places[index];
      const field = answerAt(place?.option);
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
  const paths = answerNames.map((name) => [name, questions[name].path] as const);
  return Object.fromEntries(
    [...paths, ...Object.entries(choicePaths)].flatMap(([name, path]) => {
      const variable = [path, `${path}_file`].map(variableOf).find((each) => env[each]);
      return variable === undefined ? [] : [[name, variable]];
    }),
  );
}

/** The answers that a variable replaces. Docker Compose, for example, sets its broker's own user. */
function unusedAnswers(answers: Answers, env: NodeJS.ProcessEnv) {
  const set = setElsewhere(env);
  return (['brokerUsername', 'brokerPassword'] as const).flatMap((field) => {
    const variable = answers[field] === '' ? undefined : set[field];
    return variable === undefined ? [] : [{ field, variable }];
  });
}

/** Writes the configuration file, completely or not at all, readable by its owner only. Never replaces a file. */
export async function saveAnswers(answers: Answers, file: string): Promise<void> {
  if (existsSync(file)) throw new Error('the file exists already');
  const options = givenBy(answers).reduce<Tree>(
    (tree, [path, value]) => withValueAt(tree, path.split('.'), value),
    {},
  );
  await systemDisk.write(file, newConfigFile(options));
}

/** The name of a broker's container next to this one, this computer, and the name of Home Assistant in a home. */
const usualHosts = ['mosquitto', 'localhost', 'homeassistant.local'];
const mqttPort = 1883;
const lookLimitMs = 1_500;

/** Looks for a broker at the usual places. Resolves to its address, or to null. */
export async function findUsualBroker(
  hosts: readonly string[] = usualHosts,
  port = mqttPort,
): Promise<string | null> {
  const looks = hosts.map((host) => connectOnce(host, port, lookLimitMs));
  const found = (await Promise.allSettled(looks)).map(({ status }) => status === 'fulfilled');
  const host = hosts[found.indexOf(true)];
  return host === undefined ? null : `mqtt://${host}:${port}`;
}
