import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { promisify } from 'node:util';
import unit from '../../systemd/sonic2mqtt.service?raw';
import type { CommandContext } from './context.ts';

/** The service's unit file and its configuration. The unit contains the same path. */
export const serviceFiles = {
  unit: '/etc/systemd/system/sonic2mqtt.service',
  config: '/etc/sonic2mqtt/config.yaml',
} as const;

export const logCommand = 'journalctl -u sonic2mqtt';

/** The oldest version of systemd that replaces `%d` in a unit by the folder of credentials. */
const oldestSystemd = 250;

/** Folders that `ProtectHome=yes` in the unit hides from the service. */
const hiddenFolders = ['/home', '/root', '/run/user'];

/** In ms. The service reports after ten seconds that it has started, even if cloud or broker is unreachable. */
const startLimitMs = 30_000;

const runFile = promisify(execFile);

async function systemctl(words: readonly string[], options: { timeout?: number; signal?: AbortSignal }) {
  const { stdout } = await runFile('systemctl', words, options);
  return stdout;
}

/** Why this user cannot install or change the service here; null if they can. */
export async function serviceProblem({ configFile, signal }: CommandContext): Promise<string | null> {
  const { unit: file, config } = serviceFiles;
  if (configFile !== undefined) return `The service always uses ${config}. Leave out --config.`;
  // If systemd is not the first process, systemctl may exist but fail.
  const shown = await systemctl(['show', '--property=Version'], { signal }).catch(() => null);
  if (shown === null)
    return 'This computer does not run systemd, so there is no service. See the other ways to install.';
  const version = Number(/\d+/.exec(shown)?.[0] ?? oldestSystemd);
  if (version < oldestSystemd) return `systemd ${version} is too old. You need ${oldestSystemd} or newer.`;
  if (process.getuid?.() !== 0) return 'Only root can change services. Run: sudo sonic2mqtt setup --service';
  if (existsSync(file) && !readFileSync(file, 'utf8').startsWith('# sonic2mqtt'))
    return `${file} is not from sonic2mqtt, so nothing was changed. Move it away first.`;
  return null;
}

function programs() {
  return { 'Node.js': process.execPath, sonic2mqtt: realpathSync(process.argv[1] ?? '') };
}

/** The program that the service could not read; null if it can read both. */
export function hiddenProgram(): string | null {
  const folders = hiddenFolders.filter((each) => existsSync(each)).map((each) => `${realpathSync(each)}/`);
  const hidden = Object.entries(programs()).find(([, path]) => folders.some((each) => path.startsWith(each)));
  if (!hidden) return null;
  const [name, path] = hidden;
  return `${name} is in ${dirname(path)}, which belongs to one user, and the service cannot read it. Install ${name} for all users.`;
}

/** Writes the unit, starts the service now and at each boot, and shows its log. Resolves to whether it has started. */
export async function startService(signal: AbortSignal): Promise<boolean> {
  const { 'Node.js': node, sonic2mqtt } = programs();
  await mkdir(dirname(serviceFiles.unit), { recursive: true });
  // The service has another PATH than the user, so paths are absolute.
  await writeFile(
    serviceFiles.unit,
    unit.replace(/^ExecStart=.*$/m, () => `ExecStart=${node} ${sonic2mqtt} run`),
    { mode: 0o644 },
  );
  await systemctl(['daemon-reload'], { signal });
  await systemctl(['enable', '--quiet', 'sonic2mqtt'], { signal });
  const since = `--since=@${Math.floor(Date.now() / 1_000)}`;
  const words = ['--unit=sonic2mqtt', '--follow', '--no-tail', '--output=cat', since];
  const log = spawn('journalctl', words, { stdio: ['ignore', 'inherit', 'inherit'] });
  // An error of the log viewer does not matter, because the log can be read later too.
  log.on('error', () => undefined);
  try {
    await systemctl(['restart', 'sonic2mqtt'], { timeout: startLimitMs, signal });
    return true;
  } catch {
    return false;
  } finally {
    // The last lines may come after the report of the start.
    await passed(500);
    log.kill();
  }
}
