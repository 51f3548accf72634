import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../base/reason.ts';
import { systemDisk } from '../state/disk.ts';
import { readContent } from '../state/ledgerContent.ts';
import type { StandIns } from './standIns.ts';

const ownFiles = /^ledger(_\d+)?\.json/;

/** Ends that the bridge gives; others are given by people. */
const ownEnd = /\.json(\.bak|\.unreadable|\.[\da-f]{12}\.tmp)*$/;

/** What the bridge keeps in its folder, file by file: sizes and numbers, nothing of what is in it. */
export async function keptFiles(folder: string, standIns: StandIns): Promise<object> {
  try {
    const names = (await systemDisk.list(folder)).filter((name) => ownFiles.test(name));
    return { files: await Promise.all(names.toSorted().map((name) => described(folder, name, standIns))) };
  } catch (error) {
    return { problem: standIns.hide(reasonOf(error)) };
  }
}

async function described(folder: string, name: string, standIns: StandIns): Promise<object> {
  const path = join(folder, name);
  const file = ownEnd.test(name) ? name : name.replace(/\.json.*/s, '.json…');
  try {
    const { size, mode, mtime } = await stat(path);
    const content = readContent(await systemDisk.read(path));
    return {
      file,
      bytes: size,
      mode: (mode & 0o777).toString(8),
      changed_at: mtime.toISOString(),
      is_readable: content !== null,
      has_session: content ? content.session !== null : null,
      incidents_announced: content?.announced.length ?? null,
      sonics_with_usage: content ? Object.keys(content.usage).length : null,
      damaged: content?.damaged.length ?? null,
    };
  } catch (error) {
    return { file, problem: standIns.hide(reasonOf(error)) };
  }
}
