import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { version } from '../../src/base/version.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { fault, type House, startHouse } from '../support/house.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { startTalkativeCloud } from '../support/talkativeCloud.ts';
import { waitFor } from '../support/waitFor.ts';

const everything = { properties: 6, signals: 6, sonics: 10, wifiSonics: 3 };
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

async function diagnose(house: House, changes: object = {}) {
  const program = startProgram(['diagnostics'], { config: { ...house.config, ...changes } });
  const { code } = await program.ended();
  return { code, text: program.stdout, stderr: program.stderr, report: JSON.parse(program.stdout || 'null') };
}

function told(text: string, secrets: readonly string[]): string[] {
  const lower = text.toLowerCase();
  return secrets.filter((each) => lower.includes(each.toLowerCase()));
}

async function isShown({ watcher, simulator }: House): Promise<void> {
  const { ids } = simulator.world.sonics;
  for (const id of ids) await watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, () => true, 10_000);
  await watcher.waitForTopic('sonic2mqtt/bridge/health', (text) => JSON.parse(text).status === 'ok', 10_000);
}

describe('diagnostics', () => {
  it('tells of the program, the configuration, the account, the broker, the bridge and its files', async () => {
    const house = await startHouse({ cloud: everything });
    await isShown(house);
    const dataDir = Object(house.config).data_dir;
    writeFileSync(join(dataDir, 'state.json.of-ann'), 'kept');
    const sessions = house.simulator.requests.count('sign_out');
    const { code, report, stderr } = await diagnose(house);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
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
      counts: {
        properties: 6,
        signals: 6,
        sonics: 10,
        wifi_sonics: 3,
        open_incidents: 1,
        open_incidents_by_type: { long_flow_alert: 1 },
      },
      operations: { read_telemetry: 'available', command_valve: 'available' },
      bridge: { state: 'online', cloud: 'online', version, health: { status: 'ok' } },
      last_errors: [],
    });
    expect(report.check.map(({ outcome }: { outcome: string }) => outcome)).toEqual(Array(6).fill('ok'));
    // Its copy, too, where there was time to make one.
    const [state, ...others] = report.data_dir.files;
    expect(state).toMatchObject({ file: 'state.json', mode: '600', damaged: [], has_session: true });
    expect(state.bytes).toBeGreaterThan(100);
    const names = others.map(({ file }: { file: string }) => file);
    expect(names).toContain('state.json…');
    for (const name of names) expect(name).toMatch(/^state\.json(…|\.bak|\.tmp)$/);
    expect(house.simulator.requests.count('sign_out')).toBe(sessions + 1);
    expect(told(JSON.stringify(report), [...privateTexts(house.simulator), 'of-ann'])).toEqual([]);
  });

  it('holds nothing private of a world that gossips, of the configuration or of this machine', async () => {
    const house = await startHouse({ isStarted: false, cloud: everything });
    const { world } = house.simulator;
    const [, emptyId = ''] = world.properties.ids;
    for (const id of world.signalIdsOf(emptyId)) world.signals.delete(id);
    const cloud = await startTalkativeCloud(house.simulator);
    cloud.gossip.push(...privateTexts(house.simulator), phone, wifiName);
    house.simulator.setFaults([fault('unknown-enum'), fault('unsafe-id@list_incidents')]);
    const own = ['ann-base', 'ann-client', 'ann-key', 'ann-word', 'The Old Mill', 'Atlantis'];
    const config = {
      ...house.config,
      cloud: { ...Object(house.config).cloud, base_url: cloud.url, routes: { read_hub: null } },
      mqtt: {
        ...Object(house.config).mqtt,
        base_topic: 'ann-base',
        client_id: 'ann-client',
        username: 'ann-key',
        password: 'ann-word',
      },
      filters: { properties: ['The Old Mill', 'Atlantis'] },
      schedules: {},
    };
    const bridge = startProgram(['run'], { config });
    await bridge.waitForOutput(/Found properties/);
    const program = startProgram(['diagnostics'], { config, cwd: bridge.cwd });
    expect((await program.ended()).code).toBe(0);
    const report = JSON.parse(program.stdout);
    expect(report.bridge.state).toBe('online');
    expect(report.operations.read_hub).toBe('off');
    expect(JSON.stringify(report.last_errors)).toContain('is not safe');
    expect(report.configuration.values.filters.properties).toEqual(['[filter 1]', '[filter 2]']);
    const secrets = [...privateTexts(house.simulator), ...cloud.tokens, ...own, phone, wifiName, bridge.cwd];
    expect(told(program.stdout, secrets)).toEqual([]);
    await bridge.stop();
  });

  it('works without the cloud, and hides by what the bridge has published', async () => {
    const house = await startHouse({ cloud: everything });
    await isShown(house);
    const [property] = house.simulator.world.properties.values();
    await house.simulator.stop();
    const { code, text, report } = await diagnose(house, { filters: { properties: [property?.name] } });
    expect(code).toBe(0);
    expect(report.configuration.values.filters.properties).toEqual([expect.stringMatching(/^property-\d$/)]);
    expect(report.counts).toMatchObject({ properties: null, open_incidents: null });
    expect(report.check).toContainEqual(expect.objectContaining({ step: 'cloud: TCP', outcome: 'failed' }));
    expect(report.last_errors[0].words).toMatch(/^connection refused by/);
    expect(report.operations.read_hub).toBe('available');
    expect(told(text, privateTexts(house.simulator))).toEqual([]);
  });

  it('works without the broker, and without a bridge', async () => {
    const house = await startHouse({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 2 } });
    await house.broker.stop();
    const { code, report } = await diagnose(house);
    expect(code).toBe(0);
    expect(report.counts.sonics).toBe(2);
    expect(report.bridge).toEqual({ words: 'the broker could not be asked what a bridge has published' });
    expect(report.last_errors).toEqual([
      {
        from: 'check, MQTT broker',
        words: expect.stringMatching(/^mqtt:\/\/127\.0\.0\.1:\d+: connection refused/),
      },
    ]);
  });

  it('hides by what the account holds whatever somebody has published as a bridge’s health', async () => {
    const house = await startHouse({ isStarted: false, cloud: everything });
    const all = privateTexts(house.simulator).filter((each) => each !== 'Demo User');
    const health = {
      status: 'ann',
      reason: `seen: ${all.join(', ')}`,
      schedules: { sonics: { last_error: all[0] } },
    };
    await house.watcher.publish('sonic2mqtt/bridge/health', JSON.stringify(health), { retain: true });
    await house.watcher.publish(
      'sonic2mqtt/bridge/info',
      JSON.stringify({ version: all[1], counts: { ann: all[2] } }),
      { retain: true },
    );
    const { text, report } = await diagnose(house);
    expect(report.bridge.health.reason).toMatch(/^seen: property-\d, /);
    expect(report.last_errors[0].words).toMatch(/^property-\d$/);
    expect(told(text, [...all, 'ann'])).toEqual([]);
  });

  it('says what a bridge says was wrong', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 2 } });
    await isShown(house);
    house.simulator.setFaults([fault('error=503@list_signals')]);
    await house.watcher.waitForTopic('sonic2mqtt/bridge/health', (text) => text.includes('503'), 10_000);
    const { report } = await diagnose(house);
    expect(report.bridge.health.status).toBe('degraded');
    expect(report.last_errors).toContainEqual({
      from: 'bridge, signals',
      words: expect.stringContaining('503'),
      last_success: expect.stringMatching(/Z$/),
      consecutive_failures: expect.any(Number),
    });
    expect(report.last_errors).toContainEqual({
      from: 'check, account',
      words: expect.stringContaining('503'),
    });
  });

  it('tells what is wrong with a configuration, but not what was written there, and exits with 2', async () => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, 'config.yaml'),
      'cloud:\n  base_url: https://water.ann.example\n  email: ann-at-home\n  pasword: hunter2\nmqtt:\n  keepalive: annsword\n',
    );
    const program = startProgram(['diagnostics'], { cwd });
    expect((await program.ended()).code).toBe(2);
    const { configuration, program: about } = JSON.parse(program.stdout);
    expect(about.version).toBe(version);
    expect(configuration.problems).toContain('cloud.email (line 3): must be an e-mail address');
    expect(configuration.problems.join()).toContain('cloud.… (line 4): unknown key; did you mean password?');
    expect(told(program.stdout, ['ann', 'hunter2', 'pasword', cwd])).toEqual([]);
  });

  it('ends with 1 and without a report when it is interrupted', async () => {
    const house = await startHouse({ isStarted: false, cloud: { faults: [fault('hang')] } });
    const config = { ...house.config, cloud: { ...Object(house.config).cloud, request_timeout: '1m' } };
    const program = startProgram(['diagnostics'], { config });
    await waitFor(() => house.simulator.requests.count('sign_in') > 0, { what: 'the sign-in' });
    expect((await program.stop('SIGINT')).code).toBe(1);
    expect(program.stdout).toBe('');
  });
});
