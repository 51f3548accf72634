import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog, Secrets } from '../../../src/base/log.ts';
import { Ledger } from '../../../src/bridge/ledger.ts';
import { temporaryFolder } from '../../support/program.ts';

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
      expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ session: null, announced: [] });
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

    const { rmSync } = await import('node:fs');
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
