import { version } from '../base/version.ts';
import { Daemon } from '../daemon.ts';
import { aborted, type CommandContext, exitStatus } from './command.ts';
import { setUp } from './setup.ts';

/** `sonic2mqtt run`: the bridge, until a signal stops it. */
export async function run(context: CommandContext): Promise<number> {
  const { config, file, log, secrets } = setUp(context);
  log.info(`sonic2mqtt ${version}, configured by ${file ?? 'the environment'}`);
  if (!config.mqtt.reject_unauthorized) {
    log.warn('mqtt.reject_unauthorized is false: anybody on the way can read and command the valves');
  }
  const daemon = new Daemon(config, log, secrets);
  try {
    await Promise.race([daemon.start(), aborted(context.signal)]);
  } catch (error) {
    log.fatal(`The bridge cannot start: ${error instanceof Error ? error.message : String(error)}`);
    await daemon.stop();
    return exitStatus.failed;
  }
  await aborted(context.signal);
  log.info('Stopping');
  await daemon.stop();
  return exitStatus.done;
}
