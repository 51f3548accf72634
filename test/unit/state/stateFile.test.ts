import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPause } from '../../../src/model/pause.ts';
import { type UsageRecord, withReading } from '../../../src/model/usage.ts';
import { type Disk, systemDisk } from '../../../src/state/disk.ts';
import { sessionMemory } from '../../../src/state/sections.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };

/** A disk that can be full. */
function fullDisk() {
  const disk = {
    ...systemDisk,
    isFull: false,
    write: (path: string, text: string) =>
      disk.isFull ? Promise.reject(new Error('ENOSPC: no space left')) : systemDisk.write(path, text),
  };
  return disk;
}

async function open(directory: string, { clock = new FakeClock(), disk = systemDisk } = {}) {
  const lines = logLines('info');
  const state = new StateFile(directory, lines.log, clock, disk);
  await state.open();
  onTestFinished(() => state.close());
  return { state, clock, lines, warnings: () => lines.messages.filter((line) => line.startsWith('warn')) };
}

/** What a sonic has used, read in full on a day of January 2025. */
function recordOf(liters: number): UsageRecord {
  const reading = { presentMonth: '2025-01', readAt: Date.UTC(2025, 0, 15, 12) };
  const december = { ...reading, month: '2024-12', daily: [{ date: '2024-12-31', liters: 1 }] };
  const january = { ...reading, month: '2025-01', daily: [{ date: '2025-01-14', liters }] };
  return withReading(withReading(null, december), january);
}

/** The files of a bridge that has kept something and died. */
async function left() {
  const directory = temporaryFolder();
  const { state } = await open(directory);
  sessionMemory(state.kept, account).save({ token: 'token-1', since: 42 });
  state.kept.usage.set('one', recordOf(100));
  state.kept.usage.set('two', { ...recordOf(200), readAt: Date.UTC(2030, 0) });
  await announce(state, ['incident-1']);
  const file = join(directory, 'sonic2mqtt.json');
  return { directory, file, state };
}

/** Records that these incidents were announced. */
async function announce({ kept }: StateFile, ids: readonly string[]) {
  for (const id of ids) kept.announced.set(id, true);
  await kept.announced.saved();
}

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

describe('the state file', () => {
  it('remembers everything over a restart, in files of mode 0600', async () => {
    const directory = join(temporaryFolder(), 'new', 'folder');
    const { state: before } = await open(directory);
    sessionMemory(before.kept, account).save({ token: 'token-1', since: 42 });
    await announce(before, ['incident-1', 'incident-2']);
    before.kept.announced.delete('incident-2');
    before.kept.usage.set('one', recordOf(12.345));
    before.kept.usage.set('gone', recordOf(1));
    before.kept.usage.delete('gone');
    for (const key of ['sonic/one', 'sonic/gone']) before.kept.devices.set(key, 'Kitchen');
    before.kept.devices.delete('sonic/gone');
    await before.close();
    expect(statSync(join(directory, 'sonic2mqtt.json')).mode & 0o777).toBe(0o600);

    const { state, warnings } = await open(directory);
    expect(sessionMemory(state.kept, account).load()).toMatchObject({ token: 'token-1', since: 42 });
    expect([...state.kept.announced.keys()]).toEqual(['incident-1']);
    expect([...state.kept.usage]).toEqual([['one', recordOf(12.345)]]);
    expect([...state.kept.devices]).toEqual([['sonic/one', 'Kitchen']]);
    expect([state.problem, state.isIncomplete, warnings()]).toEqual([null, false, []]);
  });

  it.each([{ baseUrl: 'https://other.example' }, { email: 'you@example.com' }])(
    'does not hand out the session of another account: %j',
    async (other) => {
      const { directory } = await left();
      const { state } = await open(directory);
      expect(sessionMemory(state.kept, { ...account, ...other }).load()).toBeNull();
    },
  );

  it('is written at once for an incident, and a minute later for water', async () => {
    const { state, clock } = await open(temporaryFolder());
    state.kept.usage.set('one', recordOf(1));
    await state.kept.usage.saved();
    for (const liters of [2, 3, 4]) state.kept.usage.set('one', recordOf(liters));
    expect(clock.waiting).toBe(1);
    expect(state.kept.usage.onDisk('one')).toBeDefined();
    await announce(state, ['incident-1']);
    expect(clock.waiting).toBe(0);
  });

  it('distinguishes a total that a crash may have left behind from one that was written at a stop', async () => {
    const { directory, state } = await left();
    expect((await open(directory)).state.kept.usage.get('one')?.isWhole).toBe(false);
    await state.close();
    expect((await open(directory)).state.kept.usage.get('one')?.isWhole).toBe(true);
  });
});

describe('a state file that is damaged', () => {
  it.each([
    ['empty, as after a power cut', ''],
    ['zeros, as after a power cut', '\0'.repeat(4_096)],
    ['half-written', '{"session":null,"announced":["incident-1"],"usage":{"one":{"frozenTh'],
    ['something else', '["no", "state"]'],
    ['null', 'null'],
  ])('since it is %s is kept aside, said once, and a pause in it may be lost', async (_, text) => {
    const { directory, file } = await left();
    writeFileSync(file, text);
    const { state, warnings } = await open(directory);
    expect(warnings()).toEqual([
      `warn: ${file} is damaged. It is kept as ${file}.unreadable. Data that neither the broker nor the cloud has is lost.`,
    ]);
    expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe(text);
    expect([state.isIncomplete, state.problem, state.misses(null)]).toEqual([true, null, true]);
    expect([...state.kept.lostPauses.keys()]).toEqual(['']);
    expect(json(file).lostPauses).toEqual(['']);
  });

  it.each([
    ['usage', 7],
    ['usage', { one: {} }],
    ['usage', { one: { ...recordOf(1), frozenThrough: '2026-13' } }],
    ['usage', { one: { ...recordOf(1), frozenMl: 0.5 } }],
    ['usage', { one: { ...recordOf(1), months: ['january'] } }],
    ['usage', { one: { ...recordOf(1), months: ['1999-01'] } }],
    ['usage', { one: { ...recordOf(1), days: { '1999-01-01': 1 } } }],
    ['usage', { one: { ...recordOf(1), days: { '2025-01-01': -1 } } }],
    ['usage', { one: { ...recordOf(1), days: { '2025-01-32': 1 } } }],
    ['usage', { one: { ...recordOf(1), changedAt: 'x' } }],
    ['usage', { one: { ...recordOf(1), readAt: null } }],
    ['usage', { one: { ...recordOf(1), isWhole: 1 } }],
    ['announced', 7],
  ])('in one section (%s: %j) loses that, and nothing else', async (section, value) => {
    const { directory, file } = await left();
    writeFileSync(file, JSON.stringify({ ...json(file), wifiSonics: ['sonic-2'], [section]: value }));
    const { state, warnings } = await open(directory);
    expect(warnings()).toHaveLength(1);
    expect([sessionMemory(state.kept, account).load()?.token, state.kept.wifiSonics.has('sonic-2')]).toEqual([
      'token-1',
      true,
    ]);
    expect([state.kept.lostPauses.size, state.misses(null)]).toEqual([0, true]);
  });

  it('is not one that cannot be read: it stays where it is, and is added once it can be read', async () => {
    const { directory, file, state: before } = await left();
    await before.kept.pauses.set('home', { ...newPause(60, 1, 1), isPending: false }).saved();
    let isFailing = true;
    const read: Disk['read'] = (path) => {
      if (isFailing && path === file)
        return Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
      return systemDisk.read(path);
    };
    const clock = new FakeClock();
    const state = new StateFile(directory, logLines('info').log, clock, { ...systemDisk, read });
    onTestFinished(() => state.close());
    const passTime = async (saved: Promise<void>) => {
      let isSaved = false;
      void saved.then(() => {
        isSaved = true;
      });
      const isOver = () => {
        if (!isSaved) clock.advance(100);
        return isSaved;
      };
      await waitFor(isOver, { what: 'the write', intervalMs: 1 });
    };
    await passTime(state.open());
    expect(state.problem).toContain('sonic2mqtt.json cannot be read: EIO: i/o error');
    expect([state.misses(null), state.kept.pauses.size]).toEqual([true, 0]);
    await passTime(state.kept.devices.set('sonic/new', 'Kitchen').saved());
    expect(existsSync(`${file}.unreadable`)).toBe(false);
    isFailing = false;
    await state.kept.devices.saved();
    expect([state.problem, state.kept.session.get('')?.token]).toEqual([null, 'token-1']);
    expect([...state.kept.pauses.keys()]).toEqual(['home']);
    expect(json(file)).toMatchObject({ devices: { 'sonic/new': 'Kitchen' }, announced: ['incident-1'] });
  });

  it('is kept aside where it is no file', async () => {
    const directory = temporaryFolder();
    mkdirSync(join(directory, 'sonic2mqtt.json'));
    writeFileSync(join(directory, 'sonic2mqtt.json', 'inside'), 'kept');
    expect((await open(directory)).state.problem).toBeNull();
    expect(readFileSync(join(directory, 'sonic2mqtt.json.unreadable', 'inside'), 'utf8')).toBe('kept');
  });
});

it('what this run has read of a valve is newer than what the broker has, whatever the clocks', async () => {
  const { state } = await open(temporaryFolder());
  state.kept.usage.set('one', recordOf(100));
  state.kept.usage.adopt([['one', { ...recordOf(90), readAt: Date.UTC(2030, 0) }]], true);
  expect(state.kept.usage.get('one')?.days['2025-01-14']).toBe(100_000);
});

describe('a data directory that cannot be used', () => {
  it('is said once, keeps nothing from working, and is used as soon as it can be', async () => {
    const directory = join(temporaryFolder(), 'data');
    writeFileSync(directory, 'a file where the folder should be');
    const { state, clock, warnings } = await open(directory);
    await announce(state, ['incident-1']);
    await announce(state, ['incident-2']);
    expect(state.problem).toContain('cannot write to the folder');
    expect(state.kept.announced.has('incident-1')).toBe(true);
    expect([state.isIncomplete, warnings().length]).toEqual([true, 1]);
    rmSync(directory);
    clock.advance(60_000);
    await waitFor(() => state.problem === null, { what: 'the folder' });
    expect(json(join(directory, 'sonic2mqtt.json')).announced).toEqual(['incident-1', 'incident-2']);
    expect(state.isIncomplete).toBe(false);
  });

  it('costs what was written nothing, and what is new is not remembered', async () => {
    const directory = join(temporaryFolder(), 'data');
    const { state } = await open(directory);
    state.kept.usage.set('known', recordOf(1));
    await announce(state, ['incident-1']);
    renameSync(directory, `${directory}-away`);
    writeFileSync(directory, 'a file where the folder should be');
    state.kept.usage.set('new', recordOf(1));
    await announce(state, ['incident-2']);
    expect(['known', 'new'].map((id) => state.kept.usage.onDisk(id) !== undefined)).toEqual([true, false]);
  });

  it('is a disk that is mounted late: what an earlier run has kept is put together with what is new', async () => {
    const { directory } = await left();
    const folder = temporaryFolder();
    const [link, mounted] = [join(folder, 'link'), join(folder, 'mounted')];
    symlinkSync(mounted, link);
    const { state, clock } = await open(link);
    state.kept.usage.set('one', recordOf(150));
    // The clock of the earlier run was ahead.
    state.kept.usage.set('two', recordOf(250));
    await announce(state, ['incident-2']);
    expect(state.problem).not.toBeNull();
    renameSync(directory, mounted);
    clock.advance(60_000);
    await waitFor(() => state.problem === null, { what: 'the disk' });
    expect([...state.kept.announced.keys()].toSorted()).toEqual(['incident-1', 'incident-2']);
    expect(state.kept.usage.get('one')?.days['2025-01-14']).toBe(150_000);
    expect(state.kept.usage.get('two')?.days['2025-01-14']).toBe(250_000);
  });

  it('is one that hangs: nobody waits for longer than ten seconds, and all is written once it answers', async () => {
    let answer = () => {};
    let isHanging = true;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const disk: Disk = {
      ...systemDisk,
      async write(path, text) {
        if (isHanging) await answered;
        await systemDisk.write(path, text);
      },
    };
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const lines = logLines('info');
    const state = new StateFile(directory, lines.log, clock, disk);
    onTestFinished(() => state.close());
    const opened = state.open();
    await waitFor(() => clock.waiting > 0, { what: 'the write' });
    clock.advance(10_000);
    await opened;
    await announce(state, ['incident-1']);
    expect(state.problem).toContain('the disk does not answer');
    isHanging = false;
    answer();
    await waitFor(() => state.problem === null, { what: 'the disk' });
    clock.advance(60_000);
    const isWritten = () => json(join(directory, 'sonic2mqtt.json')).announced.length > 0;
    await waitFor(isWritten, { what: 'the incident' });
  });
});

describe('a state file that this process has not written', () => {
  it('is added to what this run knows: its disk was mounted after the start', async () => {
    const { directory: mounted } = await left();
    const directory = temporaryFolder();
    const { state, warnings } = await open(directory);
    state.kept.usage.set('one', recordOf(7));
    state.kept.devices.set('sonic/new', 'Kitchen');
    await announce(state, ['incident-2']);
    renameSync(join(mounted, 'sonic2mqtt.json'), join(directory, 'sonic2mqtt.json'));
    await announce(state, ['incident-3']);
    const kept = json(join(directory, 'sonic2mqtt.json'));
    expect(kept.announced.toSorted()).toEqual(['incident-1', 'incident-2', 'incident-3']);
    expect(kept.session.token).toBe('token-1');
    expect(Object.keys(kept.usage).toSorted()).toEqual(['one', 'two']);
    expect(kept.usage.two).toMatchObject({ days: recordOf(200).days, isWhole: false });
    expect(kept.devices).toEqual({ 'sonic/new': 'Kitchen' });
    expect(warnings()).toEqual([]);
    expect(state.problem).toBeNull();
  });

  it('keeps the larger sum of the two', async () => {
    const directory = temporaryFolder();
    const { state } = await open(directory);
    state.kept.usage.set('one', recordOf(7));
    await state.kept.announced.saved();
    const file = join(directory, 'sonic2mqtt.json');
    const older = { ...recordOf(100), frozenMl: 5_005_535_000 };
    writeFileSync(file, JSON.stringify({ ...json(file), usage: { one: older } }));
    await state.kept.announced.saved();
    expect(json(file).usage.one.frozenMl).toBe(5_005_535_000);
  });

  it('says whether a pause is on disk, and has it after a restart by both clocks', async () => {
    const directory = temporaryFolder();
    const disk = fullDisk();
    const clock = new FakeClock();
    const { state } = await open(directory, { disk, clock });
    const { pauses } = state.kept;
    const pause = { ...newPause(60, clock.now(), clock.monotonic()), isPending: false };
    await pauses.set('home', pause).saved();
    expect(pauses.isSaved('home')).toBe(true);
    disk.isFull = true;
    await pauses.set('away', pause).saved();
    expect(pauses.isSaved('away')).toBe(false);
    disk.isFull = false;
    pauses.delete('away');
    await pauses.saved();
    expect(pauses.isSaved('away')).toBe(true);
    await clock.advance(600_000);
    await announce(state, ['incident-1']);
    await clock.advance(60_000);
    const { state: next } = await open(directory, { disk, clock });
    // The last time that it was written is the last that is known of the clock that goes on.
    expect([...next.kept.pauses]).toEqual([['home', { ...pause, endsAt: clock.monotonic() + 3_000_000 }]]);
  });

  it('ends a pause if the clock is behind the file, and brings none back that was over in this run', async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const { state } = await open(directory, { clock });
    const pause = newPause(60, clock.now(), clock.monotonic());
    await state.kept.pauses.set('home', pause).saved();
    const file = join(directory, 'sonic2mqtt.json');
    const kept = json(file);
    state.kept.pauses.delete('home');
    await state.kept.pauses.saved();
    writeFileSync(file, JSON.stringify(kept));
    await state.kept.announced.saved();
    expect(state.kept.pauses.size).toBe(0);
    writeFileSync(file, JSON.stringify({ ...kept, writtenAt: new Date(clock.now() + 60_000).toISOString() }));
    const { state: next } = await open(directory, { clock });
    expect(next.kept.pauses.get('home')?.endsAt).toBe(clock.monotonic());
  });

  it('is written where a symbolic link leads, also if there is nothing yet', async () => {
    const directory = temporaryFolder();
    const target = join(temporaryFolder(), 'kept.json');
    symlinkSync(target, join(directory, 'sonic2mqtt.json'));
    const first = await open(directory);
    await announce(first.state, ['incident-1']);
    expect(json(target).announced).toEqual(['incident-1']);
    writeFileSync(target, '{');
    const { state } = await open(directory);
    await announce(state, ['incident-2']);
    expect(json(target).announced).toEqual(['incident-2']);
    expect(lstatSync(join(directory, 'sonic2mqtt.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(directory, 'sonic2mqtt.json.unreadable'), 'utf8')).toBe('{');
  });
});

describe('the revision of a state file', () => {
  it('grows with each change that is written at once, and over restarts', async () => {
    const directory = temporaryFolder();
    const first = await open(directory);
    expect(first.state.revision).toBeNull();
    first.state.brokerRead(null);
    const before = first.state.revision ?? 0;
    await announce(first.state, ['incident-1']);
    first.state.kept.rested.set('one', 1);
    expect(first.state.revision).toBe(before + 1);
    await first.state.close();
    const { state } = await open(directory);
    state.brokerRead(null);
    expect(state.revision).toBeGreaterThan(before + 1);
  });

  it('shows whether the broker is newer, as after a restored copy', async () => {
    const { directory, file } = await left();
    const { revision } = json(file);
    const { state, lines } = await open(directory);
    expect([null, 0, revision].map((each) => state.misses(each))).toEqual([false, false, false]);
    expect(state.misses(revision + 1)).toBe(true);
    state.brokerRead(revision + 500);
    expect(state.revision).toBeGreaterThan(revision + 500);
    expect(lines.messages.at(-1)).toBe(
      `info: ${file} is older than the messages on the broker. Their data was added`,
    );
    await state.kept.announced.saved();
    expect(json(file).revision).toBe(state.revision);
  });

  it('is that of a lost file again once the disk is mounted, and the newer of both counts', async () => {
    const directory = temporaryFolder();
    const { state } = await open(directory);
    const until = { ...newPause(60, 0, 0), isPending: false };
    state.kept.pauses.adopt([['home', { ...until, until: 7 }]], true);
    state.brokerRead(50);
    const other = await left();
    other.state.kept.pauses.set('home', { ...until, until: 8 });
    other.state.kept.pauses.set('away', { ...until, until: 9 });
    await other.state.kept.pauses.saved();
    renameSync(other.file, join(directory, 'sonic2mqtt.json'));
    await state.kept.pauses.saved();
    expect([...state.kept.pauses].map(([id, pause]) => [id, pause.until])).toEqual([
      ['home', 7],
      ['away', 9],
    ]);
  });
});

it('each base topic has its own file in the folder', async () => {
  const directory = temporaryFolder();
  for (const base of ['sonic2mqtt', 'home/north']) {
    const state = new StateFile(directory, logLines('info').log, new FakeClock(), systemDisk, base);
    await state.open();
    await state.close();
  }
  expect(readdirSync(directory).toSorted()).toEqual(['home%2Fnorth.json', 'sonic2mqtt.json']);
});
