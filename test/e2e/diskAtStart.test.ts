import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
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
  cannotForbid,
  type DiskHouse,
  giveBack,
  readLedger,
  startDiskHouse,
  takeAway,
} from '../support/diskHouse.ts';
import { temporaryFolder } from '../support/program.ts';

const forbidding = cannotForbid();

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

const isTakenFromCopy = /put aside as .*ledger\.json\.unreadable, and its copy of 20\S+Z takes its place/;
const cannotBeUsed = /the data directory cannot be used, so nothing new is remembered over a restart/;

const cases: Readonly<Record<string, Case>> = {
  'is whole': { damage: () => {}, words: null, isRead: true },
  'is full of zeros, as after a power cut': {
    damage: (file) => writeFileSync(file, '\0'.repeat(statSync(file).size)),
    words: isTakenFromCopy,
  },
  'has a token that no header can carry': {
    damage: (file) => {
      const ledger = JSON.parse(readFileSync(file, 'utf8'));
      const session = { ...ledger.session, token: `${ledger.session.token}\r\nx: \u0000ż` };
      writeFileSync(file, JSON.stringify({ ...ledger, session }));
    },
    words: null,
  },
  'is 200 MB large': { damage: (file) => truncateSync(file, 200_000_000), words: isTakenFromCopy },
  'is gone': {
    damage: (file) => rmSync(file),
    words: /ledger\.json is missing; its copy of 20\S+Z takes its place/,
  },
  'is half-written beside a leftover': {
    damage: (file) => {
      cpSync(file, `${file}.1234567890`);
      truncateSync(file, 100);
    },
    words: isTakenFromCopy,
  },
  'belongs to another user': {
    damage: takeAway,
    words: cannotBeUsed,
    mend: (file) => giveBack(file, 0o600),
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
  'is a link to a disk that is not mounted yet': {
    damage: (file, dataDir) => {
      renameSync(file, `${dataDir}-kept`);
      rmSync(`${file}.bak`);
      symlinkSync(join(`${dataDir}-mounted`, 'kept'), file);
    },
    words: cannotBeUsed,
    mend: (file, dataDir) => {
      mkdirSync(`${dataDir}-mounted`);
      renameSync(`${dataDir}-kept`, join(`${dataDir}-mounted`, 'kept'));
      expect(lstatSync(file).isSymbolicLink()).toBe(true);
    },
  },
};

describe('a bridge whose ledger', { timeout: 60_000 }, () => {
  let house: DiskHouse;
  let template = '';
  let old = '';

  beforeAll(async () => {
    house = await startDiskHouse();
    template = join(temporaryFolder(), 'data');
    const bridge = house.start(template);
    await house.untilTotal();
    old = await house.announceNew();
    await house.untilHealth(null);
    expect((await bridge.stop('SIGTERM')).code).toBe(0);
    expect(Object.keys(readLedger(template).usage)).toEqual([house.sonicId]);
    return () => house.house.close();
  });

  it.for(Object.entries(cases))('%s', async ([, each], { skip }) => {
    const { damage, words, mend } = each;
    if (each.isForbidding && forbidding) skip(forbidding);
    const dataDir = join(temporaryFolder(), 'data');
    const file = join(dataDir, 'ledger.json');
    cpSync(template, dataDir, { recursive: true });
    const before = house.totals().at(-1) ?? 0;
    const signIns = house.house.simulator.requests.count('sign_in');
    const from = house.house.watcher.messages.length;
    damage(file, dataDir);
    const bridge = house.start(dataDir);
    const said = () => bridge.output.split('\n').filter((line) => words?.test(line));
    await bridge.waitForOutput(/Found properties/, 15_000);
    await house.announceNew();
    if (mend) {
      await house.untilHealth(cannotBeUsed);
      mend(file, dataDir);
      await house.announceNew();
      await bridge.waitForOutput(/can be written again/);
    }
    await house.untilHealth(null);
    // What was announced stays announced, and no litre is lost.
    expect(house.announcements(old)).toBe(1);
    expect(await house.untilTotal(from)).toBeGreaterThanOrEqual(before);
    expect(said()).toHaveLength(words === null ? 0 : 1);
    expect(house.house.simulator.requests.count('sign_in')).toBe(signIns + (each.isRead ? 0 : 1));
    const latest = await house.announceNew();
    expect(await bridge.stop('SIGTERM')).toMatchObject({ code: 0 });
    expect(bridge.output).not.toMatch(/unhandled|TypeError|at async /i);

    expect(readLedger(dataDir).announced).toEqual(expect.arrayContaining([old, latest]));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.bak`)).toBe(true);
    expect(readFileSync(`${file}.bak`, 'utf8')).not.toContain('"token"');
    const totals = house.totals();
    expect(totals).toEqual(totals.toSorted((left, right) => left - right));
  });
});
