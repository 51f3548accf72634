import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { emailPattern } from '../base/email.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { fileVariable } from '../config/environment.ts';
import { type Language, languages } from '../model/language.ts';
import { describeDiskError } from '../state/disk.ts';
import {
  type AnswerName,
  type Answers,
  type Choices,
  findUsualBroker,
  type Part,
  questions,
  saveAnswers,
  setElsewhere,
  type TestResult,
  testAnswers,
} from './answers.ts';
import { reportTo } from './checks.ts';
import { type CommandContext, exitStatus, usualPageAddress } from './context.ts';
import { hiddenProgram, logCommand, serviceFiles, serviceProblem, startService } from './service.ts';
import { InputEnded, isYes, openTerminal, type Terminal } from './terminal.ts';

/** `sonic2mqtt setup`: asks for the account and the broker, tests both, and writes the configuration file. */
export async function setup(context: CommandContext, options: { readonly service?: true }): Promise<number> {
  if (options.service) return setUpService(context);
  const { print, complain, env, cwd, configFile } = context;
  const file = resolve(cwd, configFile ?? (env[fileVariable] || 'config.yaml'));
  if (existsSync(file)) {
    complain(`${file} exists already. Edit it, or move it away and start setup again.`);
    return exitStatus.badUsage;
  }
  if (!(await writeConfiguration(context, file))) return exitStatus.failed;
  const run = configFile === undefined ? 'sonic2mqtt run' : `sonic2mqtt run --config ${file}`;
  print(`Start sonic2mqtt as a service, or with: ${run}`);
  return exitStatus.done;
}

/** `sonic2mqtt setup --service`: does the same, and then installs or renews a systemd service and starts it. */
async function setUpService(context: CommandContext): Promise<number> {
  const { print, complain, signal } = context;
  const { config } = serviceFiles;
  const problem = (await serviceProblem(context)) ?? hiddenProgram();
  if (problem !== null) {
    complain(problem);
    return exitStatus.failed;
  }
  if (existsSync(config)) print(`Using ${config}, which exists already.`);
  else if (!(await writeConfiguration(context, config))) return exitStatus.failed;
  print('Starting the service. This is its log:\n');
  if (!(await startService(signal))) {
    complain(`\nThe service did not start. Its log shows why: ${logCommand}`);
    return exitStatus.failed;
  }
  print(`\nThe service runs, and starts with this computer. Its log: ${logCommand}`);
  print(`Options: ${config}. After a change: sudo systemctl restart sonic2mqtt`);
  return exitStatus.done;
}

async function writeConfiguration(context: CommandContext, file: string): Promise<boolean> {
  const { print, complain, signal } = context;
  try {
    accessSync(nearestFolder(file), constants.W_OK);
  } catch (error) {
    complain(`${file} cannot be written (${describeDiskError(error)}).`);
    return false;
  }
  print('Setup asks for your account and your MQTT broker, and tests each of them. Press Ctrl+C to stop.');
  const terminal = openTerminal(signal);
  try {
    const answers = await askForAll(terminal, context, file);
    await saveAnswers(answers, file);
    print(`\nSaved ${file}. Only you can read it.`);
    if (answers.watchOnly)
      print(
        'Watch only does not end by itself. To end it, change valves: false to valves: true there, and restart.',
      );
    if (answers.listen) print(`Status page, as soon as sonic2mqtt runs: http://${answers.listen}/`);
    return true;
  } catch (error) {
    const isStopped = signal.aborted || error instanceof InputEnded;
    complain(isStopped ? 'Setup was stopped. Nothing was saved.' : errorMessage(error));
    return false;
  } finally {
    terminal.close();
  }
}

/** The folder of a file; if it does not exist, the nearest folder above it that does. */
function nearestFolder(file: string): string {
  const folder = dirname(file);
  return existsSync(folder) ? folder : nearestFolder(folder);
}

const noAnswers: Answers = { email: '', password: '', broker: '', brokerUsername: '', brokerPassword: '' };

async function askForAll(terminal: Terminal, context: CommandContext, file: string): Promise<Answers> {
  const { print, signal } = context;
  let answers = noAnswers;
  const ask = async (name: AnswerName, isRight: (answer: string) => boolean = Boolean) => {
    const { isHidden, label } = { isHidden: false, ...questions[name] };
    let answer: string;
    do answer = await (isHidden ? terminal.askHidden(label) : terminal.ask(label, answers[name]));
    while (!isRight(answer));
    answers = { ...answers, [name]: answer };
  };
  const test = async (part: Part) => {
    const outcome = await testAnswers(part, answers, file, context, reportTo(print, languageIn(context.env)));
    signal.throwIfAborted();
    return outcome;
  };
  const isEmail = (answer: string) => {
    const isRight = emailPattern.test(answer);
    if (!isRight && answer !== '') print(`FAIL ${questions.email.label}: must be an e-mail address`);
    return isRight;
  };
  let outcome: TestResult;
  do {
    print('\nYour account, as in the vendor’s app:');
    await ask('email', isEmail);
    await ask('password', () => true);
    outcome = await test('account');
    // The e-mail may be the wrong one of the two, so it is not proposed again.
    if (outcome === 'rejected') answers = noAnswers;
  } while (outcome !== 'passed');

  answers = { ...answers, broker: (await findUsualBroker()) ?? '' };
  print('\nThe MQTT broker that Home Assistant uses, for example mqtt://192.168.1.2:1883:');
  if (answers.broker !== '') print(`A broker answers at ${answers.broker}. Press Enter to use it.`);
  do {
    await ask('broker');
    const label = `${questions.brokerUsername.label} (empty for none)`;
    // Not proposed again, because Enter means that there is none.
    answers = { ...answers, brokerUsername: await terminal.ask(label), brokerPassword: '' };
    if (answers.brokerUsername !== '') await ask('brokerPassword', () => true);
    outcome = await test('broker');
    // The broker may only be started later, so the user may keep it.
  } while (
    outcome !== 'passed' &&
    !(outcome === 'failed' && (await isYes(terminal, 'Use this broker anyway?', 'n')))
  );
  return { ...answers, ...(await askForChoices(terminal, context)) };
}

function languageIn(env: NodeJS.ProcessEnv): Language {
  return languages.find((each) => env['LANG']?.startsWith(each)) ?? 'en';
}

/** Asks for the options of the page, except for those that a variable sets. */
async function askForChoices(terminal: Terminal, { print, env }: CommandContext): Promise<Choices> {
  const set = setElsewhere(env);
  let choices: Choices = {};
  try {
    print('\nOptions. Press Enter for the answer in brackets:');
    while (!set['language'] && choices.language === undefined) {
      const question = `Language of the names in Home Assistant (${languages.join(', ')})`;
      const answer = await terminal.ask(question, languageIn(env));
      const language = languages.find((each) => each === answer.toLowerCase());
      choices = { ...choices, ...(language && { language }) };
    }
    const page = `Status page for browsers on this computer, at http://${usualPageAddress}/?`;
    if (!set['keepPage'] && (await isYes(terminal, page, 'y')))
      choices = { ...choices, listen: usualPageAddress };
    const watchOnly = 'Watch only for now, so that nobody can move a valve through sonic2mqtt?';
    if (!set['watchOnly']) choices = { ...choices, watchOnly: await isYes(terminal, watchOnly, 'n') };
  } catch (error) {
    // A pipe may end after account and broker. Then all other options keep their defaults.
    if (!(error instanceof InputEnded) || process.stdin.isTTY) throw error;
  }
  return choices;
}
