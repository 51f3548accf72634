import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { version } from '../../src/base/version.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { type Run, runProgram } from '../support/callProgram.ts';
import { startEchoingCloud } from '../support/echoingCloud.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const phone = '+44 1632 960 123';
const wifiName = 'Oak Lodge 5G';

/** Everything in the simulated world that says whose it is. */
function privateTexts({ world }: Simulator): string[] {
  const { user } = world;
  const records = [
    ...[...world.properties.values()].flatMap((each) => [
      ...[each.id, each.name, each.address, each.city, each.country, each.postcode, each.lat, each.lng],
    ]),
    ...[world.signals, world.sonics, world.wifiSonics].flatMap((list) =>
      [...list.values()].flatMap(({ id, name, serial_no }) => [id, name, serial_no]),
    ),
    ...world.incidents.ids,
    ...[user?.id, user?.email, user?.full_name, user?.phone],
  ];
  return records.map(String).filter((text) => text !== '');
}

/** The texts that are in it in spite of all. The seconds of a time may be the digits of a coordinate. */
function leaked(text: string, secrets: readonly string[]): string[] {
  const lower = text.replaceAll(/:\d\d\.\d{3}Z/g, '').toLowerCase();
  return secrets.filter((each) => lower.includes(each.toLowerCase()));
}

async function reportOf(running: Promise<Run>) {
  const { code, stdout } = await running;
  return { code, text: stdout, report: JSON.parse(stdout || 'null') };
}

const bridge = await startBridge({ cloud: { properties: 6, signals: 6, sonics: 10, wifiSonics: 3 } });
afterAll(() => bridge.close());
const { cloud, config } = bridge;
// With long schedules, which the cloud can keep up with also on a busy machine.
const diagnose = () => reportOf(runProgram(['diagnostics'], { config: { ...config, schedules: hourly } }));

afterEach(() => cloud.setFaults([]));

describe('sonic2mqtt diagnostics', () => {
  it('reports the program, the configuration, the account, the bridge and its files', async () => {
    await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
    const { code, text, report } = await diagnose();
    expect(code).toBe(0);
    expect(report).toMatchObject({
      program: { version, node: process.version, architecture: process.arch },
      configuration: {
        from: 'file and environment',
        values: {
          cloud: { email: '[set]', password: '[set]', request_timeout: '2s' },
          mqtt: { base_topic: 'sonic2mqtt' },
          data_dir: '[set]',
        },
      },
      counts: { properties: 6, signals: 6, sonics: 10, wifi_sonics: 3, open_incidents: 1 },
      bridge: {
        state: 'online',
        cloud: 'online',
        version,
        counts: { properties: 6, signals: 6, sonics: 13, open_incidents: 1 },
        operations: { read_telemetry: 'available', command_valve: 'available' },
        health: { status: 'ok' },
      },
      last_errors: [],
    });
    expect(report.check.map(({ outcome }: { outcome: string }) => outcome)).toEqual(Array(7).fill('OK'));
    const [file] = report.data_dir;
    expect(file).toMatchObject({ mode: '600', damaged: [], has_session: true });
    expect(leaked(text, privateTexts(cloud))).toEqual([]);
  });

  it('reports what the bridge says was wrong', async () => {
    // As an owner may call it, and as our own messages do, too.
    for (const id of cloud.world.properties.ids) cloud.world.properties.change(id, { name: 'Home Water' });
    cloud.setFaults([fault('error=503@list_signals')]);
    await bridge.untilJson('bridge/health', ({ reason }) => String(reason).includes('503'));
    const { report } = await diagnose();
    expect(report.bridge.health.status).toBe('degraded');
    expect(report.last_errors).toContainEqual({
      from: 'check, account',
      kind: 'unavailable',
      operation: 'list_signals',
      http_status: 503,
    });
    expect(report.last_errors).toContainEqual({
      from: 'bridge, signals',
      http_status: 503,
      last_success: expect.stringMatching(/Z$/),
      consecutive_failures: expect.any(Number),
    });
  });

  it('holds nothing private of a cloud that repeats everything, of the configuration or of this machine', async () => {
    const talkative = await startEchoingCloud(cloud);
    talkative.extraTexts.push(...privateTexts(cloud), phone, wifiName);
    cloud.setFaults([fault('unknown-enum')]);
    const own = ['ann-base', 'ann-client', 'ann-key', 'ann-word', 'The Old Mill'];
    const [base_topic, client_id, username, password, property] = own;
    const cwd = temporaryFolder();
    const running = runProgram(['diagnostics'], {
      cwd,
      config: {
        ...config,
        cloud: { ...Object(config['cloud']), base_url: talkative.url, routes: { read_hub: null } },
        mqtt: { ...Object(config['mqtt']), base_topic, client_id, username, password },
        filters: { properties: [property, 'Homes'] },
      },
    });
    const { text, report } = await reportOf(running);
    expect(text).not.toMatch(/\b(Homes?|Water)\b/);
    expect(report.configuration.values.cloud.routes).toEqual({ read_hub: null });
    expect(report.configuration.values.filters.properties).toEqual(['[set]', '[set]']);
    const secrets = [...privateTexts(cloud), ...talkative.tokens, ...own, phone, wifiName, cwd];
    expect(leaked(text, secrets)).toEqual([]);
  });

  it('reports what the account contains if asked, and nothing private of a cloud that repeats everything', async () => {
    const { code, text, report } = await reportOf(runProgram(['diagnostics', '--account'], { config }));
    expect(code).toBe(0);
    expect(report).toMatchObject({
      counts: { properties: 6, signals: 6, sonics: 10, wifi_sonics: 3 },
      account: {
        hub_versions: { '2.14.0': 6 },
        operations: {
          read_telemetry: { outcome: 'ok' },
          read_hub: { outcome: 'ok' },
          read_user: { outcome: 'ok' },
        },
        unknown_fields: ['sonic.wifi_rssi'],
      },
    });
    expect(leaked(text, privateTexts(cloud))).toEqual([]);
    const talkative = await startEchoingCloud(cloud);
    talkative.extraTexts.push(...privateTexts(cloud), phone, wifiName);
    cloud.setFaults([fault('unknown-enum')]);
    // The former name of the option.
    const alias = await reportOf(
      runProgram(['check', '--report'], {
        config: { ...config, cloud: { ...Object(config['cloud']), base_url: talkative.url } },
      }),
    );
    const secrets = [...privateTexts(cloud), ...talkative.tokens, phone, wifiName];
    expect(leaked(alias.text, secrets)).toEqual([]);
    expect(alias.report.account.withheld).toBeGreaterThan(0);
  });

  it('reports what is wrong with a configuration, but not what is written there, and ends with 2', async () => {
    const cwd = temporaryFolder();
    const yaml =
      'cloud:\n  base_url: https://water.ann.example\n  email: ann-at-home\n  pasword: hunter2\nfilters: { properties: Home }\n';
    writeFileSync(join(cwd, 'config.yaml'), yaml);
    const { code, text, report } = await reportOf(runProgram(['diagnostics'], { cwd }));
    expect(code).toBe(2);
    expect(report.configuration.problems).toEqual([
      { option: 'cloud.password', line: 1 },
      { option: 'cloud.email', line: 3 },
      { option: 'cloud', line: 4 },
      { option: 'filters.properties', line: 5 },
      { option: 'mqtt.url', line: null },
    ]);
    expect(leaked(text, ['ann', 'hunter2', 'pasword', 'home', cwd])).toEqual([]);
  });

  it('works without the cloud and without the broker, and ends with 1 and no report if it is interrupted', async () => {
    await bridge.program.stop();
    await bridge.broker.stop();
    cloud.setFaults([fault('hang')]);
    const { code, report } = await diagnose();
    expect(code).toBe(0);
    expect(report.counts).toMatchObject({ properties: null, open_incidents: null });
    expect(report.bridge).toBeNull();
    expect(report.last_errors).toContainEqual(
      expect.objectContaining({ from: 'check, cloud: HTTP', kind: 'unavailable', operation: 'sign_in' }),
    );
    const slow = { ...config, cloud: { ...Object(config['cloud']), request_timeout: '1m' } };
    const program = startProgram(['diagnostics'], { config: slow });
    const before = cloud.requests.count('sign_in');
    await waitFor(() => cloud.requests.count('sign_in') > before, { what: 'the sign-in' });
    expect((await program.stop('SIGINT')).code).toBe(1);
    expect(program.stdout).toBe('');
  });
});
