import { existsSync } from 'node:fs';
import { readdir, realpath, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { errorCode } from '../base/systemErrors.ts';
import { variableOf } from '../config/environment.ts';
import { isLock } from '../state/lock.ts';
import { isStateFile } from '../state/stateFile.ts';
import { cleanup } from './cleanup.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { serviceFiles, serviceProblem, systemctl } from './service.ts';
import { InputEnded, isYes, openTerminal, type Terminal } from './terminal.ts';

const { unit, config, data } = serviceFiles;

/**
 * `sonic2mqtt uninstall`: removes everything that `setup --service` has made. After an interruption, it can be run
 * again.
 */
export async function uninstall(context: CommandContext): Promise<number> {
  const { print, complain, signal } = context;
  const problem = await serviceProblem(context, 'uninstall');
  if (problem !== null) {
    complain(problem);
    return exitStatus.failed;
  }
  if (![unit, config, data].some((each) => existsSync(each))) {
    print('There is no service of sonic2mqtt on this computer.');
    return exitStatus.done;
  }
  const terminal = openTerminal(signal);
  try {
    if (existsSync(unit)) {
      await systemctl(['disable', '--now', '--quiet', 'sonic2mqtt'], { signal });
      print('Stopped the service. Deleting its messages on the broker …');
    }
    if (!(await hasCleanBroker(context, terminal))) {
      complain('Uninstalling was stopped. The service is stopped, and everything else is left.');
      return exitStatus.failed;
    }
    if (existsSync(unit)) {
      await rm(unit);
      await systemctl(['daemon-reload'], { signal });
      print(`Deleted ${unit}`);
    }
    await deleteFiles(context, terminal);
    print('Delete the program with: sudo npm uninstall -g sonic2mqtt');
    return exitStatus.done;
  } catch (error) {
    const isStopped = signal.aborted || error instanceof InputEnded;
    complain(isStopped ? 'Uninstalling was stopped. Start it again to go on.' : errorMessage(error));
    return exitStatus.failed;
  } finally {
    terminal.close();
  }
}

/**
 * Deletes the messages of the service from the broker. Returns true if they are deleted, or if the user agrees to keep
 * them.
 */
async function hasCleanBroker(context: CommandContext, terminal: Terminal): Promise<boolean> {
  if (!existsSync(config)) return true;
  const env = { ...context.env, [variableOf('data_dir')]: data };
  try {
    const status = await cleanup({ ...context, env, configFile: config }, {});
    if (status === exitStatus.done) return true;
  } catch (error) {
    context.complain(errorMessage(error));
  }
  context.signal.throwIfAborted();
  return isYes(terminal, 'The devices stay in Home Assistant. Go on without deleting them? y or n');
}

/** Deletes the configuration and the data if the user agrees. Other files in the same folders stay. */
async function deleteFiles({ print }: CommandContext, terminal: Terminal): Promise<void> {
  const found = [config, data].filter((each) => existsSync(each));
  if (found.length === 0) return;
  if (!(await isYes(terminal, `Delete ${found.join(' and ')}, with account and water totals? y or n`))) {
    print(`Kept ${found.join(' and ')}`);
    return;
  }
  if (found.includes(config)) {
    await rm(config);
    print(`Deleted ${config}`);
    await removeIfEmpty(dirname(config), print);
  }
  if (!found.includes(data)) return;
  const names = (await readdir(data)).filter((name) => isStateFile(name) || isLock(name));
  for (const name of names) await rm(join(data, name));
  // For a service with a dynamic user, systemd keeps the folder elsewhere, behind a symbolic link.
  const folder = await realpath(data);
  if ((await removeIfEmpty(folder, print)) && folder !== data) await rm(data);
}

async function removeIfEmpty(folder: string, print: (line: string) => void): Promise<boolean> {
  try {
    await rmdir(folder);
    print(`Deleted ${folder}`);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY') throw error;
    print(`Kept ${folder}, because other files are in it`);
    return false;
  }
}
