import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { rereadFiles } from '../../../src/config/rereadFiles.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { temporaryFolder } from '../../support/program.ts';

let file: string;
let clock: FakeClock;
let readFiles: ReturnType<typeof rereadFiles>;
const read = async () => (await readFiles()).get(file)?.toString();

beforeEach(() => {
  file = join(temporaryFolder(), 'secret');
  writeFileSync(file, 'first');
  clock = new FakeClock();
  readFiles = rereadFiles([file, null], clock);
});

it('has what the file contains now, and leaves no timer', async () => {
  expect(await read()).toBe('first');
  writeFileSync(file, 'second');
  expect(await read()).toBe('second');
  expect(clock.waiting).toBe(0);
});

it('has what the file had while it is empty or missing', async () => {
  writeFileSync(file, '');
  expect(await read()).toBe('first');
  rmSync(file);
  expect(await read()).toBe('first');
});

// A pipe that nobody writes to is like a disk that hangs.
it.skipIf(process.platform === 'win32')(
  'waits a second for a disk that hangs, with one read at a time',
  async () => {
    rmSync(file);
    execFileSync('mkfifo', [file]);
    const waiting = [read(), read()];
    clock.advance(1_000);
    expect(await Promise.all(waiting)).toEqual(['first', 'first']);
    const another = read();
    const writer = openSync(file, constants.O_WRONLY);
    writeSync(writer, 'second');
    closeSync(writer);
    expect(await another).toBe('second');
  },
);

it('must be readable at the start', () => {
  rmSync(file);
  expect(() => rereadFiles([file], clock)).toThrow(/^cannot read .*secret: there is no such file$/);
});
