import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { version } from '../../src/base/version.ts';
import { runProgram } from '../support/callProgram.ts';
import { startProcess } from '../support/childProcess.ts';
import { fault, hourly, startHouse } from '../support/house.ts';
import { leaveBehind } from '../support/leftBehind.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

describe('the command line', () => {
  it('shows its version and its help on standard output', async () => {
    expect(await runProgram(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect(await runProgram(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('simulate'),
    });
    expect(await runProgram(['check', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: sonic2mqtt check'),
    });
  });

  it.each([
    [['chekc'], 'did you mean check?'],
    [['--prot', '1'], 'no option --prot'],
    [['demo', '--prot', '1'], 'did you mean --port?'],
    [['demo', '--port', 'many'], '--port must be a number'],
    [['demo', '--http-port', 'many'], '--http-port must be a number'],
    [['run', '--log-level', 'loud'], 'trace, debug, info'],
    [['simulate', '--fault', 'latncy=1'], 'latency'],
  ])('explains %j and exits with 2', async (args, words) => {
    const { code, stderr, stdout } = await runProgram(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(words);
  });

  it('names every problem of the configuration with its line and exits with 2', async () => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, 'config.yaml'),
      'cloud:\n  base_ulr: https://example.com\nmqtt:\n  keepalive: soon\n',
    );
    const { code, stderr } = await runProgram(['run'], { cwd });
    expect(code).toBe(2);
    for (const words of ['line 2', 'base_url', 'line 4', 'keepalive', 'cloud.email', 'mqtt.url']) {
      expect(stderr).toContain(words);
    }
  });

  it('names a password in a broker URL that nobody can decode, and exits with 2', async () => {
    const env = { SONIC2MQTT_MQTT__URL: 'mqtt://bridge:50%off@127.0.0.1:1883' };
    const { code, stderr } = await runProgram(['run'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(
      'mqtt.url (SONIC2MQTT_MQTT__URL): has a % in its user name or password, which must be written %25 there',
    );
  });

  it('prints a JSON schema', async () => {
    const { code, stdout } = await runProgram(['schema']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty('properties.cloud');
  });
});

describe('check', () => {
  it('says a line for each step, and counts what is there', async () => {
    const house = await startHouse({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 2 } });
    const { code, stdout } = await runProgram(['check'], { config: house.config });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(0, 5)),
    ).toEqual(Array(8).fill('OK   '));
    expect(stdout).toContain('2 sonics');
    expect(code).toBe(0);
    expect(house.simulator.requests.count('sign_out')).toBe(1);
  });

  it('fails where the bridge would complain: a filter that matches nothing, a folder, a port', async () => {
    const house = await startHouse({ isStarted: false, cloud: { properties: 2 } });
    const [property] = house.simulator.world.properties.values();
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const config = {
      ...house.config,
      filters: { properties: [property?.id, `${property?.name}x`] },
      data_dir: join(file, 'data'),
      http: { listen: `127.0.0.1:${port}` },
      mqtt: { url: house.broker.url, password: 'of nobody' },
    };
    const { code, stdout } = await runProgram(['check'], { config });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^OK {3}configuration: .*config\.yaml$/m);
    expect(stdout).toMatch(/^WARN configuration: mqtt\.password is not sent without mqtt\.username$/m);
    expect(stdout).toMatch(/^FAIL data_dir: cannot write to /m);
    expect(stdout).toMatch(/^FAIL HTTP: port \d+ of 127\.0\.0\.1 is in use by another program$/m);
    expect(stdout).toMatch(/^OK {3}account: .*; filters\.properties selects 1 of 2 properties$/m);
    expect(stdout).toContain(
      `\nFAIL account: filters.properties: the account has no property ${property?.name}x; did you mean ${property?.name}?\n`,
    );
    expect(stdout).toMatch(/^OK {3}MQTT broker/m);
  });

  it('passes beside the bridge that it is about, and leaves no folder behind', async () => {
    const port = await freePort();
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { http: { listen: `127.0.0.1:${port}` } },
    });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/info');
    const folder = join(temporaryFolder(), 'data');
    const { code, stdout } = await runProgram(['check'], { config: { ...house.config, data_dir: folder } });
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('OK   HTTP: '),
    });
    expect(existsSync(folder)).toBe(false);
  });

  it('exits with 3 when the cloud rejects the password, which it does not print', async () => {
    const house = await startHouse({ isStarted: false });
    house.simulator.setPassword('another');
    const { code, stdout, stderr } = await runProgram(['check'], { config: house.config });
    expect(code).toBe(3);
    expect(stdout).toMatch(/OK {3}cloud: HTTP: .* answers\nFAIL sign-in: .*password/);
    expect(stdout + stderr).not.toContain('another');
  });

  it('tells DNS, a refused connection and TLS apart, and exits with 1', async () => {
    const house = await startHouse({ isStarted: false });
    const tryAddress = (base_url: string) =>
      runProgram(['check'], {
        config: { ...house.config, cloud: { base_url, email: 'a@example.com', password: 'secret' } },
      });
    const [dns, refused, tls] = await Promise.all([
      tryAddress('https://cloud.invalid'),
      tryAddress(`http://127.0.0.1:${await freePort()}`),
      tryAddress(house.simulator.url.replace('http:', 'https:')),
    ]);
    expect(dns).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: DNS') });
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: TCP') });
    expect(tls).toMatchObject({ code: 1, stdout: expect.stringContaining('FAIL cloud: TLS') });
  });

  it('exits with 1 when the broker is away, and says so', async () => {
    const house = await startHouse({ isStarted: false });
    await house.broker.stop();
    const { code, stdout } = await runProgram(['check'], { config: house.config });
    expect(stdout).toContain(`FAIL MQTT broker: ${house.broker.url}: connection refused`);
    expect(code).toBe(1);
  });

  it('exits with 2 when the configuration is wrong', async () => {
    expect(await runProgram(['check'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('FAIL configuration'),
    });
  });
});

describe('a command that is interrupted', () => {
  it('before it is done does not say that all is well', async () => {
    const house = await startHouse({ isStarted: false, cloud: { faults: [fault('hang')] } });
    const checking = startProgram(['check'], { config: house.config });
    await checking.waitForOutput(/cloud: TCP/);
    const { code, durationMs } = await checking.stop('SIGINT');
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 1, isQuick: true });
    expect(checking.stdout).toMatch(/\nFAIL cloud: HTTP: interrupted\n$/);
  });

  it('by two signals at once, as npm passes on the Ctrl+C of a terminal, ends as after one', async () => {
    const [port, folder] = [await freePort(), temporaryFolder()];
    const demo = startProgram(['demo', '--port', String(port), '--http-port', '0'], {
      env: { TMPDIR: folder },
    });
    const watcher = await demo
      .waitForOutput(/Press Ctrl\+C to stop/, 15_000)
      .then(() => watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/bridge/state'));
    demo.signal('SIGINT');
    expect((await demo.stop('SIGTERM')).code).toBe(0);
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('and again later by somebody who does not want to wait ends at once', async () => {
    const house = await startHouse({ isStarted: false });
    const proxy = await startTcpProxy(Number(new URL(house.broker.url).port));
    const bridge = startProgram(['run'], {
      config: { ...house.config, mqtt: { url: `mqtt://127.0.0.1:${proxy.port}` } },
    });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    proxy.freeze();
    const insisting = setInterval(() => bridge.signal('SIGINT'), 50);
    onTestFinished(() => clearInterval(insisting));
    expect(await bridge.ended()).toMatchObject({ code: 1, signal: null });
  });
});

describe('cleanup', () => {
  it('deletes every retained message of the bridge, and none of others', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 2 } });
    await waitFor(() => house.events('incident_opened').length > 0, {
      what: 'the bridge to be done',
      timeoutMs: 10_000,
    });
    await house.watcher.publish('homeassistant/device/other/config', '{"components":{}}', { retain: true });
    await house.bridge.stop();
    const { code, stdout } = await runProgram(['cleanup'], { config: house.config });
    expect(stdout).toMatch(/^Deleted \d\d retained messages\n$/);
    expect(code).toBe(0);
    const after = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    expect([...after.last.keys()]).toEqual(['homeassistant/device/other/config']);
  });

  it('leaves what others keep below the base topic, such as a bridge whose base topic is there', async () => {
    const house = await startHouse({ isStarted: false });
    const own = [
      'bridge/state',
      'bridge_1/info',
      'property/p/settings',
      'sonic/s',
      'sonic/s/valve/set',
      'incident/i',
    ];
    const foreign = ['my/own/notes', 'sonics', 'cottage/bridge/state', 'cottage/sonic/s'];
    for (const path of [...own, ...foreign]) {
      await house.watcher.publish(`sonic2mqtt/${path}`, 'kept', { retain: true });
    }
    const { code, stdout } = await runProgram(['cleanup'], { config: house.config });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Deleted ${own.length} retained messages\n` });
    const after = await watchTopics(house.broker.url, 'sonic2mqtt/#');
    expect([...after.last.keys()].toSorted()).toEqual(foreign.map((path) => `sonic2mqtt/${path}`).toSorted());
  });

  it('deletes nothing beside a running bridge and exits with 1, unless it is forced', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { schedules: hourly },
    });
    const [sonic = ''] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${sonic}/usage`);
    const picture = async () => {
      const newcomer = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
      return [...newcomer.last.keys()];
    };
    const before = await picture();
    const refused = await runProgram(['cleanup'], { config: house.config });
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('nothing was deleted');
    expect(await picture()).toEqual(expect.arrayContaining(before));
    // As after a crash whose last will was lost.
    await house.bridge.stop();
    await house.watcher.publish('sonic2mqtt/bridge/state', 'online', { retain: true });
    const forced = await runProgram(['cleanup', '--force'], { config: house.config });
    expect({ code: forced.code, stderr: forced.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await picture()).toEqual([]);
  });

  it.skipIf(!mosquittoAvailable())(
    'goes on until nothing is left, although a broker as it comes shows a part of thousands at a time',
    async () => {
      const house = await startHouse({ isStarted: false, broker: { isAsItComes: true } });
      await leaveBehind(house.watcher, 2_000, ['', '/availability']);
      const { code, stdout } = await runProgram(['cleanup'], { config: house.config });
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Deleted 6,000 retained messages\n' });
      const after = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
      expect([...after.last.keys()]).toEqual([]);
    },
    60_000,
  );
});

describe('demo', () => {
  it('shows retained sonics, and a published CLOSE closes the valve that it names', async () => {
    const port = await freePort();
    const demo = startProgram(['demo', '--port', String(port), '--http-port', '0']);
    await demo.waitForOutput(/Press Ctrl\+C to stop/, 15_000);
    const [, topic, payload] = /-t (\S+) -m (\S+)/.exec(demo.stdout) ?? [];
    const sonic = (topic ?? '').replace('/valve/set', '');
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/sonic/+');
    expect(JSON.parse(watcher.last.get(sonic) ?? '{}').valve).toBe('open');
    await watcher.publish(topic ?? '', payload ?? '');
    await watcher.waitForTopic(sonic, (text) => JSON.parse(text).valve === 'closed', 15_000);
    expect(watcher.messages.some(({ text }) => JSON.parse(text).valve === 'closing')).toBe(true);
    const [page] = /http:\/\/127\.0\.0\.1:\d+\/$/m.exec(demo.stdout) ?? [];
    const shown = await fetch(new URL('status.json', page)).then((answer) => answer.json());
    expect(shown).toMatchObject({ status: { valves: { closed: 1 } } });
    expect((await demo.stop('SIGINT')).code).toBe(0);
  });

  it('has its page at the port that was asked for, keeps showing the valves, and says that it stopped', async () => {
    const port = await freePort();
    const demo = startProgram(['demo', '--port', '0', '--http-port', String(port)]);
    await demo.waitForOutput(new RegExp(`^  http://127.0.0.1:${port}/$`, 'm'), 15_000);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
    await demo.waitForOutput(/Valves: .*Kitchen open[\s\S]*Valves: .*Kitchen open/, 15_000);
    expect(await demo.stop('SIGINT')).toMatchObject({ code: 0 });
    expect(demo.stdout).toMatch(/\nDemo stopped\n$/);
  });

  it('refuses a retained command, which would move the valve again at each start', async () => {
    const port = await freePort();
    const demo = startProgram(['demo', '--port', String(port), '--http-port', '0']);
    await demo.waitForOutput(/Press Ctrl\+C to stop/, 15_000);
    const [, topic = ''] = /-t (\S+) -m (\S+)/.exec(demo.stdout) ?? [];
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/bridge/event');
    await watcher.publish(topic, 'CLOSE', { retain: true });
    const isOutcome = (text: string) => JSON.parse(text).event === 'command';
    const outcome = await watcher.waitForTopic('sonic2mqtt/bridge/event', isOutcome, 15_000);
    expect(JSON.parse(outcome)).toMatchObject({ topic, status: 'refused' });
    await demo.stop('SIGINT');
  });

  it('ends with the shell of npm, which passes no signal on', async () => {
    const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const script = `"${process.execPath}" "${main}" demo --port 0 --http-port 0; exit`;
    const shell = startProcess('sh', ['-c', script], {
      env: { ...process.env, npm_lifecycle_event: 'demo' },
    });
    const [, port] = await shell.waitForOutput(/-p (\d+) -v/);
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/bridge/state');
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    shell.signal('SIGTERM');
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    // Its output is at its end when the demo itself has ended.
    await shell.ended();
  });

  it('says which port is taken, and exits with 1', async () => {
    const house = await startHouse({ isStarted: false });
    const port = new URL(house.broker.url).port;
    expect(await runProgram(['demo', '--port', port])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Port ${port} is in use`),
    });
  });
});
