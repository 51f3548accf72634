import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { fault } from '../support/bridge.ts';
import { runBuilt, runProgram, startCallableCloud } from '../support/callProgram.ts';
import { startProcess } from '../support/childProcess.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const { call, config, simulator } = await startCallableCloud({ sonics: 25 });
const [sonic = ''] = simulator.world.sonics.ids;
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const close = ['command_valve', '--sonic-id', sonic, '--body', '{"action":"close"}'];

/** Runs a shell script in which `"$0" "$1"` is the program. */
function startShell(script: string) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'config.yaml'), stringify(config));
  return startProcess('sh', ['-c', script, process.execPath, main], { cwd });
}

afterEach(() => simulator.setFaults([]));

describe('sonic2mqtt call', () => {
  it('prints the answer of the cloud in one line, in a session of its own', async () => {
    const { requests } = simulator;
    expect(await call(['list_sonics', '--name', 'Kitchen'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^[^\n]+\n$/),
      stderr: '',
    });
    const change = ['update_sonic', '--sonic-id', sonic, '--body', '{"name":"Mains “ä”"}'];
    const { code, stdout } = await call(change);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { id: sonic, name: 'Mains “ä”' }]);
    expect([requests.count('sign_in'), requests.count('sign_out')]).toEqual([2, 2]);
    expect(readdirSync(String(config['data_dir']))).toEqual([]);
  });

  it('prints all pages of a list as one with --all-pages, or nothing if one is missing', async () => {
    const { code, stdout } = await call(['list_sonics', '--all-pages']);
    const { data, ...rest } = JSON.parse(stdout);
    expect([code, rest]).toEqual([0, { page_number: 1, page_size: 25, total_entries: 25, total_pages: 1 }]);
    expect(data.map(({ id }: { id: string }) => id)).toEqual(simulator.world.sonics.ids);
    simulator.setFaults([fault('missing-page=2')]);
    expect(await call(['list_sonics', '--all-pages'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/list_sonics: the list is incomplete: page 2 could not be read: .* 500 /),
    });
  });

  it('ends with 0 if the reader of its output goes away', async () => {
    const shell = startShell('{ "$0" "$1" call list_sonics --all-pages; echo "$?" >&2; } | head -c 8');
    await shell.ended();
    expect({ stdout: shell.stdout, stderr: shell.stderr }).toEqual({ stdout: '{"data":', stderr: '0\n' });
  });

  it('reads a body from standard input, so that a password is in no list of processes', async () => {
    const shell = startShell(
      `printf '%s' '${JSON.stringify(demoCredentials)}' | "$0" "$1" call sign_in --body -`,
    );
    expect(await shell.ended()).toMatchObject({ code: 0 });
    expect(JSON.parse(shell.stdout)).toHaveProperty('token_details');
  });

  it('uses the session of an earlier sign_in with --token-file, as it is, and ends it only if it is told to', async () => {
    const { requests } = simulator;
    const folder = temporaryFolder();
    const session = join(folder, 'session.json');
    const signedIn = await call(['sign_in', '--body', JSON.stringify(demoCredentials)]);
    writeFileSync(session, signedIn.stdout);
    const { token_details: token } = JSON.parse(signedIn.stdout);
    const counts = () =>
      (['sign_in', 'refresh_token', 'sign_out'] as const).map((name) => requests.count(name));
    const before = counts();
    const validated = await call(['validate_token', '--token-file', session]);
    expect([validated.code, JSON.parse(validated.stdout).token_details]).toEqual([0, token]);
    const bare = join(folder, 'token');
    writeFileSync(bare, `${token}\n`);
    expect(await call(['list_sonics', '--all-pages', '--token-file', bare])).toMatchObject({ code: 0 });
    const shell = startShell(
      `printf '%s' '${token}' | "$0" "$1" call read_appliance_categories --token-file -`,
    );
    expect(await shell.ended()).toMatchObject({ code: 0 });
    expect(counts()).toEqual(before);
    const renewed = await call(['refresh_token', '--token-file', session]);
    writeFileSync(session, renewed.stdout);
    expect(JSON.parse(renewed.stdout).token_details).not.toBe(token);
    expect(await call(['validate_token', '--token-file', session])).toMatchObject({ code: 0 });
    expect(await call(['sign_out', '--token-file', session])).toMatchObject({
      code: 0,
      stdout: '{"success":true}\n',
    });
    // It is not renewed either, since that would end the session of its owner.
    const afterwards = counts();
    const dead = await call(['list_sonics', '--token-file', session]);
    expect(dead).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('401') });
    expect(dead.stderr).not.toContain(JSON.parse(renewed.stdout).token_details);
    expect(counts()).toEqual(afterwards);
  });

  it('ends no session whose token it prints', async () => {
    for (const name of ['validate_token', 'refresh_token']) {
      const { stdout } = await call([name]);
      const session = join(temporaryFolder(), 'session.json');
      writeFileSync(session, stdout);
      expect(await call(['validate_token', '--token-file', session])).toMatchObject({ code: 0 });
    }
  });

  it('says what is wrong with a file of a token', async () => {
    const file = join(temporaryFolder(), 'session.json');
    for (const [content, words] of [
      ['{"user_details":{}}', '--token-file has no token. Use what call sign_in prints'],
      ['two words', '--token-file has no token'],
    ] as const) {
      writeFileSync(file, content);
      const run = await call(['list_sonics', '--token-file', file]);
      expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
    }
    const missing = await call(['list_sonics', '--token-file', join(file, 'x')]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('--token-file cannot read') });
  });

  it('explains a wrong line, sends nothing and ends with 2', async () => {
    const before = simulator.requests.count();
    expect(await call(['sign_in', '--body', '{"password":hunter42}'])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^(?![\s\S]*hunter42).*--body is not JSON$/m),
    });
    expect(await call(['list_incidents', '--opne'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown option '--opne'. Did you mean --open?"),
    });
    expect(simulator.requests.count()).toBe(before);
  });

  it('ends with 1 and the reason if the cloud rejects the request', async () => {
    expect(await call(['read_sonic', '--sonic-id', 'nobody'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sonic2mqtt: read_sonic: the cloud answered 404 (not found)\n',
    });
  });

  it('ends with 3 if the cloud rejects the credentials, which it does not print at any log level', async () => {
    const body = JSON.stringify({ email: demoCredentials.email, password: 'hunter42' });
    for (const run of [
      await call(['list_sonics'], { password: 'hunter42' }),
      await runBuilt(['call', 'sign_in', '--body', body, '--log-level', 'trace'], { config }),
    ]) {
      expect(run).toMatchObject({ code: 3, stdout: '' });
      expect(run.stderr).toContain('rejects the e-mail or the password (status 401)');
      expect(run.stderr).not.toContain('hunter42');
    }
  });

  it('sends a change once if the cloud does not answer, and says that it may have been made', async () => {
    simulator.setFaults([fault('hang@command_valve')]);
    const { code, stderr } = await call(close, { request_timeout: '500ms' });
    expect([code, simulator.requests.count('command_valve')]).toEqual([1, 1]);
    expect(stderr).toMatch(/^sonic2mqtt: command_valve: timeout: .*\. The cloud may have executed it/);
  });

  it('signs out and ends with 1 if it is interrupted', async () => {
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

  it('moves a valve that control keeps from MQTT: it is the shell of the owner', async () => {
    const owners = { ...config, control: { valves: false } };
    expect(await runProgram(['call', ...close], { config: owners })).toMatchObject({
      code: 0,
      stdout: 'null\n',
    });
    // How far it has come depends on how fast this machine is.
    expect(simulator.world.sonics.get(sonic)?.valve_state).toMatch(/clos/);
  });
});
