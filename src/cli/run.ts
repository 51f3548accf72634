import { resolve } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { createLog, type Log } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import { version } from '../base/version.ts';
import { setupVariable } from '../config/environment.ts';
import { isUnconfigured } from '../config/load.ts';
import { ConfigError } from '../config/problems.ts';
import { listenAddress } from '../config/values.ts';
import { Daemon } from '../daemon.ts';
import { isApp, readConfiguration } from './configuration.ts';
import { aborted, type CommandContext, exitStatus, usualPageAddress } from './context.ts';

export async function run(context: CommandContext): Promise<number> {
  if (!(await isSetUp(context))) return context.signal.aborted ? exitStatus.done : exitStatus.failed;
  const configuration = await readConfiguration(context);
  const { from, log, secrets, findBroker, app, warnings } = configuration;
  log.info(`sonic2mqtt ${version}, configured by ${from}`);
  for (const { message } of warnings) log.warn(message);
  if (!configuration.config.control.valves) {
    log.info(
      app
        ? 'Watch only: nobody can move a valve. To end this, add valves to control in the form, and restart'
        : `Watch only: nobody can move a valve. To end this, set control.valves in ${from} to true, and restart`,
    );
  }
  endOnMistake(log);
  if (app?.isToCleanUp) {
    const { deleteMessages } = await import('./cleanup.ts');
    const status = await deleteMessages(configuration, context);
    if (status === exitStatus.done)
      log.warn(
        'The option cleanup is on, so the app stops now. Uninstall it, or turn off cleanup and start it again',
      );
    return status;
  }
  const daemon = new Daemon(configuration.config, log, secrets, { findBroker });
  try {
    await Promise.race([daemon.start(), aborted(context.signal)]);
  } catch (error) {
    log.fatal(`sonic2mqtt cannot start: ${errorMessage(error)}`);
    await daemon.stop();
    return exitStatus.failed;
  }
  if (app?.importsHistory) {
    const { supervisorAccess } = await import('../config/supervisor.ts');
    const { importInApp } = await import('./appHistory.ts');
    const { url, token } = supervisorAccess(context.env);
    const home = { url: `${url.replace(/^http/, 'ws')}/core/websocket`, token };
    void importInApp(configuration, home, context.signal);
  }
  await aborted(context.signal);
  log.info('Stopping');
  await daemon.stop();
  return exitStatus.done;
}

/** Serves the setup page if there is no configuration. Resolves to whether there is one afterwards. */
async function isSetUp(context: CommandContext): Promise<boolean> {
  const { configFile: file, env, cwd, logLevel } = context;
  const address = env[setupVariable] || usualPageAddress;
  if (address === 'off' || isApp(env) || !isUnconfigured({ file, env, cwd })) return true;
  const listen = listenAddress.safeParse(address);
  if (!listen.success)
    throw new ConfigError(listen.error.issues.map(({ message }) => `${setupVariable}: ${message}`));
  const log = createLog({ level: logLevel ?? 'info', format: 'pretty', secrets: new Secrets() });
  const { serveSetup } = await import('./setupPage.ts');
  return serveSetup(context, {
    ...listen.data,
    option: setupVariable,
    file: resolve(cwd, 'config.yaml'),
    log,
    invite: (words) => log.info(`No configuration yet. ${words}`),
    isStarting: true,
  });
}

/** Ends the process after an uncaught error, as Node.js would, but logs the error with secrets hidden. */
function endOnMistake(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'sonic2mqtt stops because of an internal error');
    process.exit(exitStatus.failed);
  });
}
