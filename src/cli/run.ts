import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import { version } from '../base/version.ts';
import { Daemon } from '../daemon.ts';
import { readConfiguration } from './configuration.ts';
import { aborted, type CommandContext, exitStatus } from './context.ts';

/** `sonic2mqtt run`: the bridge, until a signal stops it. */
export async function run(context: CommandContext): Promise<number> {
  const { config, file, log, secrets, findBroker, warnings } = await readConfiguration(context);
  log.info(`sonic2mqtt ${version}, configured by ${file ?? 'the environment'}`);
  for (const words of warnings) log.warn(words);
  endOnMistake(log);
  const daemon = new Daemon(config, log, secrets, { findBroker });
  try {
    await Promise.race([daemon.start(), aborted(context.signal)]);
  } catch (error) {
    log.fatal(`sonic2mqtt cannot start: ${errorMessage(error)}`);
    await daemon.stop();
    return exitStatus.failed;
  }
  await aborted(context.signal);
  log.info('Stopping');
  await daemon.stop();
  return exitStatus.done;
}

/** What nobody has caught ends the process, as it would anyway; but the log hides secrets in its last words. */
function endOnMistake(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'sonic2mqtt stops because of an internal error');
    process.exit(exitStatus.failed);
  });
}
