import { CloudError } from '../cloud/errors.ts';
import { idleOptions } from '../config/idle.ts';
import { ConfigError } from '../config/load.ts';
import { risksOf } from '../config/risks.ts';
import { type CommandContext, exitStatus } from './command.ts';
import { examineBroker, examineCloud, type Reporter } from './examination.ts';
import { leave, ownClient } from './ownSession.ts';
import { type Setup, setUp } from './setup.ts';

/** `sonic2mqtt check`: whether the configuration, the cloud, the account and the broker work; a line for each. */
export async function check(context: CommandContext): Promise<number> {
  const report = reporter(context);
  let setup: Setup;
  try {
    setup = await setUp(context, { level: 'error' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [only, ...others] = error.problems;
    const words =
      others.length === 0 ? only : [`${error.problems.length} problems`, ...error.problems].join('\n  ');
    report.failed('configuration', words ?? error.message);
    return exitStatus.badUsage;
  }
  const { config, file, inWords } = setup;
  const words = [
    file ?? 'from the environment',
    ...[...risksOf(config), ...idleOptions(config)].map(inWords),
  ];
  report.passed('configuration', words.join('; '));

  const client = ownClient(setup);
  client.start(context.signal);
  const cloud = await examineCloud(config, client, report);
  await leave(client, context.signal);
  if (context.signal.aborted) return exitStatus.failed;
  const isBrokerWell = await examineBroker(setup, 'check', context.signal, report);
  if (cloud instanceof CloudError && cloud.kind === 'auth') return exitStatus.rejected;
  return cloud === null && isBrokerWell ? exitStatus.done : exitStatus.failed;
}

/** One line per step; on a terminal the running step shows until its line replaces it. */
function reporter({ print, signal }: CommandContext): Reporter {
  const isTerminal = process.stdout.isTTY === true;
  const clear = isTerminal ? '\r\x1b[2K' : '';
  return {
    started: (name) => {
      if (isTerminal) process.stdout.write(`…      ${name}`);
    },
    passed: (name, words) => print(`${clear}ok     ${name}: ${words}`),
    // Of a step that was stopped nothing is known.
    failed: (name, words) => print(`${clear}FAILED ${name}: ${signal.aborted ? 'interrupted' : words}`),
  };
}
