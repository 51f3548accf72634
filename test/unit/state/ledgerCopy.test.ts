import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type UsageRecord, withReading } from '../../../src/model/usage.ts';
import { systemDisk } from '../../../src/state/disk.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };
const dayMs = 86_400_000;

/** What a sonic has used, read in full on a day of January 2025. */
function recordOf(liters: number): UsageRecord {
  const reading = { presentMonth: '2025-01', readAt: Date.UTC(2025, 0, 15, 12) };
  const december = withReading(null, {
    ...reading,
    month: '2024-12',
    daily: [{ date: '2024-12-31', liters: 1 }],
  });
  return withReading(december, { ...reading, month: '2025-01', daily: [{ date: '2025-01-14', liters }] });
}

/** A bridge's ledger that has kept the water of two sonics and an incident, and its files. */
async function keep(clock = new FakeClock()) {
  const directory = temporaryFolder();
  const ledger = new Ledger(directory, account, logLines().log, clock);
  await ledger.open();
  ledger.saveSession({ token: 'token-1', since: 42 });
  ledger.keepUsage('one', recordOf(100), true);
  ledger.keepUsage('two', recordOf(200), true);
  await ledger.noteAnnounced(['incident-1']);
  const file = join(directory, 'ledger.json');
  return { directory, file, copy: `${file}.bak`, ledger, clock };
}

async function reopen(directory: string, clock = new FakeClock()) {
  const lines = logLines();
  const ledger = new Ledger(directory, account, lines.log, clock);
  await ledger.open();
  return { ledger, warnings: lines.messages.filter((line) => line.startsWith('warn')) };
}

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

describe('the copy of the ledger', () => {
  it('is for its owner only, knows when it was made, and holds no session', async () => {
    const { copy } = await keep();
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(json(copy)).toMatchObject({
      copiedAt: '2025-01-15T12:00:00.000Z',
      session: null,
      announced: ['incident-1'],
    });
    expect(Object.keys(json(copy).usage)).toEqual(['one', 'two']);
    expect(readFileSync(copy, 'utf8')).not.toContain('token-1');
  });

  it('is not made before there is any water to remember', async () => {
    const directory = temporaryFolder();
    const ledger = new Ledger(directory, account, logLines().log, new FakeClock());
    await ledger.open();
    await ledger.noteAnnounced(['incident-1']);
    expect(existsSync(join(directory, 'ledger.json.bak'))).toBe(false);
  });

  it('is made once a day, however often the file is written', async () => {
    const { ledger, clock, copy } = await keep();
    const write = async (liters: number) => {
      ledger.keepUsage('one', recordOf(liters), false);
      await ledger.noteAnnounced([`incident of ${liters}`]);
      return json(copy).usage.one.months['2025-01'].at(-1) / 1_000;
    };
    clock.advance(dayMs - 1);
    expect(await write(101)).toBe(100);
    clock.advance(1);
    expect(await write(102)).toBe(102);
    clock.advance(dayMs - 1);
    expect(await write(103)).toBe(102);
  });

  it.each([
    ['empty, as after a power cut', ''],
    ['zeros, as after a power cut', '\0'.repeat(4_096)],
    ['half-written', '{"session":null,"announced":["incident-1"],"usage":{"one":{"frozenTh'],
    ['something else', '["no", "ledger"]'],
  ])('takes the place of a file that is %s, and the user is told', async (_, text) => {
    const { directory, file } = await keep();
    writeFileSync(file, text);
    const { ledger, warnings } = await reopen(directory);
    expect(warnings).toEqual([
      `warn: ${file} is not readable; it is put aside as ${file}.unreadable, and its copy of 2025-01-15T12:00:00.000Z takes its place`,
    ]);
    expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe(text);
    expect(ledger.announced()).toEqual(['incident-1']);
    expect(ledger.usageOf('one')).toMatchObject({ months: recordOf(100).months });
    expect(ledger.problem).toBeNull();
    expect(Object.keys(json(file).usage)).toEqual(['one', 'two']);
  });

  it('takes the place of a file that is gone', async () => {
    const { directory, file } = await keep();
    rmSync(file);
    const { ledger, warnings } = await reopen(directory);
    expect(warnings).toEqual([
      `warn: ${file} is missing; its copy of 2025-01-15T12:00:00.000Z takes its place`,
    ]);
    expect(ledger.usageOf('two')).toMatchObject({ months: recordOf(200).months });
  });

  it('gives back the water that an earlier version has not kept', async () => {
    const { directory, file } = await keep();
    // So 0.1.0 leaves it, which knew nothing of water.
    const { session } = json(file);
    writeFileSync(file, JSON.stringify({ session, announced: ['incident-2'] }, null, 2));
    const { ledger, warnings } = await reopen(directory);
    expect(warnings).toEqual([
      `warn: ${file} has no water totals, as an earlier version leaves it; they are taken from its copy of 2025-01-15T12:00:00.000Z`,
    ]);
    expect(ledger.usageOf('two')).toMatchObject({ months: recordOf(200).months, isWhole: false });
    expect([ledger.announced(), ledger.loadSession()?.token]).toEqual([['incident-2'], 'token-1']);
    expect(Object.keys(json(file).usage)).toEqual(['one', 'two']);
  });

  it('is not missed by a file of an earlier version that has none', async () => {
    const directory = temporaryFolder();
    writeFileSync(
      join(directory, 'ledger.json'),
      JSON.stringify({ session: null, announced: ['incident-1'] }),
    );
    const { ledger, warnings } = await reopen(directory);
    expect([ledger.announced(), ledger.hasForgotten, warnings]).toEqual([['incident-1'], false, []]);
  });

  it('gives back the sonics that are damaged, and only those', async () => {
    const { directory, file } = await keep();
    const content = json(file);
    const lost = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`new-${index}`, 7]));
    const usage = { one: 7, two: { ...recordOf(222), isWhole: true }, ...lost };
    writeFileSync(file, JSON.stringify({ ...content, usage }));
    const { ledger, warnings } = await reopen(directory);
    expect(ledger.usageOf('one')).toMatchObject({ months: recordOf(100).months });
    expect(ledger.usageOf('two')).toMatchObject({ months: recordOf(222).months });
    expect(ledger.usageOf('new-1')).toBeNull();
    expect(warnings).toEqual([
      `warn: ${file}: the usage of sonic one is damaged; it is taken from its copy of 2025-01-15T12:00:00.000Z`,
      `warn: ${file}: the usage of sonic new-0, new-1, new-2, new-3, new-4 and 2 others is damaged; it is counted anew`,
    ]);
  });

  it('is not looked at where nothing is missing', async () => {
    const { directory, copy, ledger } = await keep();
    await ledger.flush();
    writeFileSync(copy, 'damaged');
    const { ledger: again, warnings } = await reopen(directory);
    expect(warnings).toEqual([]);
    expect(again.usageOf('one')).toEqual(recordOf(100));
    expect(json(copy).usage.one).toEqual(recordOf(100));
  });

  it('is no help where it is damaged itself, and the user is told what is lost', async () => {
    const { directory, file, copy } = await keep();
    writeFileSync(file, '');
    writeFileSync(copy, '');
    const { ledger, warnings } = await reopen(directory);
    expect(warnings).toEqual([
      `warn: ${file} is not readable; it is put aside as ${file}.unreadable, and it is started anew: water totals begin again with what the cloud still knows`,
    ]);
    expect(ledger.keptUsage()).toEqual([]);
    expect(ledger.hasForgotten).toBe(true);
  });

  it('that cannot be written is a problem of its own, which costs the file nothing, and is tried again', async () => {
    const clock = new FakeClock();
    const directory = temporaryFolder();
    const file = join(directory, 'ledger.json');
    mkdirSync(`${file}.bak`);
    const lines = logLines();
    const ledger = new Ledger(directory, account, lines.log, clock);
    await ledger.open();
    ledger.keepUsage('one', recordOf(100), true);
    await ledger.noteAnnounced(['incident-1']);
    await ledger.noteAnnounced(['incident-2']);
    expect(ledger.problem).toContain('its copy cannot be written');
    expect(ledger.remembersUsage('one')).toBe(true);
    expect(ledger.hasForgotten).toBe(false);
    expect(json(file).announced).toEqual(['incident-1', 'incident-2']);
    rmdirSync(`${file}.bak`);
    clock.advance(60_000);
    await waitFor(() => ledger.problem === null, { what: 'the copy' });
    expect(existsSync(`${file}.bak`)).toBe(true);
    expect(lines.messages.filter((line) => /copy|bak/.test(line))).toEqual([
      expect.stringContaining('its copy cannot be written'),
      `info: ${file}.bak can be written again`,
    ]);
  });
});

describe('a disk that cannot be written', () => {
  it('is noticed at the start, also where the file would stay as it is', async () => {
    const { directory } = await keep();
    // A run that was killed before it had read anything.
    await reopen(directory);
    const disk = {
      ...systemDisk,
      write: () => Promise.reject(new Error('EROFS: read-only file system, open')),
    };
    const ledger = new Ledger(directory, account, logLines().log, new FakeClock(), disk);
    await ledger.open();
    expect(ledger.problem).toMatch(/^the data directory cannot be used.*\(EROFS: read-only file system\)$/);
    expect(ledger.announced()).toEqual(['incident-1']);
    // The run before may have had no disk either.
    expect(ledger.hasForgotten).toBe(true);
  });
});

describe('what may have been forgotten', () => {
  it('is nothing at the very first start, and nothing after a good one', async () => {
    const directory = temporaryFolder();
    expect((await reopen(directory)).ledger.hasForgotten).toBe(false);
    expect((await reopen(directory)).ledger.hasForgotten).toBe(false);
  });

  it('is nothing where the disk fails only later: this run knows what it has announced', async () => {
    let isBroken = false;
    const disk = {
      ...systemDisk,
      write: (...args: Parameters<typeof systemDisk.write>) =>
        isBroken ? Promise.reject(new Error('EROFS')) : systemDisk.write(...args),
    };
    const ledger = new Ledger(temporaryFolder(), account, logLines().log, new FakeClock(), disk);
    await ledger.open();
    isBroken = true;
    await ledger.noteAnnounced(['incident-1']);
    expect(ledger.problem).toMatch('cannot be used');
    expect(ledger.hasForgotten).toBe(false);
  });

  it.each([
    ['the file is damaged', (file: string) => writeFileSync(file, '')],
    ['the file is gone', (file: string) => rmSync(file)],
  ])('is something where %s and the copy is of an earlier hour', async (_, strike) => {
    const { directory, file } = await keep();
    strike(file);
    expect((await reopen(directory)).ledger.hasForgotten).toBe(true);
    expect((await reopen(directory)).ledger.hasForgotten).toBe(false);
  });
});

describe('a sum that may be behind what was shown', () => {
  it('is not whole before it was read again: after a crash, and from the copy', async () => {
    const { directory, file, ledger } = await keep();
    expect(ledger.usageOf('one')?.isWhole).toBe(true);
    const crashed = (await reopen(directory)).ledger;
    expect(crashed.usageOf('one')).toEqual({ ...recordOf(100), isWhole: false });
    crashed.keepUsage('one', recordOf(100), false);
    await crashed.flush();
    expect((await reopen(directory)).ledger.usageOf('one')).toEqual(recordOf(100));
    rmSync(file);
    expect((await reopen(directory)).ledger.usageOf('one')?.isWhole).toBe(false);
  });

  it('is not whole from a copy that was made at a stop, and not in a file that was written since', async () => {
    const directory = temporaryFolder();
    const file = join(directory, 'ledger.json');
    const ledger = new Ledger(directory, account, logLines().log, new FakeClock());
    await ledger.open();
    ledger.keepUsage('one', recordOf(100), true);
    await ledger.flush();
    expect([json(file).isBehind, json(`${file}.bak`).isBehind]).toEqual([false, true]);
    ledger.keepUsage('one', recordOf(101), true);
    await ledger.noteAnnounced(['incident-1']);
    expect(json(file).isBehind).toBe(true);
  });

  it('is whole after a stop, and in the file of an older version', async () => {
    const { directory, file, ledger } = await keep();
    await ledger.flush();
    expect(json(file).isBehind).toBe(false);
    const { isBehind: _, ...older } = json(file);
    expect((await reopen(directory)).ledger.usageOf('one')?.isWhole).toBe(true);
    expect(json(file).isBehind).toBe(true);
    writeFileSync(file, JSON.stringify(older));
    expect((await reopen(directory)).ledger.usageOf('one')?.isWhole).toBe(true);
  });

  it('is written at a stop although nothing else has changed, and then not once more', async () => {
    const directory = temporaryFolder();
    let writes = 0;
    const disk = {
      ...systemDisk,
      write: (path: string, text: string) => {
        writes += 1;
        return systemDisk.write(path, text);
      },
    };
    const ledger = new Ledger(directory, account, logLines().log, new FakeClock(), disk);
    await ledger.open();
    await ledger.flush();
    expect(writes).toBe(2);
    await ledger.flush();
    await ledger.noteAnnounced([]);
    expect(writes).toBe(2);
  });
});
