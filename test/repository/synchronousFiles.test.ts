import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** Where the whole process may stand still for a disk that hangs, and why that does no harm to a running bridge. */
const allowed: Readonly<Record<string, string>> = {
  'base/logOutput.ts': 'opens a device, once at the start',
  'config/app.ts': 'read at the start',
  'config/checks.ts': 'read at the start',
  'config/file.ts': 'the functions for the start',
  'config/load.ts': 'read at the start',
  'config/rereadFiles.ts': 'the first read, at the start',
  'config/secrets.ts': 'read at the start',
  'daemon.ts': 'secrets of servers, read as these start',
};

/** A person waits for a command. */
const isOfCommand = (file: string) => file.startsWith('cli/');
const inMemory = ['gzipSync', 'gunzipSync'];

/** The calls in a text that wait for the disk: those of Node.js, and ours that make them. */
const synchronousCalls = (text: string) =>
  [...text.matchAll(/\b(\w+Sync|readSecret|readTextFile|readBytes)\(/g)]
    .map(([, name = '']) => name)
    .filter((name) => !inMemory.includes(name));

it('files are read and written synchronously only at the start and in commands', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !isOfCommand(file))
    .filter((file) => synchronousCalls(readFileSync(`${source}${file}`, 'utf8')).length > 0);
  expect(files.toSorted()).toEqual(Object.keys(allowed));
});

it.each([
  ["statSync('x')", ['statSync']],
  ["const { password } = { password: readSecret(cloud, 'password') }", ['readSecret']],
  ["await readFile('x')", []],
  ['gzipSync(text)', []],
])('in %s, the synchronous calls are %j', (text, calls) => {
  expect(synchronousCalls(text)).toEqual(calls);
});
