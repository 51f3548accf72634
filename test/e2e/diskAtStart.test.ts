import {
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type DiskBridge,
  denyAccess,
  readStateFile,
  restoreAccess,
  startDiskBridge,
  whyAccessCannotBeDenied,
} from '../support/diskBridge.ts';
import { temporaryFolder } from '../support/program.ts';

const forbidding = whyAccessCannotBeDenied();

interface Case {
  /** What an earlier run has left is damaged; `dataDir` is what the configuration names. */
  readonly damage: (file: string, dataDir: string) => void;
  /** In the log, once; null where there is nothing to say. */
  readonly words: RegExp | null;
  /** Makes it good again; without it the bridge helps itself at once. */
  readonly mend?: (file: string, dataDir: string) => void;
  /** Does not hold for a user who may do everything. */
  readonly isForbidding?: boolean;
  /** The session is read before anything goes wrong. */
  readonly isRead?: boolean;
}

const isReplacedByBackup = /kept as .*state\.json\.unreadable\. \S+state\.json\.bak of 20\S+Z replaces it/;
const cannotBeUsed = /cannot write to the folder .* will start again after a restart/;

const cases: Readonly<Record<string, Case>> = {
  'is whole': { damage: () => {}, words: null, isRead: true },
  'is full of zeros, as after a power cut': {
    damage: (file) => writeFileSync(file, '\0'.repeat(statSync(file).size)),
    words: isReplacedByBackup,
  },
  'has a token that no header can carry': {
    damage: (file) => {
      const state = JSON.parse(readFileSync(file, 'utf8'));
      const session = { ...state.session, token: `${state.session.token}\r\nx: \u0000ż` };
      writeFileSync(file, JSON.stringify({ ...state, session }));
    },
    words: null,
  },
  'is gone': {
    damage: (file) => rmSync(file),
    words: /state\.json is missing\. \S+state\.json\.bak of 20\S+Z replaces it/,
  },
  'is half-written, as is the one that was to replace it': {
    damage: (file) => {
      cpSync(file, `${file}.tmp`);
      truncateSync(file, 100);
    },
    words: isReplacedByBackup,
  },
  'belongs to another user': {
    damage: denyAccess,
    words: cannotBeUsed,
    mend: (file) => restoreAccess(file, 0o600),
    isForbidding: true,
  },
  'lies in a folder that is read-only': {
    damage: (_, dataDir) => chmodSync(dataDir, 0o500),
    words: cannotBeUsed,
    mend: (_, dataDir) => chmodSync(dataDir, 0o700),
    isForbidding: true,
    isRead: true,
  },
  'is behind a link to a disk that is not mounted yet': {
    damage: (_, dataDir) => {
      renameSync(dataDir, `${dataDir}-unmounted`);
      symlinkSync(`${dataDir}-mounted`, dataDir);
    },
    words: cannotBeUsed,
    mend: (_, dataDir) => renameSync(`${dataDir}-unmounted`, `${dataDir}-mounted`),
  },
};

describe('a bridge whose state file', () => {
  let disk: DiskBridge;
  let template = '';
  let old = '';
  let saved = 0;

  beforeAll(async () => {
    disk = await startDiskBridge();
    template = join(temporaryFolder(), 'data');
    const bridge = disk.start(template);
    saved = await disk.untilTotal();
    old = await disk.announceNew();
    await disk.untilHealth(null);
    expect((await bridge.stop('SIGTERM')).code).toBe(0);
    expect(Object.keys(readStateFile(template).usage)).toEqual([disk.sonicId]);
    return () => disk.bridge.close();
  });

  it.for(Object.entries(cases))('%s', async ([, each], { skip }) => {
    const { damage, words, mend } = each;
    if (each.isForbidding && forbidding) skip(forbidding);
    const dataDir = join(temporaryFolder(), 'data');
    const file = join(dataDir, 'state.json');
    cpSync(template, dataDir, { recursive: true });
    const signIns = disk.bridge.cloud.requests.count('sign_in');
    const from = disk.bridge.mqtt.messages.length;
    damage(file, dataDir);
    const bridge = disk.start(dataDir);
    const said = () => bridge.output.split('\n').filter((line) => words?.test(line));
    await bridge.waitForOutput(/Found properties/);
    await disk.announceNew();
    if (mend) {
      await disk.untilHealth(cannotBeUsed);
      mend(file, dataDir);
      await disk.announceNew();
      await bridge.waitForOutput(/data_dir .* works again/);
    }
    await disk.untilHealth(null);
    // What was announced stays announced, and no litre is lost.
    expect(disk.announcements(old)).toBe(1);
    expect(await disk.untilTotal(from)).toBeGreaterThanOrEqual(saved);
    expect(said()).toHaveLength(words === null ? 0 : 1);
    expect(disk.bridge.cloud.requests.count('sign_in')).toBe(signIns + (each.isRead ? 0 : 1));
    const latest = await disk.announceNew();
    expect(await bridge.stop('SIGTERM')).toMatchObject({ code: 0 });
    expect(bridge.output).not.toMatch(/unhandled|TypeError|at async /i);

    expect(readStateFile(dataDir).announced).toEqual(expect.arrayContaining([old, latest]));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.bak`)).toBe(true);
    expect(readFileSync(`${file}.bak`, 'utf8')).not.toContain('"token"');
    // Only of this run: it began with an older copy than the one before it.
    const totals = disk.totals(from);
    expect(totals).toEqual(totals.toSorted((left, right) => left - right));
  });
});
