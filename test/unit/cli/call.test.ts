import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../src/cloud/fields.ts';
import { operationNames, operationRow, paramNames } from '../../../src/cloud/operations.ts';
import { demoCredentials } from '../../../src/simulator/simulator.ts';
import { fault } from '../../support/bridge.ts';
import { runProgram, startCallableCloud } from '../../support/callProgram.ts';
import { temporaryFolder } from '../../support/program.ts';

const { call, config, simulator } = await startCallableCloud({ sonics: 25 });
const { requests } = simulator;
const [sonic = '', other = ''] = simulator.world.sonics.ids;
const close = ['command_valve', json({ params: { sonic_id: sonic }, body: { action: 'close' } })];
const signIn = ['sign_in', json({ body: demoCredentials })];

function json(value: object): string {
  return JSON.stringify(value);
}

afterEach(() => simulator.setFaults([]));

describe('a command line of call', () => {
  const valve = '"params":{"sonic_id":"x"}';
  it.each([
    [[], 'the operation is missing'],
    [['constructor'], "unknown operation 'constructor'"],
    [['list_incidents', '--open', 'true'], "unknown option '--open'"],
    [['list_incidents', '{"query":'], 'list_incidents: the payload is not JSON'],
    [['list_incidents', '{"qeury":{}}'], 'list_incidents: qeury is unknown. Did you mean query?'],
    [['list_incidents', '{"query":{"open":"yes"}}'], 'list_incidents: query.open must be true or false'],
    [['list_incidents', '{"body":{}}'], 'list_incidents: body is not allowed for this operation'],
    [['read_sonic'], 'read_sonic: params.sonic_id is missing'],
    [['read_sonic', '{"params":{"sonic_id":"../x"}}'], 'read_sonic: params.sonic_id must be an ID'],
    [['command_valve', `{${valve}}`], 'command_valve: body is missing. An empty one is "body":{}'],
    [['command_valve', `{${valve},"body":[]}`], 'command_valve: body must be an object'],
    [
      ['command_valve', `{${valve},"body":null}`],
      'command_valve: body is missing. An empty one is "body":{}',
    ],
    [['command_valve', `{${valve},"body":{}}`], 'command_valve: body.action is missing'],
    [
      ['command_valve', `{${valve},"body":{"action":"opne"}}`],
      'command_valve: body.action must be one of open, close. Did you mean open?',
    ],
    [['sign_in'], 'sign_in: body is missing'],
    [['validate_token', '-', '--token-file', '-'], 'only one of JSON and --token-file can be standard input'],
  ])('%j is bad usage, and names the field', async (words, expected) => {
    const before = requests.count();
    const { code, stdout, stderr } = await call(words);
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', `sonic2mqtt: ${expected}`]);
    expect(requests.count()).toBe(before);
  });

  it('changes nothing without a body', async () => {
    for (const name of operationNames) {
      const row = operationRow(name);
      if (!row.body || name === 'refresh_token') continue;
      const params = Object.fromEntries(paramNames(row.path).map((each) => [each, 'x']));
      const { code, stderr } = await call([name, json({ params })]);
      expect([code, stderr], name).toEqual([2, expect.stringContaining(`${name}: body is missing`)]);
    }
    const empty = await call(['start_pressure_test', json({ params: { thing_id: other }, body: {} })]);
    expect(empty).toMatchObject({ code: 0 });
  });

  it('never repeats the values of a body, which may be passwords', async () => {
    for (const text of ['{"body":{"email":"mine","password":["hunter42"]}}', '{"password":hunter42}'])
      expect((await call(['sign_in', text])).stderr).not.toMatch(/hunter/);
  });
});

describe('call --list', () => {
  it('has each operation with its route and all that it takes, and marks what is required', async () => {
    const { code, stdout } = await runProgram(['call', '--list']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      [
        '\n\nact_on_property_incident        5  assumed',
        '    PUT /iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
        '    params: property_id*, incident_id*',
        '    body*: action, …\n\n',
      ].join('\n'),
    );
    for (const name of operationNames) {
      const { method, path, query, body } = operationRow(name);
      const block = stdout.split('\n\n').find((each) => each.startsWith(`${name} `)) ?? '';
      const fields = [query, body].flatMap((schema) => fieldsOf(schema).fields.map((field) => field.name));
      expect(block).toContain(`${method} ${path}`);
      expect(block.split(/[\s,*:]+/)).toEqual(expect.arrayContaining([...paramNames(path), ...fields]));
    }
  });
});

describe('a call', () => {
  it('prints the answer of the cloud in one line, in a session of its own', async () => {
    expect(await call(['list_sonics', '{"query":{"name":"Kitchen"}}'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^[^\n]+\n$/),
      stderr: '',
    });
    const counts = () => [requests.count('sign_in'), requests.count('sign_out')];
    const [signedIn = 0, signedOut = 0] = counts();
    const change = { params: { sonic_id: sonic }, body: { name: 'Mains “ä”' }, transaction: 7 };
    const { code, stdout } = await call(['update_sonic', json(change)]);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { id: sonic, name: 'Mains “ä”' }]);
    expect(counts()).toEqual([signedIn + 1, signedOut + 1]);
    expect(readdirSync(String(config['data_dir']))).toEqual([]);
  });

  it('uses the session of an earlier sign_in with --token-file, as it is, and ends it only if it is told to', async () => {
    const folder = temporaryFolder();
    const session = join(folder, 'session.json');
    const signedIn = await call(signIn);
    writeFileSync(session, signedIn.stdout);
    const { token_details: token } = JSON.parse(signedIn.stdout);
    const counts = () =>
      (['sign_in', 'refresh_token', 'sign_out'] as const).map((name) => requests.count(name));
    const before = counts();
    const validated = await call(['validate_token', '--token-file', session]);
    expect([validated.code, JSON.parse(validated.stdout).token_details]).toEqual([0, token]);
    const bare = join(folder, 'token');
    writeFileSync(bare, `${token}\n`);
    expect(await call(['list_sonics', '--token-file', bare])).toMatchObject({ code: 0 });
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

  it('ends with 1 and the reason if the cloud rejects the request', async () => {
    expect(await call(['read_sonic', '{"params":{"sonic_id":"nobody"}}'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sonic2mqtt: read_sonic: the cloud answered 404 (not found)\n',
    });
  });

  it('ends with 3 if the cloud rejects the credentials, which it does not print', async () => {
    const wrong = json({ body: { ...demoCredentials, password: 'hunter42' } });
    for (const run of [
      await call(['list_sonics'], { password: 'hunter42' }),
      await call(['sign_in', wrong, '--log-level', 'trace']),
    ]) {
      expect(run).toMatchObject({ code: 3, stdout: '' });
      expect(run.stderr).toContain('rejects the e-mail or the password (status 401)');
      expect(run.stderr).not.toContain('hunter42');
    }
  });

  it('sends a change once if the cloud does not answer, and says that it may have been made', async () => {
    simulator.setFaults([fault('hang@command_valve')]);
    const { code, stderr } = await call(close, { request_timeout: '500ms' });
    expect([code, requests.count('command_valve')]).toEqual([1, 1]);
    expect(stderr).toMatch(/^sonic2mqtt: command_valve: timeout: .*\. The cloud may have executed it/);
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
