import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { readEnvelope } from '../../src/cloud/decoders.ts';
import { type Call, type OperationName, operationNames, operationRow } from '../../src/cloud/operations.ts';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import type { World } from '../../src/simulator/world.ts';
import {
  type CallableCloud,
  type Run,
  runProgram,
  startCallableCloud,
  withEach,
} from '../support/callProgram.ts';
import { startProcess } from '../support/childProcess.ts';
import { startCloudStub, stubEmail } from '../support/cloudStub.ts';
import { CloudVisitor } from '../support/cloudVisitor.ts';
import { fault } from '../support/house.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

type Samples = { readonly [Name in OperationName]: Omit<Call<Name>, 'operation'> };

/** A good call of every operation, in a world that has what it is about; one without a sample does not compile. */
function samplesOf(world: World): Samples {
  const [property_id = ''] = world.properties.ids;
  const [signal_id = ''] = world.signals.ids;
  const [sonic_id = '', moved = '', tested = ''] = world.sonics.ids;
  const [wifiSonicId = ''] = world.wifiSonics.ids;
  const [user_id = ''] = world.users.ids;
  const incidentAt = (sonicId: string) => world.openIncident({ type: 'long_flow_alert', sonicId }).id;
  const incident_id = incidentAt(sonic_id);
  const property = { params: { property_id } };
  const signal = { params: { signal_id } };
  const sonic = { params: { sonic_id } };
  const wifiSonic = { params: { sonic_id: wifiSonicId } };
  return {
    sign_in: { body: { ...demoCredentials } },
    refresh_token: { body: {} },
    validate_token: {},
    sign_out: {},
    list_incidents: { query: { type: 'long_flow_alert', open: true, page: 1 } },
    read_incident: { params: { incident_id } },
    act_on_incident: { params: { incident_id: incidentAt(sonic_id) }, body: { action: 'snooze' } },
    list_property_incidents: { ...property, query: { open: true } },
    act_on_property_incident: {
      params: { property_id, incident_id: incidentAt(sonic_id) },
      body: { action: 'snooze', reason: 'away' },
    },
    list_properties: { query: { membership_role: 'owner', search: '' } },
    read_property: property,
    update_property: { ...property, body: { city: 'Sampleton', lat: 1.5 } },
    patch_property: { ...property, body: { postcode: 'AB1 2CD' } },
    read_notification_settings: property,
    update_notification_settings: { ...property, body: { high_humidity: true } },
    read_property_settings: property,
    update_property_settings: { ...property, body: { pressure_tests_schedule: '03:00:00' } },
    list_property_signals: { ...property, query: { page: 1 } },
    list_signals: { query: { name: '' } },
    read_signal: signal,
    update_signal: { ...signal, body: { name: 'Hall' } },
    patch_signal: { ...signal, body: { name: 'Attic' } },
    list_signal_sonics: { ...signal, query: {} },
    list_sonics: {},
    read_sonic: sonic,
    update_sonic: { ...sonic, body: { name: 'Mains “ä”' } },
    patch_sonic: { ...sonic, body: { name: "Grandma's" } },
    command_valve: { ...sonic, body: { action: 'close' } },
    change_thing_state: { params: { thing_id: moved }, body: { action: 'close' } },
    create_property: { body: { name: 'Cottage', colour: 'blue' } },
    update_customer_property: { ...property, body: { name: 'Villa' } },
    update_property_configuration: { ...property, body: { leak_protection_enabled: true } },
    update_user: { params: { user_id }, body: { first_name: 'Ada', last_name: 'Byron' } },
    create_invitation: { ...property, body: { email: 'guest@example.com', role: 'guest' } },
    update_customer_notifications: { ...property, body: { push_enabled: false } },
    start_pressure_test: { params: { thing_id: tested }, body: { source: 'app' } },
    read_pressure_tests: { params: { thing_id: sonic_id } },
    read_daily_usage: { params: { thing_id: sonic_id }, query: { month: 2, year: 2026 } },
    read_appliance_categories: {},
    read_hub: { params: { hub_id: signal_id } },
    read_user: { params: { user_id } },
    read_telemetry: sonic,
    list_wifi_sonics: { query: {} },
    read_wifi_sonic: wifiSonic,
    update_wifi_sonic: { ...wifiSonic, body: { name: 'Barn' } },
    patch_wifi_sonic: { ...wifiSonic, body: { name: 'Barn' } },
    command_wifi_valve: { ...wifiSonic, body: { action: 'close' } },
    read_wifi_telemetry: wifiSonic,
  };
}

/** The parts of a sample, whatever its operation. */
interface Parts {
  readonly params?: object;
  readonly query?: object | undefined;
  readonly body?: object;
}

/** What somebody types for a sample. */
function wordsOf(name: OperationName, { params, query, body }: Parts): string[] {
  const options = Object.entries({ ...params, ...query });
  return [
    name,
    ...options.flatMap(([field, value]) => [`--${field.replaceAll('_', '-')}`, String(value)]),
    ...(body ? ['--body', JSON.stringify(body)] : []),
  ];
}

/** The request that a sample is to become. */
function requestOf(name: OperationName, { params = {}, query = {}, body }: Parts) {
  const { method, path } = operationRow(name);
  const search = new URLSearchParams();
  for (const [field, value] of Object.entries(query)) search.set(field, String(value));
  const ids = new Map(Object.entries(params));
  const filled = path.replace(/\{(\w+)\}/g, (_, param: string) => String(ids.get(param)));
  const target = search.size > 0 ? `${filled}?${search}` : filled;
  return { operation: name, method, path: target, body: body ?? null, status: 200 };
}

describe('every operation of the catalogue', () => {
  let cloud: CallableCloud;
  let samples: Samples;
  let runs: ReadonlyMap<OperationName, Run>;

  beforeAll(async () => {
    cloud = await startCallableCloud({ properties: 2, signals: 3, sonics: 4, wifiSonics: 1 });
    samples = samplesOf(cloud.simulator.world);
    const ran = await withEach(operationNames, async (name) => {
      return [name, await cloud.call(wordsOf(name, samples[name]))] as const;
    });
    runs = new Map(ran);
  }, 180_000);
  afterAll(() => cloud.simulator.stop());

  it.each(operationNames)('%s is called, and its answer is printed', (name) => {
    const run = runs.get(name);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const requested = cloud.simulator.requests.entries.filter(({ operation }) => operation === name);
    expect(requested).toContainEqual(expect.objectContaining(requestOf(name, samples[name])));

    expect(run?.stdout).toMatch(/^[^\n]+\n$/);
    const answer: unknown = JSON.parse(run?.stdout ?? '');
    const { reply } = operationRow(name);
    if (reply.kind !== 'page') {
      const isEmpty = reply.kind === 'acknowledgement' && answer === null;
      if (!isEmpty) expect(reply.decode(answer)).toMatchObject({ ok: true, notices: [], value: answer });
      return;
    }
    const envelope = readEnvelope(answer);
    expect(envelope).toEqual({ ok: true, notices: [], value: answer });
    const records = envelope.ok ? envelope.value.data : [];
    expect(records.length).toBeGreaterThan(0);
    for (const record of records)
      expect(reply.decode(record)).toEqual({ ok: true, notices: [], value: record });
  });

  it('has a session of its own, which is signed out again; but what sign_in opens stays open', async () => {
    const { requests } = cloud.simulator;
    expect(requests.count('sign_in')).toBe(operationNames.length);
    expect(requests.count('sign_out')).toBe(operationNames.length - 1);
    expect(readdirSync(String(cloud.config['data_dir']))).toEqual([]);
    const tokens = new Map(
      (['sign_in', 'refresh_token', 'validate_token'] as const).map((name) => {
        return [name, JSON.parse(runs.get(name)?.stdout ?? '').token_details as string];
      }),
    );
    const visitor = new CloudVisitor(cloud.simulator);
    const answerTo = async (token = '') =>
      (await visitor.ask('GET', '/user-service/auth/validate_token', { token })).status;
    expect(await answerTo(tokens.get('sign_in'))).toBe(200);
    expect(await answerTo(tokens.get('refresh_token'))).toBe(401);
    expect(await answerTo(tokens.get('validate_token'))).toBe(401);
  });
});

describe('a wrong command line', () => {
  const explained: readonly (readonly [words: string[], explanation: string])[] = [
    [[], 'sonic2mqtt: call: which operation?\nSee sonic2mqtt call --list\n'],
    [['list_incident', '--help'], 'there is no operation list_incident; did you mean list_incidents?'],
    [['read_sonic'], 'sonic2mqtt: read_sonic: --sonic-id is missing\nSee sonic2mqtt call read_sonic --help'],
    [['list_incidents', '--opne'], 'list_incidents: there is no option --opne; did you mean --open?'],
    [['command_valve', '--action', 'open'], `action belongs into the body: --body '{"action":"open"}'`],
    [['sign_in', '--body', '{"password":hunter42}'], '--body is not JSON: at line 1, column 13, a value'],
    [['sign_in', '--body', '-'], '--body is not JSON: at line 1, column 1, a value'],
    [['sign_in', '--body', '@nowhere.json'], 'nowhere.json: there is no such file'],
    [['list_sonics', '--log-level', 'loud'], '--log-level must be one of'],
  ];

  it('is explained, and nothing is sent', async () => {
    const cloud = await startCallableCloud();
    const runs = await withEach(explained, ([words]) => cloud.call(words));
    for (const [index, [words, explanation]] of explained.entries()) {
      expect(runs[index], words.join(' ')).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(explanation),
      });
      expect(runs[index]?.stderr).not.toContain('hunter42');
    }
    expect(cloud.simulator.requests.count()).toBe(0);
  });

  it('is explained before a missing configuration is', async () => {
    const [wrong, right] = await withEach([['read_sonic'], ['list_sonics']], (words) =>
      runProgram(['call', ...words]),
    );
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--sonic-id is missing') });
    expect(right).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('config.yaml') });
  });
});

describe('what needs no configuration', () => {
  it('is the list of operations, and the help of each', async () => {
    const [list, help, grammar] = await withEach(
      [['--list'], ['command-valve', '--help'], ['--help']],
      (words) => runProgram(['call', ...words]),
    );
    for (const run of [list, help, grammar]) expect(run).toMatchObject({ code: 0, stderr: '' });
    for (const name of operationNames) expect(list?.stdout).toContain(`\n${name} `);
    expect(help?.stdout).toContain('PUT /ape/v1/sonics/{sonic_id}/valve');
    expect(grammar?.stdout).toContain('@FILE');
  });
});

describe('a body', () => {
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

  it('comes from standard input, so that a password is in no list of processes', async () => {
    const { config, simulator } = await startCallableCloud();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'config.yaml'), stringify(config));
    const script = `printf '%s' '${JSON.stringify(demoCredentials)}' | "$0" "$1" call sign_in --body -`;
    const shell = startProcess('sh', ['-c', script, process.execPath, main], { cwd });
    expect(await shell.ended()).toMatchObject({ code: 0 });
    expect(JSON.parse(shell.stdout)).toHaveProperty('token_details');
    expect(simulator.requests.entries.map(({ operation }) => operation)).toEqual(['sign_in']);
  });

  it('comes from a file', async () => {
    const { config, simulator } = await startCallableCloud();
    const [sonicId = ''] = simulator.world.sonics.ids;
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'name.json'), '\ufeff{\n  "name": "Mains"\n}\n');
    const words = ['call', 'update_sonic', '--sonic-id', sonicId, '--body', '@name.json'];
    const { code, stdout } = await runProgram(words, { config, cwd });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: sonicId, name: 'Mains' });
  });
});

describe('all pages of a list', () => {
  it('come in one envelope, all of it, however long that is', async () => {
    const cloud = await startCallableCloud({ properties: 1, signals: 1, sonics: 1_003, pageSize: 100 });
    const { code, stdout, stderr } = await cloud.call(['list_sonics', '--all-pages']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { data, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ page_number: 1, page_size: 1_003, total_entries: 1_003, total_pages: 1 });
    const ids = data.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual([...cloud.simulator.world.sonics.ids].sort());
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(cloud.simulator.requests.count('list_sonics')).toBe(11);
  });

  it('are those that a filter leaves', async () => {
    const cloud = await startCallableCloud({ sonics: 25 });
    const [sonic] = cloud.simulator.world.sonics.values();
    cloud.simulator.world.changeSonic(sonic?.id ?? '', { name: 'Unheard-of' });
    const { stdout } = await cloud.call(['list_sonics', '--name', 'unheard', '--all-pages']);
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ id: sonic?.id }], total_entries: 1 });
  });

  it('are an error when one is missing, and then nothing is printed', async () => {
    const cloud = await startCallableCloud({ sonics: 25, faults: [fault('missing-page=2')] });
    const { code, stdout, stderr } = await cloud.call(['list_sonics', '--all-pages']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^sonic2mqtt: list_sonics: the list is incomplete: page 2 could not be read: .* 500 .*\n$/,
    );
  });

  it('may be more than a reader wants to see, which is no failure', async () => {
    const { config, simulator } = await startCallableCloud({ sonics: 1_000, pageSize: 200 });
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'config.yaml'), stringify(config));
    const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const script = '{ "$0" "$1" call list_sonics --all-pages; echo "$?" >&2; } | head -c 8';
    const shell = startProcess('sh', ['-c', script, process.execPath, main], { cwd });
    await shell.ended();
    expect({ stdout: shell.stdout, stderr: shell.stderr }).toEqual({ stdout: '{"data":', stderr: '0\n' });
    expect(simulator.requests.count('sign_out')).toBe(1);
  });
});

describe('an answer', () => {
  it('is what the cloud sent, page or record: a key of ours would pass for its word', async () => {
    const user = { id: 'u-1', email: 'ada@example.com', more: { since: 2021 } };
    const sonics = [
      { id: 's-1', name: 'Mains' },
      { id: 's-2', battery: 7 },
    ];
    const list = { data: sonics, total_entries: 2, total_pages: 1, links: [] };
    const stub = await startCloudStub(({ path }) => ({ json: path.includes('/users/') ? user : list }));
    onTestFinished(() => stub.close());
    const cloud = { base_url: stub.url, email: stubEmail, password: stub.password };
    const config = { cloud, mqtt: { url: 'mqtt://127.0.0.1:1' } };
    const body = JSON.stringify({ first_name: 'Ada' });
    const [changed, page, all] = await withEach(
      [['update_user', '--user-id', 'u-1', '--body', body], ['list_sonics'], ['list_sonics', '--all-pages']],
      (words) => runProgram(['call', ...words], { config }),
    );
    expect(JSON.parse(changed?.stdout ?? '')).toEqual(user);
    expect(JSON.parse(page?.stdout ?? '')).toEqual(list);
    expect(JSON.parse(all?.stdout ?? '').data).toEqual(sonics);
  });
});

describe('a call that fails', () => {
  it('exits with 1 and says why, in words', async () => {
    const cloud = await startCallableCloud();
    const [missing, off, gone] = await withEach(
      [
        () => cloud.call(['read_sonic', '--sonic-id', 'nobody']),
        () => cloud.call(['read_telemetry', '--sonic-id', 'x'], { routes: { read_telemetry: null } }),
        () => cloud.call(['read_hub', '--hub-id', 'x'], { routes: { read_hub: 'GET /nowhere/{hub_id}' } }),
      ],
      (run) => run(),
    );
    expect(missing).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sonic2mqtt: read_sonic: the cloud answered 404 (not found): not found\n',
    });
    expect(off).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sonic2mqtt: read_telemetry is switched off in cloud.routes\n',
    });
    expect(gone).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^sonic2mqtt: read_hub: .* 404 .*; .* say so in cloud\.routes\.read_hub\n$/,
      ),
    });
    const { requests } = cloud.simulator;
    expect(requests.count('read_telemetry')).toBe(0);
    expect(requests.count('sign_out')).toBe(requests.count('sign_in'));
  });

  it('exits with 3 when the cloud rejects the credentials, which it does not print', async () => {
    const cloud = await startCallableCloud();
    const body = JSON.stringify({ email: demoCredentials.email, password: 'hunter42' });
    const [configured, given] = await withEach(
      [
        () => cloud.call(['list_sonics'], { password: 'hunter42' }),
        () => cloud.call(['sign_in', '--body', body, '--log-level', 'trace']),
      ],
      (run) => run(),
    );
    for (const run of [configured, given]) {
      expect(run).toMatchObject({ code: 3, stdout: '' });
      expect(run?.stderr).toContain('does not accept the e-mail or the password (HTTP 401)');
      expect(run?.stderr).not.toContain('hunter42');
    }
  });

  it('shows no password or token that was sent, even where the cloud repeats it', async () => {
    const stub = await startCloudStub();
    onTestFinished(() => stub.close());
    const repeat = ({ body }: { body: unknown }) => ({ status: 422, json: { message: body } });
    stub.sessionHandler = (request) => (request.path.endsWith('/sign_in') ? repeat(request) : undefined);
    const config = {
      cloud: { base_url: stub.url, email: stubEmail, password: stub.password },
      mqtt: { url: 'mqtt://127.0.0.1:1' },
    };
    const body = JSON.stringify({ email: stubEmail, password: 'hunter42' });
    const { code, stderr } = await runProgram(['call', 'sign_in', '--body', body], { config });
    expect(code).toBe(1);
    expect(stderr).toContain(stubEmail);
    expect(stderr).not.toContain('hunter42');
  });

  it('does not keep anybody waiting for a cloud that does not answer', async () => {
    const cloud = await startCallableCloud({ faults: [fault('hang@list_sonics')] });
    const { code, stderr } = await cloud.call(['list_sonics'], { request_timeout: '500ms' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sonic2mqtt: list_sonics: timeout: [^;]*\n$/);
    expect(cloud.simulator.requests.count('list_sonics')).toBe(1);
  });

  it('says so where a change may have been made all the same, and asks for it once only', async () => {
    const cloud = await startCallableCloud({ faults: [fault('hang@command_valve')] });
    const [sonicId = ''] = cloud.simulator.world.sonics.ids;
    const words = ['command_valve', '--sonic-id', sonicId, '--body', '{"action":"close"}'];
    const { code, stderr } = await cloud.call(words, { request_timeout: '500ms' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sonic2mqtt: command_valve: timeout: .*; the cloud may have acted on it/);
    expect(cloud.simulator.requests.count('command_valve')).toBe(1);
  });

  it('is not one for a sign-out that fails afterwards', async () => {
    const cloud = await startCallableCloud({ faults: [fault('error=500@sign_out')] });
    const { code, stdout, stderr } = await cloud.call(['list_sonics']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout).data).toHaveLength(4);
  });
});

describe("the owner's own shell", () => {
  it('moves a valve that control keeps from MQTT', async () => {
    const { config, simulator } = await startCallableCloud();
    const [sonicId = ''] = simulator.world.sonics.ids;
    const words = ['call', 'command_valve', '--sonic-id', sonicId, '--body', '{"action":"close"}'];
    const { code, stdout } = await runProgram(words, { config: { ...config, control: { valves: false } } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'null\n' });
    expect(simulator.world.sonics.get(sonicId)?.valve_state).toBe('requested_closed');
  });

  it('hears of odd data on standard error, and sees only the answer on standard output', async () => {
    const cloud = await startCallableCloud({ faults: [fault('unsafe-id@list_sonics')] });
    const { code, stdout, stderr } = await cloud.call(['list_sonics']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).data).toHaveLength(4);
    expect(stderr).toMatch(/WARN.*list_sonics: a record is left out/);
  });

  it('finds no token in the log, not even in the most talkative one', async () => {
    const cloud = await startCallableCloud();
    const body = JSON.stringify(demoCredentials);
    const { stdout, stderr } = await cloud.call(['sign_in', '--body', body, '--log-level', 'trace']);
    const token = String(JSON.parse(stdout).token_details);
    expect(stderr).toContain('Cloud request ');
    expect(stderr).not.toContain(token);
  });
});

describe('a call that is interrupted', () => {
  // Whatever hangs longer is left behind by the program itself, which would hide that it was waited for.
  const quitLimitMs = 4_000;

  it('signs out and exits with 1, having printed nothing', async () => {
    const { config, simulator } = await startCallableCloud({ faults: [fault('hang@list_sonics')] });
    const calling = startProgram(['call', 'list_sonics'], { config });
    await waitFor(() => simulator.requests.count('list_sonics') > 0, {
      what: 'the request',
      timeoutMs: 10_000,
    });
    expect(await calling.stop('SIGINT')).toMatchObject({ code: 1 });
    expect({ stdout: calling.stdout, stderr: calling.stderr }).toEqual({
      stdout: '',
      stderr: 'sonic2mqtt: list_sonics: interrupted\n',
    });
    expect(simulator.requests.count('sign_out')).toBe(1);
  });

  it('does not wait for a cloud that does not answer, and says what may have been done', async () => {
    const { config, simulator } = await startCallableCloud({
      faults: [fault('hang@command_valve'), fault('hang@sign_out')],
    });
    const [sonicId = ''] = simulator.world.sonics.ids;
    const words = ['call', 'command_valve', '--sonic-id', sonicId, '--body', '{"action":"open"}'];
    const patient = { ...config, cloud: { ...config.cloud, request_timeout: '60s' } };
    const calling = startProgram(words, { config: patient });
    await waitFor(() => simulator.requests.count('command_valve') > 0, {
      what: 'the request',
      timeoutMs: 10_000,
    });
    const { code, durationMs } = await calling.stop('SIGINT');
    expect({ code, isQuick: durationMs < quitLimitMs }).toEqual({ code: 1, isQuick: true });
    expect(calling.stderr).toMatch(/^sonic2mqtt: command_valve: interrupted; the cloud may have acted on it/);
  });

  it('does not wait for standard input either', async () => {
    const { config, simulator } = await startCallableCloud();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'config.yaml'), stringify(config));
    const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    // A pipe that never ends, and holds less than is written into it: the rest fits when somebody reads.
    const script = `mkfifo pipe; exec 3<>pipe
      { head -c 200000 /dev/zero >&3; echo taken >&2; } &
      exec "$0" "$1" call sign_in --body - <&3`;
    const calling = startProcess('sh', ['-c', script, process.execPath, main], { cwd });
    await calling.waitForOutput(/taken/);
    const { code, durationMs } = await calling.stop('SIGINT');
    expect({ code, isQuick: durationMs < quitLimitMs }).toEqual({ code: 1, isQuick: true });
    expect(calling.stdout).toBe('');
    expect(simulator.requests.count()).toBe(0);
  });
});
