import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type UsageRecord, usageOn, withReading } from '../../../src/model/usage.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };

/** What is known of a sonic that has used so many litres last month and this. */
function recordOf(present: string, previous: string, lastLitres: number, litres: number): UsageRecord {
  const readAt = Date.parse(`${present}-15T12:00:00Z`);
  const reading = (month: string, liters: number) => ({
    month,
    daily: [{ date: `${month}-01`, liters }],
    presentMonth: present,
    readAt,
  });
  return withReading(withReading(null, reading(previous, lastLitres)), reading(present, litres));
}

const totalOf = (record: UsageRecord | null) =>
  record && usageOn({ date: '2025-05-20', startedAt: '2025-05-20T00:00:00+00:00' }, record, false).totalL;

async function start(directory: string, index = 0, count = 2) {
  const lines = logLines();
  const ledger = new Ledger(directory, account, lines.log, new FakeClock(), undefined, { index, count });
  await ledger.open();
  return { ledger, lines };
}

describe('bridges that share a folder', () => {
  it('keep to a file each, with a session each', async () => {
    const directory = temporaryFolder();
    const bridges = [await start(directory), await start(directory, 1)];
    for (const [index, { ledger }] of bridges.entries()) {
      ledger.saveSession({ token: `token-${index}`, since: 1 });
      ledger.keepUsage(`sonic-${index}`, recordOf('2025-05', '2025-04', 10, 1), true);
      await ledger.flush();
    }
    expect(readdirSync(directory).filter((name) => name.endsWith('.json'))).toEqual([
      'ledger_0.json',
      'ledger_1.json',
    ]);
    const again = await start(directory, 1);
    expect(again.ledger.loadSession()?.token).toBe('token-1');
    expect(again.ledger.problem).toBeNull();
    expect(
      [...bridges, again].flatMap(({ lines }) => lines.messages.filter((each) => /^warn/.test(each))),
    ).toEqual([]);
  });

  it('take over what others have read and announced, from before the account was shared too', async () => {
    const directory = temporaryFolder();
    const alone = await start(directory, 0, 1);
    alone.ledger.keepUsage('one', recordOf('2025-04', '2025-03', 100, 20), true);
    await alone.ledger.noteAnnounced(['incident-1']);
    await alone.ledger.flush();
    const { ledger } = await start(directory, 1);
    expect(totalOf(ledger.usageOf('one'))).toBe(120);
    expect(ledger.hasAnnounced('incident-1')).toBe(true);
    ledger.keepUsage(
      'one',
      withReading(ledger.usageOf('one'), {
        month: '2025-05',
        daily: [{ date: '2025-05-01', liters: 5 }],
        presentMonth: '2025-05',
        readAt: Date.parse('2025-05-15'),
      }),
      true,
    );
    await ledger.flush();
    // Back again: the newer one counts, and the older one takes nothing away.
    const back = await start(directory, 0, 1);
    expect(totalOf(back.ledger.usageOf('one'))).toBe(125);
    expect(totalOf((await start(directory, 1)).ledger.usageOf('one'))).toBe(125);
  });

  it('take over while they run what another has read meanwhile, and not yet shown in full', async () => {
    const directory = temporaryFolder();
    const [here, there] = [await start(directory), await start(directory, 1)];
    there.ledger.keepUsage('one', recordOf('2025-05', '2025-04', 100, 20), true);
    await there.ledger.noteAnnounced([]);
    expect(here.ledger.usageOf('one')).toBeNull();
    const looking = here.ledger.lookAround();
    expect(here.ledger.looking).not.toBeNull();
    await looking;
    expect(here.ledger.looking).toBeNull();
    expect(here.ledger.usageOf('one')?.months['2025-05']).toEqual([20_000]);
    // The other runs on: what it has shown since is not known.
    expect(totalOf(here.ledger.usageOf('one'))).toBeNull();
  });

  it('do not hand back to one another what was forgotten: an incident that opens again is announced again', async () => {
    const directory = temporaryFolder();
    const [here, there] = [await start(directory), await start(directory, 1)];
    await there.ledger.noteAnnounced(['incident-1']);
    await here.ledger.lookAround();
    await here.ledger.flush();
    there.ledger.forgetAnnounced('incident-1');
    await there.ledger.flush();
    await there.ledger.lookAround();
    expect(there.ledger.hasAnnounced('incident-1')).toBe(false);
    await here.ledger.lookAround();
    expect(here.ledger.announced()).toEqual([]);
  });

  it('do not take again what they have forgotten, where a file that nobody writes any more still names it', async () => {
    const directory = temporaryFolder();
    const alone = await start(directory, 0, 1);
    await alone.ledger.noteAnnounced(['incident-1']);
    const { ledger } = await start(directory, 1);
    await ledger.adoptAnnounced('incident-1');
    ledger.forgetAnnounced('incident-1');
    await ledger.lookAround();
    expect(ledger.hasAnnounced('incident-1')).toBe(false);
  });

  it('keep what another has announced and is theirs now, and nothing else of it', async () => {
    const directory = temporaryFolder();
    const alone = await start(directory, 0, 1);
    await alone.ledger.noteAnnounced(['incident-1', 'incident-2']);
    const { ledger } = await start(directory, 1);
    await ledger.adoptAnnounced('incident-1');
    await ledger.adoptAnnounced('news');
    rmSync(join(directory, 'ledger.json'));
    await ledger.lookAround();
    expect(ledger.announced()).toEqual(['incident-1']);
    expect((await start(directory, 1)).ledger.announced()).toEqual(['incident-1']);
  });

  it('say of a file of another that cannot be read that nothing is taken over, and leave it alone', async () => {
    const directory = temporaryFolder();
    const path = join(directory, 'ledger_1.json');
    writeFileSync(path, 'garbage');
    writeFileSync(join(directory, 'ledger_backup.json'), 'not one of them');
    const { lines } = await start(directory);
    expect(lines.messages.filter((each) => /^warn/.test(each))).toEqual([
      `warn: ${path}, of another bridge, is not readable: what it holds is not taken over`,
    ]);
    expect(readFileSync(path, 'utf8')).toBe('garbage');
  });
});
