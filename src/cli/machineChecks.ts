import { existsSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { describeDiskError, systemDisk } from '../state/disk.ts';
import { type Check, type CheckResult, ok } from './checks.ts';
import { portProblem } from './ports.ts';

/** A bridge that runs here answers at once. */
const answerMs = 2_000;

/** Checks of what the bridge needs on this machine: its folder and its port. */
export function machineChecks({ data_dir: folder, http: { listen } }: Config): Check[] {
  return [
    { name: 'data_dir', run: () => checkFolder(folder) },
    ...(listen === null ? [] : [{ name: 'HTTP', run: () => checkPort(listen.host, listen.port) }]),
  ];
}

/** Writes as the bridge does, and leaves nothing behind: not even the folder, which may have to be another user's. */
async function checkFolder(folder: string): Promise<readonly CheckResult[]> {
  const isThere = existsSync(folder);
  const file = join(folder, 'check');
  try {
    await systemDisk.write(file, '');
    await rm(file);
    if (!isThere) await rmdir(folder);
  } catch (error) {
    throw new Error(
      `cannot write to ${folder} (${describeDiskError(error)}). Water totals will start again after a restart`,
    );
  }
  return ok(`${folder} is writable`);
}

/** A bridge that runs with this configuration has the port already. */
async function checkPort(host: string, port: number): Promise<readonly CheckResult[]> {
  const problem = await portProblem(host, port);
  if (problem === null) return ok(`${host}:${port} is free`);
  if (await isBridgeAt(host, port)) return ok(`${host}:${port} is in use by the running bridge`);
  throw new Error(problem);
}

async function isBridgeAt(host: string, port: number): Promise<boolean> {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const reached = everywhere[host] ?? host;
  const name = reached.includes(':') ? `[${reached}]` : reached;
  try {
    const response = await fetch(`http://${name}:${port}/healthz`, { signal: AbortSignal.timeout(answerMs) });
    const { status, version, cloud, broker } = Object(await response.json());
    return status === 'ok' && [version, cloud, broker].every((each) => each !== undefined);
  } catch {
    return false;
  }
}
