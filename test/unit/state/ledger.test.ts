import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { Secrets } from '../../../src/base/secrets.ts';
import { type UsageRecord, withReading } from '../../../src/model/usage.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { settle } from '../../support/passTime.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };

function logTo(lines: string[]) {
  const output = { write: (line: string) => lines.push(line) };
  return createLog({ level: 'debug', format: 'json', secrets: new Secrets(), output });
}

async function openLedger(directory: string, of = account, lines: string[] = []): Promise<Ledger> {
  const ledger = new Ledger(directory, of, logTo(lines));
  await ledger.open();
  return ledger;
}

describe('the ledger', () => {
  it('remembers the session and what was announced, in a file of mode 0600', async () => {
    const directory = join(temporaryFolder(), 'new', 'folder');
    const ledger = await openLedger(directory);
    ledger.saveSession({ token: 'token-1', since: 42 });
    await ledger.noteAnnounced(['incident-1', 'incident-2']);
    ledger.forgetAnnounced('incident-2');
    await ledger.flush();
    expect(statSync(join(directory, 'ledger.json')).mode & 0o777).toBe(0o600);

    const again = await openLedger(directory);
    expect(again.loadSession()).toEqual({ token: 'token-1', since: 42 });
    expect(again.hasAnnounced('incident-1')).toBe(true);
    expect(again.announced()).toEqual(['incident-1']);
    expect(again.problem).toBeNull();
  });

  it.each([{ baseUrl: 'https://other.example' }, { email: 'you@example.com' }])(
    'does not hand the session of another account out: %j',
    async (other) => {
      const directory = temporaryFolder();
      const ledger = await openLedger(directory);
      ledger.saveSession({ token: 'token-1', since: 42 });
      await ledger.flush();
      expect((await openLedger(directory, { ...account, ...other })).loadSession()).toBeNull();
    },
  );

  it.each(['', '{', 'null', '[]', '{"announced":7}', '{"session":{"token":1}}'])(
    'puts an unreadable file (%j) aside, says so and starts anew',
    async (text) => {
      const directory = temporaryFolder();
      const file = join(directory, 'ledger.json');
      writeFileSync(file, text);
      const lines: string[] = [];
      const ledger = await openLedger(directory, account, lines);
      expect(ledger.loadSession()).toBeNull();
      expect(lines.join()).toContain('put aside');
      expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe(text);
      expect(statSync(`${file}.unreadable`).mode & 0o777).toBe(0o600);
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
        session: null,
        announced: [],
        usage: {},
      });
    },
  );

  it('works without memory where the folder cannot be used, says so once, and notices when it can', async () => {
    const directory = join(temporaryFolder(), 'data');
    writeFileSync(directory, 'a file where the folder should be');
    const lines: string[] = [];
    const ledger = await openLedger(directory, account, lines);
    await ledger.noteAnnounced(['incident-1']);
    expect(ledger.hasAnnounced('incident-1')).toBe(true);
    expect(ledger.problem).toContain('cannot be used');
    const { problem } = ledger;
    await ledger.noteAnnounced(['incident-2']);
    expect(ledger.problem).toBe(problem);
    expect(lines.filter((line) => line.includes('cannot be used'))).toHaveLength(1);

    rmSync(directory);
    ledger.saveSession({ token: 'token-1', since: 1 });
    await ledger.flush();
    expect(ledger.problem).toBeNull();
    expect(existsSync(join(directory, 'ledger.json'))).toBe(true);
  });

  it('says so where no folder can be made at all', async () => {
    expect((await openLedger('/proc/nope/deeper')).problem).toContain('cannot be used');
  });

  it.skipIf(process.getuid?.() === 0)('says that a folder is read-only', async () => {
    const directory = temporaryFolder();
    chmodSync(directory, 0o500);
    expect((await openLedger(directory)).problem).toContain('EACCES');
  });
});

/** What was read of a sonic's water on the first of a month. */
function recordOf(liters: number, month = '2025-01'): UsageRecord {
  const daily = [{ date: `${month}-01`, liters }];
  const readAt = Date.parse(`${month}-01T12:00:00Z`);
  return withReading(null, { month, daily, presentMonth: month, readAt });
}

describe('the usage in the ledger', () => {
  it('is there again after a restart', async () => {
    const directory = temporaryFolder();
    const ledger = await openLedger(directory);
    ledger.keepUsage('one', recordOf(12.345), true);
    ledger.keepUsage('two', recordOf(7), false);
    ledger.keepUsage('gone', recordOf(1), true);
    ledger.forgetUsage('gone');
    await ledger.flush();

    const again = await openLedger(directory);
    expect(again.usageOf('one')).toEqual(recordOf(12.345));
    expect(again.usageOf('gone')).toBeNull();
    expect(again.keptUsage()).toEqual(
      ['one', 'two'].map((sonicId) => ({ sonicId, readAt: recordOf(0).readAt })),
    );
  });

  it('is written once a minute at most, and only when there is news', async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const ledger = new Ledger(directory, account, logTo([]), clock);
    await ledger.open();
    const file = join(directory, 'ledger.json');
    const kept = () => JSON.parse(readFileSync(file, 'utf8')).usage;
    ledger.keepUsage('one', recordOf(1), false);
    expect(clock.waiting).toBe(0);
    for (const liters of [2, 3, 4]) ledger.keepUsage('one', recordOf(liters), true);
    expect(clock.waiting).toBe(1);
    clock.advance(59_999);
    expect(clock.waiting).toBe(1);
    await settle();
    expect(kept()).toEqual({});
    clock.advance(1);
    await waitFor(() => 'one' in kept(), { what: 'the usage' });
    expect(kept().one).toEqual(recordOf(4));
    expect(clock.waiting).toBe(0);
  });

  it('is written with whatever is written before, and then waits for nothing', async () => {
    const clock = new FakeClock();
    const directory = temporaryFolder();
    const ledger = new Ledger(directory, account, logTo([]), clock);
    await ledger.open();
    ledger.keepUsage('one', recordOf(1), true);
    await ledger.noteAnnounced(['incident-1']);
    expect(clock.waiting).toBe(0);
    expect((await openLedger(directory)).usageOf('one')).toEqual(recordOf(1));
  });

  it('is not in the file of an older version, which is read all the same', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'ledger.json'), '{"session":null,"announced":["incident-1"]}');
    const ledger = await openLedger(directory);
    expect(ledger.announced()).toEqual(['incident-1']);
    expect(ledger.keptUsage()).toEqual([]);
  });

  it.each([
    7,
    null,
    'x',
    [],
    {},
    { ...recordOf(1), frozenMl: -1 },
    { ...recordOf(1), months: { '2025-01': ['x'] } },
  ])('that is damaged (%j) costs only its own sonic, and is said', async (damaged) => {
    const directory = temporaryFolder();
    const usage = { bad: damaged, good: recordOf(3) };
    writeFileSync(join(directory, 'ledger.json'), JSON.stringify({ session: null, announced: [], usage }));
    const lines: string[] = [];
    const ledger = await openLedger(directory, account, lines);
    expect(ledger.usageOf('good')).toEqual(recordOf(3));
    expect(ledger.usageOf('bad')).toBeNull();
    expect(lines.filter((line) => line.includes('usage of sonic bad is damaged'))).toHaveLength(1);
  });

  it('that is no table at all costs nothing else', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'ledger.json'), '{"session":null,"announced":["incident-1"],"usage":"x"}');
    expect((await openLedger(directory)).announced()).toEqual(['incident-1']);
  });

  it('that was written once is remembered though the folder is full or gone, but nothing new is', async () => {
    const directory = join(temporaryFolder(), 'data');
    const ledger = await openLedger(directory);
    ledger.keepUsage('known', recordOf(1), true);
    await ledger.flush();
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where the folder should be');
    ledger.keepUsage('new', recordOf(1), true);
    await ledger.flush();
    expect(ledger.problem).not.toBeNull();
    expect(['known', 'new'].map((id) => ledger.remembersUsage(id))).toEqual([true, false]);
  });

  it('is remembered as soon as the folder can be used', async () => {
    const directory = join(temporaryFolder(), 'data');
    const first = await openLedger(directory);
    first.keepUsage('known', recordOf(1), true);
    expect(first.remembersUsage('known')).toBe(true);
    await first.flush();
    const file = join(directory, 'ledger.json');
    const text = readFileSync(file, 'utf8');
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where the folder should be');

    const second = await openLedger(directory);
    second.keepUsage('known', recordOf(1), true);
    expect(second.remembersUsage('known')).toBe(false);
    rmSync(directory);
    mkdirSync(directory);
    writeFileSync(file, text);
    await second.flush();
    expect(second.remembersUsage('known')).toBe(true);
  });

  it('of an earlier run is not lost where the folder is there only later, as a disk that is mounted late', async () => {
    const directory = join(temporaryFolder(), 'data');
    const first = await openLedger(directory);
    first.keepUsage('one', recordOf(100, '2024-12'), true);
    await first.flush();
    const text = readFileSync(join(directory, 'ledger.json'), 'utf8');
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where the folder should be');

    const second = await openLedger(directory);
    second.keepUsage('one', recordOf(5, '2025-01'), true);
    await second.flush();
    rmSync(directory);
    mkdirSync(directory);
    writeFileSync(join(directory, 'ledger.json'), text);
    await second.flush();
    expect(second.problem).toBeNull();
    expect(second.usageOf('one')).toMatchObject({
      frozenThrough: '2024-10',
      months: { '2024-12': [100_000], '2025-01': [5_000] },
    });
    expect((await openLedger(directory)).usageOf('one')).toEqual(second.usageOf('one'));
  });

  it('is put aside, not replaced, where there is something that cannot be read', async () => {
    const directory = temporaryFolder();
    mkdirSync(join(directory, 'ledger.json'));
    writeFileSync(join(directory, 'ledger.json', 'inside'), 'kept');
    const ledger = await openLedger(directory);
    expect(ledger.problem).toBeNull();
    chmodSync(join(directory, 'ledger.json.unreadable'), 0o700);
    expect(readFileSync(join(directory, 'ledger.json.unreadable', 'inside'), 'utf8')).toBe('kept');
  });

  it('of ten thousand sonics over two months is read and written in one go', async () => {
    const directory = temporaryFolder();
    const ledger = await openLedger(directory);
    const days = Array.from({ length: 31 }, (_, day) => 100_000 + day);
    const record = { ...recordOf(1), months: { '2024-12': days, '2025-01': days } };
    for (let index = 0; index < 10_000; index++) ledger.keepUsage(`sonic-${index}`, record, true);
    await ledger.flush();
    expect(ledger.problem).toBeNull();
    expect(statSync(join(directory, 'ledger.json')).size).toBeLessThan(10_000_000);
    expect((await openLedger(directory)).usageOf('sonic-9999')).toEqual(record);
  });
});
