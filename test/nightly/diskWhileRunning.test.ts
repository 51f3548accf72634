import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunningProcess } from '../support/childProcess.ts';
import {
  type DiskBridge,
  readStateFile,
  startDiskBridge,
  whyAccessCannotBeDenied,
} from '../support/diskBridge.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** Where the bridge's process has a small disk of its own. */
const namespace = ['unshare', '--user', '--map-root-user', '--mount', '--propagation', 'private'];

/** Why no disk can be mounted for a process here; null where one can. */
function cannotMount(): string | null {
  try {
    execFileSync('unshare', [...namespace.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt'], {
      stdio: 'pipe',
    });
    return null;
  } catch (error) {
    return `no disk can be mounted here: ${String(error)}`;
  }
}

/** Why no file size can be limited here; null where one can. */
function cannotLimit(): string | null {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `no file size can be limited here: ${String(error)}`;
  }
}

interface Trouble {
  readonly strike: (dataDir: string, bridge: RunningProcess) => void;
  readonly mend: (dataDir: string, bridge: RunningProcess) => void;
  /** Why, in the log and in `bridge/health`. */
  readonly words: RegExp;
  /** Whether the file can be looked at meanwhile, and must be as it was. */
  readonly isFileThere: boolean;
  readonly impossible?: string | null;
}

const limited =
  (size: string) =>
  (_: string, { pid }: RunningProcess) =>
    void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:unlimited`]);

const troubles: Readonly<Record<string, Trouble>> = {
  'takes a part of the file, and no more': {
    strike: limited('300'),
    mend: limited('unlimited'),
    words: /EFBIG: file too large/,
    isFileThere: true,
    impossible: cannotLimit(),
  },
  'may not be written any more': {
    strike: (dataDir) => chmodSync(dataDir, 0o500),
    mend: (dataDir) => chmodSync(dataDir, 0o700),
    words: /EACCES: permission denied/,
    isFileThere: true,
    impossible: whyAccessCannotBeDenied(),
  },
  'has vanished, with a file in its place, and comes back as it was': {
    strike: (dataDir) => {
      renameSync(dataDir, `${dataDir}-away`);
      writeFileSync(dataDir, 'no folder');
    },
    mend: (dataDir) => {
      rmSync(dataDir);
      renameSync(`${dataDir}-away`, dataDir);
    },
    words: /EEXIST: file already exists/,
    isFileThere: false,
  },
};

describe('a running bridge whose data directory', { timeout: 60_000 }, () => {
  let disk: DiskBridge;

  beforeAll(async () => {
    disk = await startDiskBridge();
    return () => disk.bridge.close();
  });

  const untilIsOver = async (bridge: RunningProcess, words: string) => {
    await bridge.waitForOutput(/data_dir .* works again/);
    await disk.untilHealth(null);
    const lines = bridge.output.split('\n').filter((line) => line.includes(words));
    expect(lines.filter((line) => line.includes('data_dir'))).toHaveLength(1);
    expect(bridge.output.match(/data_dir .* works again/g)).toHaveLength(1);
  };

  it.for(Object.entries(troubles))('%s', async ([, trouble], { skip }) => {
    if (trouble.impossible) skip(trouble.impossible);
    const dataDir = join(temporaryFolder(), 'data');
    const file = join(dataDir, 'sonic2mqtt.json');
    const bridge = disk.start(dataDir);
    await bridge.waitForOutput(/Found properties/);
    const signIns = disk.bridge.cloud.requests.count('sign_in');
    const first = await disk.announceNew();
    const kept = readFileSync(file, 'utf8');
    trouble.strike(dataDir, bridge);
    const second = await disk.announceNew();
    await disk.untilHealth(trouble.words);
    await bridge.waitForOutput(trouble.words);
    if (trouble.isFileThere) expect(readFileSync(file, 'utf8')).toBe(kept);
    const third = await disk.announceNew();
    trouble.mend(dataDir, bridge);
    const fourth = await disk.announceNew();
    await untilIsOver(bridge, 'cannot write to the folder');
    await bridge.stop('SIGKILL');

    const again = disk.start(dataDir);
    await again.waitForOutput(/Found properties/);
    const fifth = await disk.announceNew();
    const ids = [first, second, third, fourth, fifth];
    expect(ids.map((id) => disk.announcements(id))).toEqual([1, 1, 1, 1, 1]);
    expect(disk.bridge.cloud.requests.count('sign_in')).toBe(signIns);
    expect((await again.stop('SIGTERM')).code).toBe(0);
    expect(readStateFile(dataDir).announced).toEqual(expect.arrayContaining(ids));
    const totals = disk.totals();
    expect(totals).toEqual(totals.toSorted((left, right) => left - right));
  });

  it('is a disk that gets full, is freed, and is remounted read-only, as a memory card that wears out', async ({
    skip,
  }) => {
    const impossible = cannotMount();
    if (impossible) skip(impossible);
    const dataDir = temporaryFolder();
    const mounted = ['sh', '-c', `mount -t tmpfs -o size=40k none ${dataDir} && exec "$0" "$@"`];
    const bridge = disk.start(dataDir, [...namespace, ...mounted]);
    await bridge.waitForOutput(/Found properties/);
    const inside = join(`/proc/${bridge.pid}/root`, dataDir);
    const first = await disk.announceNew();
    const kept = readFileSync(join(inside, 'sonic2mqtt.json'), 'utf8');
    expect(() => writeFileSync(join(inside, 'filler'), 'x'.repeat(100_000))).toThrow('ENOSPC');
    const second = await disk.announceNew();
    await disk.untilHealth(/ENOSPC: no space left on device/);
    expect(readFileSync(join(inside, 'sonic2mqtt.json'), 'utf8')).toBe(kept);
    rmSync(join(inside, 'filler'));
    const third = await disk.announceNew();
    await untilIsOver(bridge, 'cannot write to the folder');
    const within = ['nsenter', '--target', String(bridge.pid), '--user', '--preserve-credentials', '--mount'];
    execFileSync('nsenter', [...within.slice(1), 'mount', '-o', 'remount,bind,ro', dataDir]);
    await disk.announceNew();
    await disk.untilHealth(/EROFS: read-only file system/);
    expect(JSON.parse(readFileSync(join(inside, 'sonic2mqtt.json'), 'utf8')).announced).toEqual(
      expect.arrayContaining([first, second, third]),
    );
    expect((await bridge.stop('SIGTERM')).code).toBe(0);
  });

  it('is emptied, and its file damaged: both are written again from memory', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const file = join(dataDir, 'sonic2mqtt.json');
    const bridge = disk.start(dataDir);
    await bridge.waitForOutput(/Found properties/);
    const first = await disk.announceNew();
    rmSync(dataDir, { recursive: true });
    const second = await disk.announceNew();
    writeFileSync(file, '\0'.repeat(500));
    const third = await disk.announceNew();
    await bridge.stop('SIGKILL');
    expect(readStateFile(dataDir).announced).toEqual(expect.arrayContaining([first, second, third]));
    await disk.untilHealth(null);
  });

  it('is used by another bridge too: that one keeps nothing, and says so', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const first = disk.start(dataDir);
    await first.waitForOutput(/Found properties/);
    await waitFor(() => readStateFile(dataDir).session !== null, { what: 'the session on disk' });
    const { session } = readStateFile(dataDir);
    // It has the same client id, so that the broker throws one out for the other: only the log is looked at.
    const second = disk.start(dataDir);
    await second.waitForOutput(
      /data_dir .*another sonic2mqtt uses the same folder. Give each its own/,
      15_000,
    );
    await second.waitForOutput(/Found properties/);
    expect(readStateFile(dataDir).session).toEqual(session);
    await first.stop('SIGKILL');
    await second.stop('SIGKILL');
    const third = disk.start(dataDir);
    await third.waitForOutput(/Found properties/);
    expect(third.output).not.toMatch(/data_dir/);
  });
});
