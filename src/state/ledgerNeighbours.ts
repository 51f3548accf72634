import { join } from 'node:path';
import type { Log } from '../base/log.ts';
import { bridgeName, type Shard } from '../model/shard.ts';
import { type Disk, isAbsent } from './disk.ts';
import { type Found, readContent } from './ledgerContent.ts';

/** The file in which a bridge keeps what it remembers: bridges that share an account can share a folder. */
export function ledgerName(shard: Shard): string {
  return `${bridgeName(shard).replace('bridge', 'ledger')}.json`;
}

/**
 * What other bridges have kept in the same folder, now or before the account was shared otherwise: their sonics may be
 * this one's now. Never rejects: what cannot be read is not taken in, and said so.
 */
export async function readNeighbours(
  folder: string,
  ownName: string,
  disk: Disk,
  log: Log,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const name of await namesIn(folder, disk, log)) {
    if (name === ownName || !/^ledger(_\d+)?\.json$/.test(name)) continue;
    const path = join(folder, name);
    try {
      const content = readContent(await disk.read(path));
      if (content) found.push(content);
      else log.warn(`${path}, of another bridge, is not readable: what it holds is not taken over`);
    } catch (error) {
      log.warn(`${path}, of another bridge, cannot be read: ${String(error)}`);
    }
  }
  return found;
}

async function namesIn(folder: string, disk: Disk, log: Log): Promise<readonly string[]> {
  try {
    return await disk.list(folder);
  } catch (error) {
    // That it cannot be written either is said elsewhere.
    if (!isAbsent(error)) log.debug(`${folder} cannot be listed: ${String(error)}`);
    return [];
  }
}
