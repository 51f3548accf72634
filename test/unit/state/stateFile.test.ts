import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type UsageRecord, withReading } from '../../../src/model/usage.ts';
import { type Disk, systemDisk } from '../../../src/state/disk.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };
const dayMs = 86_400_000;

/** A disk on which a process that died holds no lock. */
const unlocked: Disk = { ...systemDisk, lock: async () => () => {} };

async function open(directory: string, { of = account, clock = new FakeClock(), disk = systemDisk } = {}) {
  const lines = logLines('info');
  const state = new StateFile(directory, of, lines.log, clock, disk);
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
  const { state } = await open(directory, { disk: unlocked });
  state.recordSession({ token: 'token-1', since: 42 });
  state.recordUsage('one', recordOf(100), true);
  state.recordUsage('two', { ...recordOf(200), readAt: Date.UTC(2030, 0) }, true);
  state.recordAccepted('property-1', { push_enabled: true });
  await state.recordAnnounced(['incident-1']);
  const file = join(directory, 'state.json');
  return { directory, file, backup: `${file}.bak`, state };
}

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

describe('the state file', () => {
  it('remembers everything over a restart, in files of mode 0600', async () => {
    const directory = join(temporaryFolder(), 'new', 'folder');
    const { state: before } = await open(directory);
    before.recordSession({ token: 'token-1', since: 42 });
    await before.recordAnnounced(['incident-1', 'incident-2']);
    await before.recordPending(['incident-3']);
    before.forgetIncident('incident-2');
    before.recordAccepted('property-1', { push_enabled: true, webhook_url: 'https://me.example/[hidden]' });
    before.recordUsage('one', recordOf(12.345), true);
    before.recordUsage('gone', recordOf(1), true);
    before.forgetUsage('gone');
    for (const key of ['sonic/one', 'sonic/gone']) before.recordDevice(key);
    before.forgetDevice('sonic/gone');
    await before.close();
    for (const name of ['state.json', 'state.json.bak']) {
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    }

    const { state, warnings } = await open(directory);
    expect(state.session).toEqual({ token: 'token-1', since: 42 });
    expect(state.incidentIds()).toEqual(['incident-1', 'incident-3']);
    expect([state.isAnnounced('incident-1'), state.isPending('incident-3')]).toEqual([true, true]);
    expect(state.acceptedBy('property-1')).toEqual({ push_enabled: true });
    expect([...state.usageRecords()]).toEqual([['one', recordOf(12.345)]]);
    expect([...state.devices]).toEqual(['sonic/one']);
    expect([state.problem, state.isIncomplete, warnings()]).toEqual([null, false, []]);
  });

  it.each([{ baseUrl: 'https://other.example' }, { email: 'you@example.com' }])(
    'does not hand out the session of another account: %j',
    async (other) => {
      const { directory } = await left();
      expect((await open(directory, { of: { ...account, ...other } })).state.session).toBeNull();
    },
  );

  it('takes over the ledger.json of 0.1.0, once', async () => {
    const directory = temporaryFolder();
    const record = {
      frozenThrough: '2024-11',
      frozenMl: 0,
      months: { '2024-12': [null, 7500, 100000], '2025-01': [null, 55250] },
      isWhole: true,
      changedAt: '2025-01-15T12:00:00.000Z',
      readAt: 1736942400000,
      timezone: 'Europe/London',
    };
    // As the program wrote it before it had a state file.
    writeFileSync(
      join(directory, 'ledger.json'),
      `{"session":{"baseUrl":"https://cloud.example","email":"me@example.com","token":"token-1","since":1736942400000},"announced":["incident-1"],"waiting":["incident-2"],"accepted":{"property-1":{"leak_protection_enabled":true,"push_enabled":false}},"usage":{"sonic-1":${JSON.stringify(record)}},"isBehind":false,"copiedAt":null}\n`,
    );
    const { state, warnings } = await open(directory);
    expect(state.session).toEqual({ token: 'token-1', since: 1736942400000 });
    expect([state.isAnnounced('incident-1'), state.isPending('incident-2')]).toEqual([true, true]);
    expect(state.acceptedBy('property-1')).toEqual({ leak_protection_enabled: true, push_enabled: false });
    expect(state.usageOf('sonic-1')).toEqual(record);
    expect([state.isIncomplete, warnings()]).toEqual([false, []]);
    state.forgetIncident('incident-1');
    await state.close();
    expect((await open(directory)).state.isAnnounced('incident-1')).toBe(false);
  });

  it('takes over the ledger of an earlier version that knew nothing of water', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'ledger.json'), '{\n  "session": null,\n  "announced": ["incident-1"]\n}');
    const { state } = await open(directory);
    expect([state.incidentIds(), state.isIncomplete]).toEqual([['incident-1'], false]);
  });

  it('is written at once for an incident, and a minute later for water', async () => {
    const { state, clock } = await open(temporaryFolder());
    state.recordUsage('one', recordOf(1), false);
    expect(clock.waiting).toBe(0);
    for (const liters of [2, 3, 4]) state.recordUsage('one', recordOf(liters), true);
    expect(clock.waiting).toBe(1);
    expect(state.remembersUsage('one')).toBe(true);
    await state.recordAnnounced(['incident-1']);
    expect(clock.waiting).toBe(0);
  });

  it('distinguishes a total that a crash may have left behind from one that was written at a stop', async () => {
    const { directory, state } = await left();
    expect((await open(directory, { disk: unlocked })).state.usageOf('one')?.isWhole).toBe(false);
    await state.close();
    expect((await open(directory)).state.usageOf('one')?.isWhole).toBe(true);
  });
});

describe('a state file that is damaged', () => {
  it.each([
    ['empty, as after a power cut', ''],
    ['zeros, as after a power cut', '\0'.repeat(4_096)],
    ['half-written', '{"session":null,"announced":["incident-1"],"usage":{"one":{"frozenTh'],
    ['something else', '["no", "state"]'],
    ['null', 'null'],
  ])('since it is %s is kept aside, said once, and replaced by its backup', async (_, text) => {
    const { directory, file } = await left();
    writeFileSync(file, text);
    const { state, warnings } = await open(directory);
    expect(warnings()).toEqual([
      `warn: ${file} is damaged. It is kept as ${file}.unreadable. ${file}.bak of 2025-01-15T12:00:00.000Z replaces it.`,
    ]);
    expect(readFileSync(`${file}.unreadable`, 'utf8')).toBe(text);
    expect([state.incidentIds(), state.session, state.isIncomplete]).toEqual([['incident-1'], null, true]);
    expect(state.usageOf('one')).toMatchObject({ months: recordOf(100).months, isWhole: false });
    expect(state.problem).toBeNull();
    expect(Object.keys(json(file).usage)).toEqual(['one', 'two']);
  });

  it.each([
    ['usage', 7],
    ['usage', { one: {} }],
    ['usage', { one: { ...recordOf(1), frozenThrough: '2026-13' } }],
    ['usage', { one: { ...recordOf(1), frozenMl: 0.5 } }],
    ['usage', { one: { ...recordOf(1), months: { january: [] } } }],
    ['usage', { one: { ...recordOf(1), months: { '1999-01': [1] } } }],
    ['usage', { one: { ...recordOf(1), months: { '2025-01': [-1] } } }],
    ['usage', { one: { ...recordOf(1), months: { '2025-01': Array(32).fill(1) } } }],
    ['usage', { one: { ...recordOf(1), changedAt: 'x' } }],
    ['usage', { one: { ...recordOf(1), readAt: null } }],
    ['usage', { one: { ...recordOf(1), isWhole: 1 } }],
    ['announced', 7],
    ['accepted', { 'property-1': { push_enabled: 'x' } }],
  ])('in one section (%s: %j) takes that from the backup, and nothing else', async (section, value) => {
    const { directory, file } = await left();
    writeFileSync(file, JSON.stringify({ ...json(file), waiting: ['incident-2'], [section]: value }));
    const { state, warnings } = await open(directory);
    expect(warnings()).toHaveLength(1);
    expect([state.session?.token, state.isPending('incident-2')]).toEqual(['token-1', true]);
    expect(state.isAnnounced('incident-1')).toBe(true);
    expect(state.acceptedBy('property-1')).toEqual({ push_enabled: true });
    expect(state.usageOf('one')).toMatchObject({ months: recordOf(100).months });
  });

  it('takes what waited to be announced when its backup was written as announced', async () => {
    const directory = temporaryFolder();
    const { state: before } = await open(directory);
    before.recordUsage('one', recordOf(1), false);
    await before.recordPending(['incident-1']);
    await before.recordAnnounced(['incident-1']);
    await before.close();
    rmSync(join(directory, 'state.json'));
    const { state } = await open(directory);
    expect([state.isPending('incident-1'), state.isAnnounced('incident-1')]).toEqual([false, true]);
  });

  it('is replaced by its backup where it is gone', async () => {
    const { directory, file } = await left();
    rmSync(file);
    const { state, warnings } = await open(directory);
    expect(warnings()).toEqual([
      `warn: ${file} is missing. ${file}.bak of 2025-01-15T12:00:00.000Z replaces it.`,
    ]);
    expect(state.usageOf('two')).toMatchObject({ months: recordOf(200).months });
  });

  it('begins again if the backup is damaged too, and says what that costs', async () => {
    const { directory, file, backup } = await left();
    for (const each of [file, backup]) writeFileSync(each, '');
    const { state, warnings } = await open(directory);
    expect(warnings()).toEqual([
      `warn: ${file} is damaged. It is kept as ${file}.unreadable. ${backup} is damaged. It is kept as ${backup}.unreadable. Water totals start again with the data that the cloud still has.`,
    ]);
    expect([state.usageRecords().size, state.isIncomplete]).toEqual([0, true]);
  });

  it('is kept aside where it is no file', async () => {
    const directory = temporaryFolder();
    mkdirSync(join(directory, 'state.json'));
    writeFileSync(join(directory, 'state.json', 'inside'), 'kept');
    expect((await open(directory)).state.problem).toBeNull();
    expect(readFileSync(join(directory, 'state.json.unreadable', 'inside'), 'utf8')).toBe('kept');
  });
});

describe('the backup', () => {
  it('holds no session, and is made once a day', async () => {
    const directory = temporaryFolder();
    const { state, clock } = await open(directory);
    const backup = join(directory, 'state.json.bak');
    await state.recordAnnounced(['incident-0']);
    expect(existsSync(backup)).toBe(false);
    state.recordSession({ token: 'token-1', since: 42 });
    const kept = async (liters: number) => {
      state.recordUsage('one', recordOf(liters), false);
      await state.recordAnnounced([`incident of ${liters}`]);
      expect(readFileSync(backup, 'utf8')).not.toContain('token-1');
      return json(backup).usage.one.months['2025-01'].at(-1) / 1_000;
    };
    expect(await kept(100)).toBe(100);
    clock.advance(dayMs - 1);
    expect(await kept(101)).toBe(100);
    clock.advance(1);
    expect(await kept(102)).toBe(102);
  });

  it('that cannot be written costs the file nothing, and is said once', async () => {
    const directory = temporaryFolder();
    const { state, warnings } = await open(directory);
    mkdirSync(join(directory, 'state.json.bak'));
    state.recordUsage('one', recordOf(100), true);
    await state.recordAnnounced(['incident-1']);
    await state.recordAnnounced(['incident-2']);
    expect(warnings()).toEqual([expect.stringMatching(/state\.json\.bak cannot be written: EISDIR/)]);
    expect([state.problem, state.remembersUsage('one')]).toEqual([null, true]);
    expect(json(join(directory, 'state.json')).announced).toEqual(['incident-1', 'incident-2']);
  });
});

it.each([
  ['and shows is newer than what the broker has, whatever the clocks', true, 100_000],
  ['and shows no more is older than what another bridge has counted since', false, 90_000],
])('what this run has read of a valve %s', async (_, isOwnShown, ml) => {
  const { state } = await open(temporaryFolder());
  state.recordUsage('one', recordOf(100), true);
  state.adoptUsage('one', { ...recordOf(90), readAt: Date.UTC(2030, 0) }, isOwnShown);
  expect(state.usageOf('one')?.months['2025-01']?.at(-1)).toBe(ml);
});

describe('a data directory that cannot be used', () => {
  it('is said once, keeps nothing from working, and is used as soon as it can be', async () => {
    const directory = join(temporaryFolder(), 'data');
    writeFileSync(directory, 'a file where the folder should be');
    const { state, clock, warnings } = await open(directory);
    await state.recordAnnounced(['incident-1']);
    await state.recordAnnounced(['incident-2']);
    expect(state.problem).toContain('cannot write to the folder');
    expect(state.isAnnounced('incident-1')).toBe(true);
    expect([state.isIncomplete, warnings().length]).toEqual([true, 1]);
    rmSync(directory);
    clock.advance(60_000);
    await waitFor(() => state.problem === null, { what: 'the folder' });
    expect(json(join(directory, 'state.json')).announced).toEqual(['incident-1', 'incident-2']);
    expect(state.isIncomplete).toBe(false);
  });

  it('costs what was written nothing, and what is new is not remembered', async () => {
    const directory = join(temporaryFolder(), 'data');
    const { state } = await open(directory);
    state.recordUsage('known', recordOf(1), true);
    await state.recordAnnounced(['incident-1']);
    renameSync(directory, `${directory}-away`);
    writeFileSync(directory, 'a file where the folder should be');
    state.recordUsage('new', recordOf(1), true);
    await state.recordAnnounced(['incident-2']);
    expect(['known', 'new'].map((id) => state.remembersUsage(id))).toEqual([true, false]);
  });

  it('is a disk that is mounted late: what an earlier run has kept is put together with what is new', async () => {
    const { directory } = await left();
    const folder = temporaryFolder();
    const [link, mounted] = [join(folder, 'link'), join(folder, 'mounted')];
    symlinkSync(mounted, link);
    const { state, clock } = await open(link);
    state.recordUsage('one', recordOf(150), true);
    // The clock of the earlier run was ahead.
    state.recordUsage('two', recordOf(250), true);
    await state.recordAnnounced(['incident-2']);
    expect(state.problem).not.toBeNull();
    renameSync(directory, mounted);
    clock.advance(60_000);
    await waitFor(() => state.problem === null, { what: 'the disk' });
    expect(state.incidentIds().toSorted()).toEqual(['incident-1', 'incident-2']);
    expect(state.usageOf('one')?.months['2025-01']?.at(-1)).toBe(150_000);
    expect(state.usageOf('two')?.months['2025-01']?.at(-1)).toBe(250_000);
  });

  it('is one that another process uses, which keeps its file', async () => {
    const directory = temporaryFolder();
    const first = await open(directory);
    await first.state.recordAnnounced(['incident-1']);
    const second = await open(directory);
    await second.state.recordAnnounced(['incident-2']);
    expect(second.warnings()).toEqual([
      expect.stringContaining('another sonic2mqtt uses the same folder. Give each its own'),
    ]);
    expect(json(join(directory, 'state.json')).announced).toEqual(['incident-1']);
    await first.state.close();
    second.clock.advance(60_000);
    await waitFor(() => second.state.problem === null, { what: 'the lock' });
    expect(second.state.incidentIds().toSorted()).toEqual(['incident-1', 'incident-2']);
  });

  it('is used all the same where it cannot be locked', async () => {
    const disk = { ...systemDisk, lock: () => Promise.reject(new Error('no sockets here')) };
    expect((await open(temporaryFolder(), { disk })).state.problem).toBeNull();
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
    const state = new StateFile(directory, account, lines.log, clock, disk);
    onTestFinished(() => state.close());
    const opened = state.open();
    await waitFor(() => clock.waiting > 0, { what: 'the write' });
    clock.advance(10_000);
    await opened;
    await state.recordAnnounced(['incident-1']);
    expect(state.problem).toContain('the disk does not answer');
    isHanging = false;
    answer();
    await waitFor(() => state.problem === null, { what: 'the disk' });
    clock.advance(60_000);
    const isWritten = () => json(join(directory, 'state.json')).announced.length > 0;
    await waitFor(isWritten, { what: 'the incident' });
  });
});

describe('a state file that this process has not written', () => {
  it('is added to what this run knows: its disk was mounted after the start', async () => {
    const { directory: mounted } = await left();
    const directory = temporaryFolder();
    const { state, warnings } = await open(directory, { disk: unlocked });
    state.recordUsage('one', recordOf(7), true);
    state.recordDevice('sonic/new');
    await state.recordAnnounced(['incident-2']);
    renameSync(join(mounted, 'state.json'), join(directory, 'state.json'));
    await state.recordAnnounced(['incident-3']);
    const kept = json(join(directory, 'state.json'));
    expect(kept.announced.toSorted()).toEqual(['incident-1', 'incident-2', 'incident-3']);
    expect(kept.session.token).toBe('token-1');
    expect(Object.keys(kept.usage).toSorted()).toEqual(['one', 'two']);
    expect(kept.usage.two).toMatchObject({ months: recordOf(200).months, isWhole: false });
    expect(kept.devices).toEqual(['sonic/new']);
    expect(warnings()).toEqual([
      expect.stringContaining('state.json is not the file that this bridge wrote'),
    ]);
    expect(state.problem).toBeNull();
  });

  it('keeps the larger sum of the two', async () => {
    const directory = temporaryFolder();
    const { state } = await open(directory, { disk: unlocked });
    state.recordUsage('one', recordOf(7), true);
    await state.recordAnnounced([]);
    const file = join(directory, 'state.json');
    const older = { ...recordOf(100), frozenMl: 5_005_535_000 };
    writeFileSync(file, JSON.stringify({ ...json(file), usage: { one: older } }));
    await state.recordAnnounced([]);
    expect(json(file).usage.one.frozenMl).toBe(5_005_535_000);
  });

  it('is of another bridge if it is younger than this run: both say so, and go on', async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const one = await open(directory, { disk: unlocked, clock });
    const two = await open(directory, { disk: unlocked, clock });
    await clock.advance(1_000);
    await two.state.recordAnnounced(['second']);
    await one.state.recordAnnounced(['first']);
    await clock.advance(1_000);
    await two.state.recordAnnounced(['third']);
    for (const { state, warnings } of [one, two]) {
      expect(state.problem).toMatch(
        /^data_dir .*: another sonic2mqtt uses the same folder\. Give each its own$/,
      );
      expect(warnings()).toEqual([expect.stringContaining('another sonic2mqtt uses the same folder')]);
    }
    expect(json(join(directory, 'state.json')).announced.toSorted()).toEqual(['first', 'second', 'third']);
  });

  it('is its own after several writes that failed', async () => {
    const directory = temporaryFolder();
    let isFull = false;
    const write: Disk['write'] = (path, text) =>
      isFull ? Promise.reject(new Error('ENOSPC: no space left')) : systemDisk.write(path, text);
    const clock = new FakeClock();
    await clock.advance(1_000);
    const { state, warnings } = await open(directory, { disk: { ...unlocked, write }, clock });
    await clock.advance(1_000);
    await state.recordAnnounced(['first']);
    isFull = true;
    for (const id of ['second', 'third', 'fourth']) await state.recordAnnounced([id]);
    isFull = false;
    await state.recordAnnounced(['fifth']);
    expect(state.problem).toBeNull();
    expect(warnings()).toEqual([expect.stringContaining('no space left')]);
  });

  it('says whether a pause is on disk, and has it after a restart by both clocks', async () => {
    const directory = temporaryFolder();
    let isFull = false;
    const write: Disk['write'] = (path, text) =>
      isFull ? Promise.reject(new Error('ENOSPC: no space left')) : systemDisk.write(path, text);
    const clock = new FakeClock();
    const disk = { ...unlocked, write };
    const { state } = await open(directory, { disk, clock });
    expect([state.arePausesKnown, state.pauses.size]).toEqual([true, 0]);
    const until = clock.now() + 3_600_000;
    const pause = { until, endsAt: clock.monotonic() + 3_600_000, isOver: false };
    expect(await state.recordPause('home', pause)).toBe(true);
    state.recordUsage('one', recordOf(100), true);
    isFull = true;
    expect(await state.recordPause('away', pause)).toBe(false);
    isFull = false;
    expect(await state.recordPause('away', null)).toBe(true);
    await clock.advance(600_000);
    await state.recordAnnounced(['incident-1']);
    await clock.advance(60_000);
    // A pause of yesterday must not be ended again.
    expect(json(join(directory, 'state.json.bak'))).toMatchObject({ usage: { one: {} } });
    expect(json(join(directory, 'state.json.bak')).pauses).toEqual({});
    const { state: next } = await open(directory, { disk, clock });
    // The last time that it was written is the last that is known of the clock that goes on.
    expect([...next.pauses]).toEqual([
      ['home', { until, endsAt: clock.monotonic() + 3_000_000, isOver: false }],
    ]);
  });

  it('ends a pause if the clock is behind the file, and brings none back that was over in this run', async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const { state } = await open(directory, { disk: unlocked, clock });
    const pause = { until: clock.now() + 3_600_000, endsAt: clock.monotonic() + 3_600_000, isOver: false };
    await state.recordPause('home', pause);
    const file = join(directory, 'state.json');
    const kept = json(file);
    await state.recordPause('home', null);
    writeFileSync(file, JSON.stringify(kept));
    await state.recordAnnounced([]);
    expect(state.pauses.size).toBe(0);
    writeFileSync(file, JSON.stringify({ ...kept, writtenAt: new Date(clock.now() + 60_000).toISOString() }));
    const { state: next } = await open(directory, { disk: unlocked, clock });
    expect(next.pauses.get('home')?.endsAt).toBe(clock.monotonic());
  });

  it('is written where a symbolic link leads, also if there is nothing yet', async () => {
    const directory = temporaryFolder();
    const target = join(temporaryFolder(), 'kept.json');
    symlinkSync(target, join(directory, 'state.json'));
    const first = await open(directory, { disk: unlocked });
    await first.state.recordAnnounced(['incident-1']);
    expect(json(target).announced).toEqual(['incident-1']);
    writeFileSync(target, '{');
    const { state } = await open(directory, { disk: unlocked });
    await state.recordAnnounced(['incident-2']);
    expect(json(target).announced).toEqual(['incident-2']);
    expect(lstatSync(join(directory, 'state.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(directory, 'state.json.unreadable'), 'utf8')).toBe('{');
  });

  it('is not guarded where no lock is possible, and the log and the health say so', async () => {
    const lock = () => Promise.reject(new Error('EOPNOTSUPP: operation not supported, listen'));
    const { state, warnings } = await open(temporaryFolder(), { disk: { ...systemDisk, lock } });
    expect(state.lockProblem).toMatch(/^data_dir .* cannot be locked \(.*\)\. Make sure that no other/);
    expect([state.problem, warnings()]).toEqual([null, [expect.stringContaining('cannot be locked')]]);
  });
});
