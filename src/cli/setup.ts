import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { fileVariable } from '../config/environment.ts';
import type { Given } from '../config/load.ts';
import { ConfigError } from '../config/problems.ts';
import { systemDisk } from '../state/disk.ts';
import { type Answers, configFileOf, findUsualBroker, givenBy } from './answers.ts';
import { brokerChecks } from './brokerChecks.ts';
import { type Reporter, reportTo, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { leave, ownClient } from './ownSession.ts';
import { InputEnded, openTerminal, type Terminal } from './terminal.ts';

/** `sonic2mqtt setup`: asks for the account and the broker, tests both, and writes the configuration file. */
export async function setup(context: CommandContext): Promise<number> {
  const { print, complain, signal, env, cwd, configFile } = context;
  const file = resolve(cwd, configFile ?? (env[fileVariable] || 'config.yaml'));
  if (existsSync(file)) {
    complain(`${file} exists already. Edit it, or move it away and start setup again.`);
    return exitStatus.badUsage;
  }
  print('Setup asks for your account and your MQTT broker, and tests both. Ctrl+C ends it.');
  const terminal = openTerminal(signal);
  try {
    const answers = await askForAll(terminal, context, file);
    // Whole or not at all, and for its owner only.
    await systemDisk.write(file, configFileOf(answers));
    print(`\nSaved ${file}. Only you can read it.\nStart the bridge with: sonic2mqtt run`);
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
  const test = (answers: Answers, checks: Checks) => testAnswers(givenBy(answers, file), context, checks);
  let answers = nothing;
  let outcome: Outcome;
  do {
    print('\nYour account, as in the vendor’s app:');
    const email = await terminal.ask('E-mail', answers.email);
    const password = await terminal.askHidden('Password');
    answers = { ...answers, email, password };
  } while ((await test(answers, accountChecks)) !== 'passed');

  let broker = (await findUsualBroker()) ?? '';
  print('\nThe MQTT broker that Home Assistant uses, for example mqtt://192.168.1.2:1883:');
  if (broker !== '') print(`A broker answers at ${broker}. Press Enter to use it.`);
  do {
    broker = await terminal.ask('Broker', broker);
    const brokerUsername = await terminal.ask('User name (empty for none)', answers.brokerUsername);
    const brokerPassword = brokerUsername === '' ? '' : await terminal.askHidden('Password');
    answers = { ...answers, broker, brokerUsername, brokerPassword };
    outcome = await test(answers, brokerOnly);
    // The broker may start later than this.
  } while (outcome !== 'passed' && !(outcome === 'failed' && (await isKept(terminal))));
  return answers;
}

async function isKept(terminal: Terminal): Promise<boolean> {
  return /^y/i.test(await terminal.ask('Use this broker all the same? y or n', 'n'));
}

/** Runs some checks; resolves to the error of the first that fails, or null. */
type Checks = (configuration: Configuration, report: Reporter, signal: AbortSignal) => Promise<unknown>;

const accountChecks: Checks = async (configuration, report, signal) => {
  const client = ownClient(configuration);
  const error = await runChecks(cloudChecks(configuration.config, client), report, signal);
  await leave(client, signal);
  return error;
};

const brokerOnly: Checks = (configuration, report, signal) =>
  runChecks(brokerChecks(configuration, 'setup', signal), report, signal);

/** Invalid: no configuration can have these answers. */
type Outcome = 'passed' | 'failed' | 'invalid';

/** Tests answers and prints what was found. */
async function testAnswers(answers: Given, context: CommandContext, checks: Checks): Promise<Outcome> {
  try {
    const configuration = await readConfiguration(context, { level: 'error' }, answers);
    const error = await checks(configuration, reportTo(context.print), context.signal);
    return error === null ? 'passed' : 'failed';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) context.print(`FAIL ${problem}`);
    return 'invalid';
  }
}
