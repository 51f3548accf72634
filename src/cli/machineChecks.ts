import { existsSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { reachable } from '../partOptions.ts';
import { describeDiskError, systemDisk } from '../state/disk.ts';
import { type Check, type CheckResult, ok } from './checks.ts';
import { portProblem } from './ports.ts';

/** How long a bridge on this machine may take to answer, in ms. */
const answerMs = 2_000;

export function machineChecks({ data_dir: folder, http: { listen } }: Config): Check[] {
  return [
    { name: 'data_dir', run: () => checkFolder(folder) },
    ...(listen === null ? [] : [{ name: 'HTTP', run: () => checkPort(listen.host, listen.port) }]),
  ];
}

/** Writes like the bridge, and then removes everything again, even the folder, which another user may have to own. */
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

/** Checks the port. It may be in use by a bridge that already runs with this configuration. */
async function checkPort(host: string, port: number): Promise<readonly CheckResult[]> {
  const problem = await portProblem(host, port);
  if (problem === null) return ok(`${host}:${port} is free`);
  if (await isBridgeAt(host, port)) return ok(`${host}:${port} is in use by the running bridge`);
  throw new Error(problem);
}

async function isBridgeAt(host: string, port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://${reachable(host)}:${port}/healthz`, {
      signal: AbortSignal.timeout(answerMs),
    });
    const { status, version, cloud, broker } = Object(await response.json());
    return status === 'ok' && [version, cloud, broker].every((each) => each !== undefined);
  } catch {
    return false;
  }
}
