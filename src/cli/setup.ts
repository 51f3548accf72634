import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { fileVariable } from '../config/environment.ts';
import {
  type Answers,
  findUsualBroker,
  type Outcome,
  type Part,
  saveAnswers,
  testAnswers,
} from './answers.ts';
import { reportTo } from './checks.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { InputEnded, openTerminal, type Terminal } from './terminal.ts';

/** `sonic2mqtt setup`: asks for the account and the broker, tests both, and writes the configuration file. */
export async function setup(context: CommandContext): Promise<number> {
  const { print, complain, signal, env, cwd, configFile } = context;
  const file = resolve(cwd, configFile ?? (env[fileVariable] || 'config.yaml'));
  if (existsSync(file)) {
    complain(`${file} exists already. Edit it, or move it away and start setup again.`);
    return exitStatus.badUsage;
  }
  print('Setup prompts for your account and your MQTT broker, and tests both. Press Ctrl+C to stop.');
  const terminal = openTerminal(signal);
  try {
    const answers = await askForAll(terminal, context, file);
    await saveAnswers(answers, file);
    const run = configFile === undefined ? 'sonic2mqtt run' : `sonic2mqtt run --config ${file}`;
    print(`\nSaved ${file}. Only you can read it.\nStart sonic2mqtt as a service, or with: ${run}`);
    return exitStatus.done;
  } catch (error) {
    complain(error instanceof InputEnded ? 'Setup was stopped. Nothing was saved.' : errorMessage(error));
    return exitStatus.failed;
  } finally {
    terminal.close();
  }
}

const nothing: Answers = {
  email: '',
  password: '',
  broker: 'localhost',
  brokerUsername: '',
  brokerPassword: '',
};

async function askForAll(terminal: Terminal, context: CommandContext, file: string): Promise<Answers> {
  const { print } = context;
  const test = (part: Part, answers: Answers) => testAnswers(part, answers, file, context, reportTo(print));
  let answers = nothing;
  let outcome: Outcome;
  do {
    print('\nYour account, as in the vendor’s app:');
    const email = await terminal.ask('E-mail', answers.email);
    const password = await terminal.askHidden('Password');
    answers = { ...answers, email, password };
  } while ((await test('account', answers)) !== 'passed');

  let broker = (await findUsualBroker()) ?? '';
  print('\nThe MQTT broker that Home Assistant uses, for example mqtt://192.168.1.2:1883:');
  if (broker !== '') print(`A broker answers at ${broker}. Press Enter to use it.`);
  do {
    broker = await terminal.ask('Broker', broker);
    const brokerUsername = await terminal.ask('User name (empty for none)', answers.brokerUsername);
    const brokerPassword = brokerUsername === '' ? '' : await terminal.askHidden('Password');
    answers = { ...answers, broker, brokerUsername, brokerPassword };
    outcome = await test('broker', answers);
    // The broker may start later than this.
  } while (outcome !== 'passed' && !(outcome === 'failed' && (await isKept(terminal))));
  return answers;
}

async function isKept(terminal: Terminal): Promise<boolean> {
  return /^y/i.test(await terminal.ask('Use this broker anyway? y or n', 'n'));
}
