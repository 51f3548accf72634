import { systemClock } from '../base/clock.ts';
import { CloudError } from '../cloud/errors.ts';
import { ConfigError } from '../config/problems.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { examineBroker, examineCloud, type Reporter } from './examination.ts';
import { examineMachine } from './examineMachine.ts';
import { leave, ownClient } from './ownSession.ts';
import { type Setup, setUp } from './setup.ts';

/** `sonic2mqtt check`: whether the configuration, the cloud, the account and the broker work; lines that begin with OK, WARN or FAIL. */
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
  const { config, file, warnings } = setup;
  report.passed('configuration', file ?? 'from the environment');
  for (const words of warnings) report.warned('configuration', words);

  const isMachineWell = await examineMachine(config, report);
  const client = ownClient(setup);
  client.start(context.signal);
  const cloud = await examineCloud(config, client, report);
  await leave(client, context.signal);
  if (context.signal.aborted) return exitStatus.failed;
  const isBrokerWell = await examineBroker(setup, 'check', context.signal, report);
  if (cloud instanceof CloudError && cloud.kind === 'auth') return exitStatus.rejected;
  return isMachineWell && cloud === null && isBrokerWell ? exitStatus.done : exitStatus.failed;
}

/** Without a terminal, a step that takes long says so often how far it is. */
const progressEveryMs = 10_000;

/** One line per step; on a terminal the running step shows until its line replaces it. */
function reporter({ print, complain, signal }: CommandContext): Reporter {
  const isTerminal = process.stdout.isTTY === true;
  let saidAt = systemClock.monotonic();
  const clear = isTerminal ? '\r\x1b[2K' : '';
  return {
    started: (name) => {
      if (isTerminal) process.stdout.write(`…    ${name}`);
    },
    progress: (name, words) => {
      if (isTerminal) process.stdout.write(`${clear}…    ${name}: ${words}`);
      else if (systemClock.monotonic() - saidAt >= progressEveryMs) {
        saidAt = systemClock.monotonic();
        complain(`Reading the ${name}: ${words}`);
      }
    },
    passed: (name, words) => print(`${clear}OK   ${name}: ${words}`),
    warned: (name, words) => print(`${clear}WARN ${name}: ${words}`),
    // Of a step that was stopped nothing is known.
    failed: (name, words) => print(`${clear}FAIL ${name}: ${signal.aborted ? 'interrupted' : words}`),
  };
}
