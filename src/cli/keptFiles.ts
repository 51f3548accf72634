import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { readState } from '../state/stateSchema.ts';
import type { StandIns } from './standIns.ts';

const ownFiles = /^(state|ledger(_\d+)?)\.json/;

/** Ends that the bridge gives; others are given by people. */
const ownEnd = /\.json(\.bak|\.unreadable|\.tmp)*$/;

/** What the bridge keeps in its folder, file by file: sizes and numbers, nothing of what is in it. */
export async function keptFiles(folder: string, standIns: StandIns): Promise<object> {
  try {
    const names = (await readdir(folder)).filter((name) => ownFiles.test(name));
    return { files: await Promise.all(names.toSorted().map((name) => described(folder, name, standIns))) };
  } catch (error) {
    return { problem: standIns.hide(errorMessage(error)) };
  }
}

async function described(folder: string, name: string, standIns: StandIns): Promise<object> {
  const path = join(folder, name);
  const file = ownEnd.test(name) ? name : name.replace(/\.json.*/s, '.json…');
  try {
    const { size, mode, mtime } = await stat(path);
    const { state, damaged } = readState(await readFile(path, 'utf8'));
    return {
      file,
      bytes: size,
      mode: (mode & 0o777).toString(8),
      changed_at: mtime.toISOString(),
      damaged,
      has_session: state.session !== null,
      incidents_announced: state.announced.length,
      sonics_with_usage: Object.keys(state.usage).length,
    };
  } catch (error) {
    return { file, problem: standIns.hide(errorMessage(error)) };
  }
}
