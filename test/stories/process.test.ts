import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema, secretPaths } from '../../src/config/schema.ts';
import { startBridge } from '../support/bridge.ts';
import { denyAccess, startDiskBridge, whyAccessCannotBeDenied } from '../support/diskBridge.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const one = { properties: 1, signals: 1, sonics: 1 };

describe("6: the vendor's domain expires", () => {
  it('a name that cannot be looked up is said to be that; another base URL is all that is needed', async () => {
    const bridge = await startBridge({ cloud: one, isStarted: false });
    const lost = bridge.start({ cloud: { base_url: 'https://expired.invalid' } });
    const isTold = () => /DNS: .*expired\.invalid/.test(bridge.json('bridge/health')?.reason);
    await waitFor(isTold, { what: 'words about DNS' });
    expect(bridge.json('bridge/health').status).toBe('cloud_unreachable');
    // That the password of these tests is short is no word about the sign-in.
    expect(lost.output.replace(/.*fewer than 8 characters.*/, '')).not.toMatch(
      /password|credential|rejected/i,
    );
    expect((await lost.stop()).code).toBe(0);
    bridge.start();
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
  });
});

describe('17, 18 and 22: a broker that is away at boot, for long, and a bridge that dies', () => {
  it('it waits; in little memory it goes on with what is new; and when it is killed, the exit says so', async () => {
    const bridge = await startBridge({
      cloud: { ...one, sonics: 4 },
      // Names as long as no cloud has them: in little time, more than there is memory for.
      config: { schedules: { sonics: '100ms', incidents: '1h', telemetry: '1h', signals: '1h' } },
      isStarted: false,
    });
    const { cloud: simulator, broker, mqtt } = bridge;
    await broker.stop();
    const cwd = temporaryFolder();
    const env = { NODE_OPTIONS: '--max-old-space-size=64' };
    const program = startProgram(['run'], { cwd, env, config: bridge.config });
    await program.waitForOutput(/MQTT broker .*refused/);
    await broker.restart();
    await mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    const [id = '', ...others] = simulator.world.thingIds;
    await mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`);
    await broker.stop();
    const lists = () => simulator.requests.count('list_sonics');
    for (let change = 1; change <= 24; change++) {
      for (const each of [id, ...others]) {
        simulator.world.changeSonic(each, { name: `${change} ${'x'.repeat(1_000_000)}` });
      }
      const from = lists();
      await waitFor(() => lists() >= from + 2, { what: 'the next list' });
    }
    expect(program.isRunning, program.output.slice(-2_000)).toBe(true);
    for (const each of [id, ...others]) simulator.world.changeSonic(each, { name: 'Newest' });
    await broker.restart();
    const isNewest = (text: string) => JSON.parse(text).name === 'Newest';
    await mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`, isNewest);
    // It says so itself once all is there.
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');

    await program.stop('SIGKILL');
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
  });
});

describe('23: the account shows settings only', () => {
  it('check says why nothing else will be there', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 0, sonics: 0 },
      isStarted: false,
    });
    const check = startProgram(['check'], { config: bridge.config });
    await check.ended();
    expect(check.stdout).toMatch(/but no hub/);
  });
});

describe('24: the container wants to be root, breaks on volumes, and shows passwords', () => {
  const forbidding = whyAccessCannotBeDenied();

  it.skipIf(forbidding !== null)(
    'a data folder that is not its own is said in words, and all else works',
    async () => {
      const { bridge, sonicId, start, untilHealth } = await startDiskBridge();
      const dataDir = temporaryFolder();
      denyAccess(dataDir);
      const program = start(dataDir);
      await untilHealth(/cannot write to the folder/);
      expect(program.output).toContain(dataDir);
      await bridge.mqtt.waitForTopic(
        `sonic2mqtt/sonic/${sonicId}`,
        (text) => JSON.parse(text).valve === 'open',
      );
      await bridge.mqtt.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE');
      await bridge.mqtt.waitForTopic(
        `sonic2mqtt/sonic/${sonicId}`,
        (text) => JSON.parse(text).valve === 'closed',
      );
      expect((await program.stop('SIGTERM')).code).toBe(0);
    },
  );

  it('every secret can be in a file, so that none is in the environment or the list of processes', async () => {
    expect(secretPaths.length).toBeGreaterThan(2);
    const known = configSchema.parse({
      cloud: { base_url: 'https://cloud.example.com', email: 'a@example.com', password: 'p' },
      mqtt: { url: 'mqtt://broker.example.com' },
    });
    for (const path of secretPaths) {
      const keys = `${path}_file`.split('.');
      const [last = ''] = keys.slice(-1);
      // biome-ignore lint/suspicious/noExplicitAny: a path through all sections
      const section = keys.slice(0, -1).reduce<any>((tree, key) => tree[key], known);
      expect(section, path).toHaveProperty(last);
    }

    const bridge = await startBridge({ cloud: { ...one, password: 'quite secret' }, isStarted: false });
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'quite secret\n');
    const program = bridge.start({ cloud: { password: undefined, password_file: file } });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    if (process.platform === 'linux') {
      for (const list of ['cmdline', 'environ']) {
        expect(readFileSync(`/proc/${program.pid}/${list}`, 'utf8')).not.toContain('quite secret');
      }
    }
    expect(readFileSync(join(program.cwd, 'config.yaml'), 'utf8')).not.toContain('quite secret');
    expect(program.output).not.toContain('quite secret');
    expect([...bridge.mqtt.last.values()].join()).not.toContain('quite secret');
  });

  it('the image runs as an unprivileged user, writes in one folder that anybody may use, and holds no secret', () => {
    const image = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
    const users = [...image.matchAll(/^USER +(\S+)/gm)].map(([, user]) => user);
    expect(users.at(-1)).toMatch(/^(?!root$|0$)/);
    expect(users).not.toEqual([]);
    expect(image).toMatch(/^VOLUME \/data$/m);
    expect(image).toMatch(/-m 1777 \/data/);
    expect(image).not.toMatch(/^(ENV|ARG).*(PASSWORD|SECRET|TOKEN)/im);
  });
});
