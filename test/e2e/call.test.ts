import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { fault } from '../support/bridge.ts';
import { startCallableCloud } from '../support/callProgram.ts';
import { startProcess } from '../support/childProcess.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const { config, simulator } = await startCallableCloud({ sonics: 25 });
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Runs a shell script in which `"$0" "$1"` is the program. */
function startShell(script: string) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'config.yaml'), stringify(config));
  return startProcess('sh', ['-c', script, process.execPath, main], { cwd });
}

it('call ends with 0 if the reader of its output goes away', async () => {
  const shell = startShell('{ "$0" "$1" call list_sonics; echo "$?" >&2; } | head -c 8');
  await shell.ended();
  expect({ stdout: shell.stdout, stderr: shell.stderr }).toEqual({ stdout: '{"data":', stderr: '0\n' });
});

it('call reads its JSON or its token from standard input, so that a password is in no list of processes', async () => {
  const request = JSON.stringify({ body: demoCredentials });
  const shell = startShell(
    `printf '%s' '${request}' | "$0" "$1" call sign_in - | "$0" "$1" call validate_token --token-file -`,
  );
  expect(await shell.ended()).toMatchObject({ code: 0 });
  expect(JSON.parse(shell.stdout)).toHaveProperty('token_details');
});

it('call signs out and ends with 1 if it is interrupted', async () => {
  simulator.setFaults([fault('hang@list_sonics')]);
  const before = simulator.requests.count('sign_out');
  const calling = startProgram(['call', 'list_sonics'], { config });
  await waitFor(() => calling.isRunning && simulator.requests.entries.at(-1)?.operation === 'list_sonics', {
    what: 'the request',
  });
  expect(await calling.stop('SIGINT')).toMatchObject({ code: 1 });
  expect([calling.stdout, calling.stderr]).toEqual(['', 'sonic2mqtt: list_sonics: interrupted\n']);
  expect(simulator.requests.count('sign_out')).toBe(before + 1);
});
