import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { version } from '../../src/base/version.ts';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { runBuilt, runProgram } from '../support/callProgram.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 2 },
  broker: { hasDefaultQueue: true },
  config: { schedules: hourly },
  isStarted: false,
});
afterAll(() => bridge.close());
const { cloud, mqtt, config } = bridge;
const cloudSection = Object(config['cloud']);

afterEach(() => cloud.setFaults([]));

describe('the command line', () => {
  it('prints version and schema on standard output', async () => {
    expect(await runBuilt(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
    const { code, stdout } = await runProgram(['schema']);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ properties: expect.anything() }),
    ]);
  });

  it.each(['20.18.3', '22.11.0'])('names the version of Node.js that it needs to %s', async (older) => {
    const versions = `Object.defineProperty(process, 'versions', { value: { node: '${older}' } })`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(versions)}`;
    const { code, stdout, stderr } = await runBuilt(['run'], { env: { NODE_OPTIONS } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^sonic2mqtt needs Node\.js 20\.19, 22\.12 or newer\..*\n$/);
  });

  it('names every problem of the configuration with its line and ends with 2', async () => {
    const cwd = temporaryFolder();
    const yaml = 'cloud:\n  base_ulr: https://example.com\nmqtt:\n  keepalive: soon\n';
    writeFileSync(join(cwd, 'config.yaml'), yaml);
    const { code, stderr } = await runBuilt(['run'], { cwd });
    expect(code).toBe(2);
    for (const words of ['line 2', 'base_url', 'line 4', 'keepalive', 'cloud.email', 'mqtt.url']) {
      expect(stderr).toContain(words);
    }
  });
});

describe('sonic2mqtt check', () => {
  it('prints one OK line per step, signs out, and leaves no folder behind', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const { code, stdout } = await runProgram(['check'], {
      config: { ...config, data_dir: dataDir },
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.slice(0, 5))).toEqual(Array(8).fill('OK   '));
    expect(stdout).toContain('2 valves');
    expect(code).toBe(0);
    expect(cloud.requests.count('sign_out')).toBe(1);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('fails for a folder, a port, a filter or a broker that the bridge cannot use, and ends with 1', async () => {
    const [property] = cloud.world.properties.values();
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as { port: number };
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const { code, stdout } = await runProgram(['check'], {
      config: {
        ...config,
        filters: { properties: [property?.id, `${property?.name}x`] },
        data_dir: join(file, 'data'),
        http: { listen: `127.0.0.1:${port}` },
        mqtt: { url: `mqtt://127.0.0.1:${await freePort()}` },
      },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL data_dir: cannot write to /m);
    expect(stdout).toMatch(/^FAIL HTTP: port \d+ of 127\.0\.0\.1 is in use by another program$/m);
    expect(stdout).toMatch(/^FAIL account: filters\.properties: .*. Did you mean /m);
    expect(stdout).toMatch(/^FAIL MQTT broker: .*: connection refused/m);
  });

  it('fails where the bridge would be degraded, for want of hubs in the selected property', async () => {
    const bare = cloud.world.properties.ids[1] ?? '';
    for (const id of cloud.world.signalIdsOf(bare)) {
      cloud.world.moveToProperty(id, undefined);
      onTestFinished(() => cloud.world.moveToProperty(id, bare));
    }
    const { code, stdout } = await runProgram(['check'], {
      config: { ...config, filters: { properties: [bare] } },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^FAIL account: The selected properties have no hub, and others have\. Correct filters/m,
    );
  });

  it('tells DNS, TCP and TLS apart, and ends with 1', async () => {
    const check = (base_url: string) =>
      runProgram(['check'], { config: { ...config, cloud: { ...cloudSection, base_url } } });
    const [dns, tcp, tls] = await Promise.all([
      check('https://cloud.invalid'),
      check(`http://127.0.0.1:${await freePort()}`),
      check(cloud.url.replace('http:', 'https:')),
    ]);
    expect(dns).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: DNS') });
    expect(tcp).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: TCP') });
    expect(tls).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: TLS') });
  });

  it('ends with 3 if the cloud rejects the password, which it does not print', async () => {
    const cloudWithout = { ...cloudSection, password: 'hunter42' };
    const { code, stdout, stderr } = await runProgram(['check'], {
      config: { ...config, cloud: cloudWithout },
    });
    expect(code).toBe(3);
    expect(stdout).toMatch(/OK {3}cloud: HTTP: .* answers\nFAIL sign-in: .*password/);
    expect(stdout + stderr).not.toContain('hunter42');
  });

  it('and call print names that hold what terminals act on as plain text', async () => {
    const other = await startBridge({ isStarted: false, cloud: { properties: 2, signals: 1, sonics: 1 } });
    const { properties } = other.cloud.world;
    const hostile = 'Attic\n[2026-01-01 00:00:00] INFO: all is well\r\u001b[2K\u202e';
    for (const id of properties.ids) properties.change(id, { name: hostile });
    const filters = { properties: [`${hostile}!`] };
    const check = await runProgram(['check'], { config: { ...other.config, filters } });
    const call = await runProgram(['call', 'list_properties'], { config: other.config });
    expect(check.stdout).toMatch(/no property Attic\\u000a\[2026.*. Did you mean Attic\\u000a\[2026/);
    expect(JSON.parse(call.stdout).data[0].name).toBe(hostile);
    for (const { stdout } of [check, call]) expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  });

  it('that is interrupted fails', async () => {
    cloud.setFaults([fault('hang')]);
    const checking = startProgram(['check'], { config });
    await checking.waitForOutput(/cloud: TCP/);
    expect(await checking.stop('SIGINT')).toMatchObject({ code: 1 });
    expect(checking.stdout).toMatch(/\nFAIL cloud: HTTP: interrupted\n$/);
  });
});

describe('sonic2mqtt cleanup', () => {
  it('deletes nothing beside a running bridge; after it, all that the bridge published and nothing else', async () => {
    bridge.start();
    await bridge.untilShown();
    const kept = [
      'homeassistant/device/other/config',
      'sonic2mqtt/my/own/notes',
      'sonic2mqtt/cottage/sonic/s',
      'sonic2mqtt/sonic/garden/moisture',
      'homeassistant/device/sonic2mqtt_theirs/config',
    ];
    const ofTrial = '{"availability":[{"topic":"trial/bridge/state"}],"components":{}}';
    for (const topic of kept) await mqtt.publish(topic, ofTrial, { retain: true });
    const refused = await runBuilt(['cleanup'], { config });
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('nothing was deleted'),
    });
    expect(mqtt.last.size).toBeGreaterThan(20);
    await bridge.program.stop();
    const { code, stdout } = await runProgram(['cleanup'], { config });
    expect(stdout).toMatch(/^Deleted \d\d retained messages\n$/);
    expect(code).toBe(0);
    const after = await watchTopics(bridge.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    expect([...after.last.keys()].toSorted()).toEqual(kept.toSorted());
  });

  it.runIf(mosquittoAvailable())(
    'with --force deletes thousands, of which the broker shows a part at a time',
    async () => {
      const topics = Array.from({ length: 1_200 }, (_, id) => `sonic2mqtt/sonic/s-${id}`);
      await Promise.all(topics.map((topic) => mqtt.publish(topic, '{}', { retain: true })));
      // As after a crash whose last will was lost.
      await mqtt.publish('sonic2mqtt/bridge/state', 'online', { retain: true });
      const { code, stdout } = await runProgram(['cleanup', '--force'], { config });
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Deleted 1,201 retained messages\n' });
    },
  );
});

describe('sonic2mqtt demo', () => {
  it('needs no configuration, closes a valve as it says, shows it on its page, and ends with 0', async () => {
    const port = await freePort();
    const demo = startProgram(['demo', '--port', String(port), '--http-port', '0']);
    await demo.waitForOutput(/Press Ctrl\+C to stop/);
    // Nobody can press a key without a terminal.
    expect(demo.output).not.toContain('q quit');
    const [, topic = '', payload = ''] = /-t (\S+) -m (\S+)/.exec(demo.stdout) ?? [];
    const client = await watchTopics(`mqtt://127.0.0.1:${port}`, [
      'sonic2mqtt/sonic/+',
      'sonic2mqtt/bridge/#',
    ]);
    await client.publish(topic, payload);
    const sonic = topic.replace('/valve/set', '');
    await client.waitForTopic(sonic, (text) => JSON.parse(text).valve === 'closed');
    const [page] = /http:\/\/127\.0\.0\.1:\d+\/$/m.exec(demo.stdout) ?? [];
    const { status } = JSON.parse((await httpRequest(new URL('status.json', page).href)).text);
    expect(JSON.stringify(status.properties)).toContain('"valve":"closed"');
    expect(await runBuilt(['demo', '--port', String(port)])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    });
    // npm passes on the Ctrl+C of a terminal as a second signal.
    demo.signal('SIGINT');
    expect(await demo.stop('SIGTERM')).toMatchObject({ code: 0 });
    await client.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
  });
});

it('sonic2mqtt simulate says where it listens and who may sign in, and serves', async () => {
  const program = startProgram(['simulate', '--sonics', '37', '--seed', '5']);
  const [, url] = await program.waitForOutput(/listens on (http:\/\/127\.0\.0\.1:\d+)\n/);
  await program.waitForOutput(/E-mail: demo@example\.com, password: demo\n.*valves: 37/);
  const body = JSON.stringify({ email: 'demo@example.com', password: 'demo' });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/user-service/auth/sign_in/`, { method: 'POST', headers, body });
  expect(await response.json()).toMatchObject({ token_details: expect.any(String) });
  expect(await program.stop('SIGTERM')).toMatchObject({ code: 0 });
  expect(program.stderr).toBe('');
});
