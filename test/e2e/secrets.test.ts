import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startProcess } from '../support/childProcess.ts';
import { type House, startHouse } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { request } from '../support/requester.ts';
import { startTalkativeCloud } from '../support/talkativeCloud.ts';
import { waitFor } from '../support/waitFor.ts';

const slow = { timeout: 60_000 };

const password = 'clöud "pass\\word" & 1';
const wrongPassword = 'wröng/pass=word+2';
const brokerPassword = 'brok€r: secret/3';
const webhookSecret = 'webhook-secret-4';
const signingSecret = 'signing-secret-5';

/** The ways in which a secret can be written where programs and people read. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const url = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    ...[
      secret,
      json,
      JSON.stringify(json).slice(1, -1),
      url,
      url.replace(/%../g, (code) => code.toLowerCase()),
    ],
    ...[
      bytes.toString('base64'),
      bytes.toString('base64url'),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
    ],
  ];
}

/** As it goes out with HTTP's Basic authentication. */
function basic(secret: string): string {
  return Buffer.from(`bridge:${secret}`).toString('base64');
}

/** The secrets that a text tells, each with what stands around it. */
function found(text: string, secrets: Iterable<string>): string[] {
  return [...secrets].flatMap((secret) => {
    // What stands before and after it shares some letters with it, which tell nothing.
    const forms = [...spellings(secret), basic(secret).slice(10, -4)];
    const form = forms.find((each) => text.includes(each));
    if (form === undefined) return [];
    const at = text.indexOf(form);
    return [`${secret}: …${text.slice(Math.max(0, at - 150), at + form.length + 20)}…`];
  });
}

/** Everything that anybody can read of a bridge. */
function readable({ watcher, bridge }: House): string {
  const messages = watcher.messages.map(({ topic, text }) => `${topic} ${text}`);
  const commandLine = readFileSync(`/proc/${bridge.pid}/cmdline`, 'utf8');
  return [...messages, ...watcher.last.values(), bridge.stdout, bridge.stderr, commandLine].join('\n');
}

describe.each(['pretty', 'json'])('a bridge that tells everything, as %s', (format) => {
  it('tells no secret, although the cloud says them back in all that it says', slow, async () => {
    const passwordFile = join(temporaryFolder(), 'password');
    writeFileSync(passwordFile, `${wrongPassword}\n`);
    const isGuarded = mosquittoAvailable();
    const house = await startHouse({
      isStarted: false,
      cloud: { properties: 1, signals: 1, sonics: 1, password },
      broker: isGuarded ? { password: { user: 'bridge', password: brokerPassword } } : {},
    });
    const { simulator, watcher } = house;
    const cloud = await startTalkativeCloud(simulator);
    const all = [password, wrongPassword, brokerPassword, webhookSecret, signingSecret];
    cloud.gossip.push(...all.flatMap(spellings), ...all.map(basic));
    const { url } = house.broker;
    house.startBridge({
      cloud: { base_url: cloud.url, password: null, password_file: passwordFile },
      // In the address, where it is written as URLs are.
      mqtt: {
        url: url.replace('//', `//bridge:${encodeURIComponent(brokerPassword)}@`),
        username: null,
        password: null,
      },
      http: { webhook: { secret: webhookSecret, signing_secret: signingSecret } },
      log: { level: 'trace', format },
    });
    await watcher.waitForTopic('sonic2mqtt/bridge/health', (text) => text.includes('auth_failed'));
    writeFileSync(passwordFile, password);
    const [sonicId = ''] = simulator.world.sonics.ids;
    await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}`, () => true, 20_000);
    await watcher.waitForTopic(
      `sonic2mqtt/property/${simulator.world.properties.ids[0]}/settings`,
      () => true,
    );
    simulator.expireTokens();
    await waitFor(() => cloud.tokens.size > 1, { what: 'a new session', timeoutMs: 10_000 });
    const answer = await request(house, 'read_sonic', { params: { sonic_id: sonicId } });
    expect(answer).toMatchObject({
      status: 'ok',
      data: { id: sonicId, name: expect.stringContaining('[hidden]') },
    });
    const refusal = await request(house, 'read_sonic', { params: { sonic_id: 'nobody' } });
    expect(refusal).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('[hidden]') },
    });
    const record = house.json(`sonic/${sonicId}`);
    expect(record.heard).toContain('[hidden]');
    expect(record.serial_no).toBe(simulator.world.sonics.get(sonicId)?.serial_no);
    expect(found(readable(house), [...all, ...cloud.tokens])).toEqual([]);
    await house.bridge.stop();
    expect(found(readableAfter(house), [...all, ...cloud.tokens])).toEqual([]);
  });
});

function readableAfter({ watcher, bridge }: House): string {
  return [...watcher.last.values(), bridge.output].join('\n');
}

describe('a mistake that nobody catches', () => {
  it('ends the bridge with its stack in the log, and no secret in it', slow, async () => {
    const house = await startHouse({ isStarted: false, cloud: { password } });
    const preload = join(temporaryFolder(), 'mistake.mjs');
    writeFileSync(
      preload,
      `process.on('SIGUSR2', () => {
        throw Object.assign(new Error('about ' + process.env.MISTAKE), { options: { password: process.env.MISTAKE } });
      });`,
    );
    const bridge = startProgram(['run'], {
      config: { ...house.config, cloud: { ...Object(house.config).cloud, password } },
      env: { MISTAKE: password, NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` },
    });
    await bridge.waitForOutput(/Found properties/, 20_000);
    bridge.signal('SIGUSR2');
    expect((await bridge.ended()).code).toBe(1);
    expect(bridge.stderr).toMatch(/FATAL: The bridge ends because of a mistake in it\n {4}err: \{/);
    expect(bridge.stderr).toMatch(/about \[hidden\]\n +at .*mistake\.mjs/);
    expect(found(bridge.output, [password])).toEqual([]);
  });
});

describe('sonic2mqtt call with a wrong password', () => {
  it('says so once, and does not speak of a next attempt, as there is none', slow, async () => {
    const house = await startHouse({ isStarted: false, cloud: { password } });
    const config = { ...house.config, cloud: { ...Object(house.config).cloud, password: wrongPassword } };
    const call = startProgram(['call', 'list_sonics'], { config });
    expect((await call.ended()).code).toBe(3);
    expect(call.output).toBe(
      'sonic2mqtt: list_sonics: the cloud does not accept the e-mail or the password (HTTP 401)\n',
    );
  });
});

describe('the files of the bridge', () => {
  it('are for their owner only, even where the system would let everybody read', slow, async () => {
    const house = await startHouse({ isStarted: false });
    const folder = temporaryFolder();
    const dataDir = join(folder, 'new', 'data');
    writeFileSync(join(folder, 'config.yaml'), stringify({ ...house.config, data_dir: dataDir }));
    const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const bridge = startProcess('sh', ['-c', 'umask 000; exec "$0" "$1" run', process.execPath, main], {
      cwd: folder,
      env: { PATH: process.env['PATH'] },
    });
    await bridge.waitForOutput(/Found properties/, 20_000);
    const files = () => readdirSync(dataDir).map((name) => join(dataDir, name));
    await waitFor(() => files().some((file) => /token/.test(readFileSync(file, 'utf8'))), {
      what: 'the session on disk',
    });
    await bridge.stop();
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect(files().length).toBeGreaterThan(0);
    for (const file of files()) expect([file, modeOf(file)]).toEqual([file, '600']);
    expect(modeOf(dataDir)).toBe('700');
    expect(modeOf(join(folder, 'new'))).toBe('700');
  });
});
