import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type UsageRecord, usageOn, withReading } from '../../../src/model/usage.ts';
import { type Disk, patient, systemDisk } from '../../../src/state/disk.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { settle } from '../../support/passTime.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };
const hourMs = 3_600_000;

/** What is known of a sonic after the readings, of the first of a month each, in the order in which they were made. */
function recordOf(presentMonth: string, ...readings: [month: string, liters: number][]): UsageRecord {
  const readAt = Date.parse(`${presentMonth}-15T12:00:00Z`);
  let record: UsageRecord | null = null;
  for (const [month, liters] of readings) {
    const daily = [{ date: `${month}-01`, liters }];
    record = withReading(record, { month, daily, presentMonth, readAt });
  }
  if (!record) throw new Error('a record is of something');
  return record;
}

/** The running sum, in litres. */
const totalOf = (record: UsageRecord | null) =>
  record && usageOn({ date: '2025-03-20', startedAt: '2025-03-20T00:00:00+00:00' }, record, false).totalL;

/** A running ledger in a folder of its own. */
async function start(disk: Disk = systemDisk, directory = temporaryFolder()) {
  const clock = new FakeClock();
  const lines = logLines();
  const ledger = new Ledger(directory, account, lines.log, clock, disk);
  await ledger.open();
  const file = join(directory, 'ledger.json');
  const kept = () => JSON.parse(readFileSync(file, 'utf8'));
  return { ledger, clock, lines, directory, file, kept };
}

describe('a file that another has written', () => {
  it('is taken in, as of a disk that was mounted over the folder late', async () => {
    const before = await start();
    const history = recordOf('2025-02', ['2025-01', 1_000], ['2025-02', 20]);
    before.ledger.keepUsage('one', history, true);
    await before.ledger.noteAnnounced(['incident-1']);
    const { ledger, file, kept, lines } = await start();
    const now = recordOf('2025-03', ['2025-02', 25], ['2025-03', 3]);
    ledger.keepUsage('one', now, true);
    await ledger.noteAnnounced(['incident-2']);
    expect(totalOf(ledger.usageOf('one'))).toBe(28);
    renameSync(before.file, file);
    await ledger.noteAnnounced(['incident-3']);
    expect(totalOf(ledger.usageOf('one'))).toBe(1_028);
    expect(ledger.announced().toSorted()).toEqual(['incident-1', 'incident-2', 'incident-3']);
    expect(kept().announced.toSorted()).toEqual(['incident-1', 'incident-2', 'incident-3']);
    expect(lines.messages).toContain(
      `info: ${file} was written by something else; what it holds is taken in`,
    );
    expect(ledger.problem).toBeNull();
  });

  it('does not take a litre from what is remembered: an old disk is put back', async () => {
    const { ledger, file } = await start();
    const old = recordOf('2025-01', ['2024-12', 100], ['2025-01', 50]);
    ledger.keepUsage('one', old, true);
    await ledger.noteAnnounced([]);
    const text = readFileSync(file, 'utf8');
    const readings: [string, number][] = [
      ['2024-12', 110],
      ['2025-02', 7],
      ['2025-01', 60],
    ];
    let record = old;
    for (const [month, liters] of readings) {
      const daily = [{ date: `${month}-01`, liters }];
      const readAt = Date.UTC(2025, 2, 15);
      record = withReading(record, { month, daily, presentMonth: '2025-03', readAt });
    }
    expect(record.frozenThrough).toBe('2025-01');
    ledger.keepUsage('one', record, true);
    await ledger.noteAnnounced(['incident-1']);
    writeFileSync(file, text);
    await ledger.noteAnnounced(['incident-2']);
    expect(totalOf(ledger.usageOf('one'))).toBe(177);
    expect(ledger.usageOf('one')?.frozenThrough).toBe('2025-01');
  });

  it('has the days of whichever was read later, and of neither fewer', async () => {
    const daily = (liters: number, days: number) =>
      Array.from({ length: days }, (_, day) => ({ date: `2025-03-0${day + 1}`, liters }));
    const at = (hour: number) => Date.UTC(2025, 2, 9, hour);
    const reading = { month: '2025-03', presentMonth: '2025-03' };
    const early = withReading(null, { ...reading, daily: daily(1, 9), readAt: at(8) });
    const late = withReading(null, { ...reading, daily: daily(2, 5), readAt: at(9) });
    const merged = [2, 2, 2, 2, 2, 1, 1, 1, 1].map((liters) => liters * 1_000);
    for (const [here, there] of [
      [early, late],
      [late, early],
    ] as const) {
      const other = await start();
      other.ledger.keepUsage('one', there, true);
      await other.ledger.flush();
      const { ledger, file } = await start();
      ledger.keepUsage('one', here, true);
      renameSync(other.file, file);
      await ledger.flush();
      expect(ledger.usageOf('one')?.months).toEqual({ '2025-03': merged });
    }
  });

  it('again and again is another bridge: said once, until it has been alone for an hour', async () => {
    const { ledger, directory, clock, lines } = await start();
    const other = await start(systemDisk, directory);
    const both = async (round: number) => {
      await ledger.noteAnnounced([`mine-${round}`]);
      await other.ledger.noteAnnounced([`other-${round}`]);
    };
    await both(1);
    expect(ledger.problem).toBeNull();
    for (const round of [2, 3, 4]) await both(round);
    await ledger.flush();
    const ids = [1, 2, 3, 4].flatMap((round) => [`mine-${round}`, `other-${round}`]).toSorted();
    expect(ledger.announced().toSorted()).toEqual(ids);
    const words = 'the data directory is used by another bridge too';
    expect(ledger.problem).toContain(words);
    expect(ledger.hasForgotten).toBe(false);
    expect(lines.messages.filter((line) => line.includes(words))).toHaveLength(1);
    clock.advance(hourMs - 1);
    await ledger.flush();
    expect(ledger.problem).toContain(words);
    clock.advance(1);
    await ledger.flush();
    expect(ledger.problem).toBeNull();
    expect(lines.messages.at(-1)).toMatch(/^info: Nothing else writes/);
    expect(lines.messages.filter((line) => line.includes(words))).toHaveLength(1);
  });
});

describe('a file that has vanished or was damaged meanwhile', () => {
  it('is written again with whatever comes next, or at a stop, and that is said', async () => {
    const { ledger, directory, file, kept, lines } = await start();
    await ledger.noteAnnounced(['incident-1']);
    rmSync(file);
    await ledger.noteAnnounced(['incident-2']);
    expect(kept().announced).toEqual(['incident-1', 'incident-2']);
    rmSync(directory, { recursive: true });
    await ledger.flush();
    expect(kept().announced).toEqual(['incident-1', 'incident-2']);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const line = `warn: ${file} has vanished; it is written again`;
    expect(lines.messages).toEqual([line, line]);
  });

  it('is put aside and written again from memory, which has not suffered', async () => {
    const { ledger, file, kept, lines } = await start();
    await ledger.noteAnnounced(['incident-1']);
    writeFileSync(file, '\0\0\0\0');
    await ledger.flush();
    expect(kept().announced).toEqual(['incident-1']);
    expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe('\0\0\0\0');
    expect(lines.messages).toEqual([
      `warn: ${file} is not readable any more; it is put aside as ${file}.unreadable, and written again`,
    ]);
    expect(ledger.hasForgotten).toBe(false);
  });
});

describe('a file that cannot be read for now', () => {
  it('is neither replaced nor put aside, is tried again each minute, and then taken in', async () => {
    const before = await start();
    before.ledger.saveSession({ token: 'token-1', since: 1 });
    before.ledger.keepUsage('one', recordOf('2025-03', ['2025-02', 100], ['2025-03', 1]), true);
    await before.ledger.noteAnnounced(['incident-1']);
    const text = readFileSync(before.file, 'utf8');
    let isForbidden = true;
    const denied = Object.assign(new Error(`EACCES: permission denied, open '${before.file}'`), {
      code: 'EACCES',
    });
    const disk = {
      ...systemDisk,
      read: (path: string) => (isForbidden ? Promise.reject(denied) : systemDisk.read(path)),
    };
    const { ledger, clock, lines, directory, file } = await start(disk, before.directory);
    const problem = `the data directory cannot be used, so nothing new is remembered over a restart (${file} cannot be read: EACCES: permission denied)`;
    expect(ledger.problem).toBe(problem);
    expect(ledger.hasForgotten).toBe(true);
    await ledger.noteAnnounced(['incident-2']);
    clock.advance(60_000);
    await settle();
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(lines.messages).toEqual([`warn: data_dir ${directory}: ${problem}`]);
    isForbidden = false;
    clock.advance(60_000);
    await waitFor(() => ledger.problem === null, { what: 'the next attempt' });
    expect(lines.messages.at(-1)).toBe(`info: The data directory ${directory} can be written again`);
    expect(ledger.announced().toSorted()).toEqual(['incident-1', 'incident-2']);
    expect(ledger.loadSession()).toEqual({ token: 'token-1', since: 1 });
    expect(ledger.usageOf('one')).not.toBeNull();
    expect(ledger.hasForgotten).toBe(false);
    expect(clock.waiting).toBe(0);
  });

  it('is not replaced either where it is damaged and cannot be put aside', async () => {
    const directory = temporaryFolder();
    const file = join(directory, 'ledger.json');
    writeFileSync(file, 'half of a led');
    mkdirSync(`${file}.unreadable`);
    writeFileSync(join(`${file}.unreadable`, 'an older one'), '');
    const { ledger, lines } = await start(systemDisk, directory);
    expect(ledger.problem).toMatch(/\((EISDIR|ENOTEMPTY|EEXIST): .*\)$/);
    expect(readFileSync(file, 'utf8')).toBe('half of a led');
    expect(lines.messages).toHaveLength(1);
    rmSync(`${file}.unreadable`, { recursive: true });
    await ledger.noteAnnounced(['incident-1']);
    expect(ledger.problem).toBeNull();
    expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe('half of a led');
  });

  it('does not hold up a start although the disk hangs, and is taken in when it answers', async () => {
    const before = await start();
    await before.ledger.noteAnnounced(['incident-1']);
    let answer: () => void = () => {};
    const hanging = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const disk = patient({ ...systemDisk, read: (path) => hanging.then(() => systemDisk.read(path)) }, 250);
    const { ledger, clock } = await start(disk, before.directory);
    expect(ledger.problem).toContain('the disk does not answer');
    await ledger.noteAnnounced(['incident-2']);
    answer();
    await waitFor(
      () => {
        clock.advance(60_000);
        return ledger.problem === null;
      },
      { what: 'the disk' },
    );
    expect(before.kept().announced.toSorted()).toEqual(['incident-1', 'incident-2']);
  });
});

describe('a memory card', () => {
  it('is not written a thousand times by a thousand that wait, nor tried so often while it is broken', async () => {
    let writes = 0;
    let isFull = false;
    const disk: Disk = {
      ...systemDisk,
      write: (path, text) => {
        writes += 1;
        return isFull
          ? Promise.reject(new Error('ENOSPC: no space left on device, write'))
          : systemDisk.write(path, text);
      },
    };
    const { ledger, kept } = await start(disk);
    const thousand = Array.from({ length: 1_000 }, (_, index) => `incident-${index}`);
    writes = 0;
    await Promise.all(thousand.map((id) => ledger.noteAnnounced([id])));
    expect(kept().announced).toEqual(thousand);
    expect(writes).toBe(1);
    isFull = true;
    await Promise.all(thousand.map((id) => ledger.noteAnnounced([`${id}-again`])));
    expect(writes).toBe(2);
    expect(ledger.problem).toContain('ENOSPC: no space left on device)');
  });

  it('gets a megabyte of usage a minute at most, however many sonics there are', async () => {
    const { ledger, clock } = await start();
    const days = Array.from({ length: 31 }, () => 123_456);
    const record = { ...recordOf('2025-03', ['2025-02', 1]), months: { '2025-02': days, '2025-03': days } };
    for (let index = 0; index < 4_000; index++) ledger.keepUsage(`sonic-${index}`, record, true);
    await ledger.noteAnnounced([]);
    ledger.keepUsage('sonic-0', record, true);
    clock.advance(120_000);
    expect(clock.waiting).toBe(1);
    clock.advance(180_000);
    expect(clock.waiting).toBe(0);
    await ledger.flush();
  });

  it('is not written at all by what has not changed', async () => {
    const { ledger, file } = await start();
    await ledger.noteAnnounced(['incident-1']);
    const { ino } = statSync(file);
    await ledger.noteAnnounced(['incident-1']);
    ledger.forgetAnnounced('never announced');
    await settle();
    expect(statSync(file).ino).toBe(ino);
  });
});
