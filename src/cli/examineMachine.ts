import { existsSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { describeDiskError, systemDisk } from '../state/disk.ts';
import { type Reporter, runInTurn, type Step } from './examination.ts';
import { portProblem } from './port.ts';

/** A bridge that runs here answers at once. */
const answerMs = 2_000;

/** Looks at what the bridge needs of this machine: its folder and its ports; resolves to whether all is well. */
export async function examineMachine({ data_dir, http }: Config, report: Reporter): Promise<boolean> {
  const { listen } = http;
  const steps: Step[] = [
    { name: 'data_dir', run: () => tryFolder(data_dir) },
    ...(listen === null ? [] : [{ name: 'HTTP', run: () => tryHttp(listen) }]),
  ];
  let isWell = true;
  for (const step of steps) if ((await runInTurn([step], report)) !== null) isWell = false;
  return isWell;
}

/** Writes there as the bridge does, and leaves nothing behind: not even the folder, which may have to be another user's. */
async function tryFolder(folder: string): Promise<string> {
  const isThere = existsSync(folder);
  const file = join(folder, 'check');
  try {
    await systemDisk.write(file, '');
    await rm(file);
    if (!isThere) await rmdir(folder);
  } catch (error) {
    throw new Error(`cannot write to ${folder} (${describeDiskError(error)})`);
  }
  return `${folder} can be written`;
}

/** A bridge that runs with this configuration has the port already. */
async function tryHttp({ host, port }: { readonly host: string; readonly port: number }): Promise<string> {
  const problem = await portProblem(host, port);
  if (problem === null) return `${host}:${port} is free`;
  if (await isBridgeAt(host, port)) return `${host}:${port} is served by the bridge that runs`;
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
