import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { startBridge } from '../support/bridge.ts';
import { startEchoingCloud } from '../support/echoingCloud.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const password = 'clöud "pass\\word" & 1';
const wrongPassword = 'wröng/pass=word+2';
const brokerPassword = 'brok€r: secret/3';
const webhookSecret = 'webhook-secret-4';
const signingSecret = 'signing-secret-5';

/** The ways in which a secret can be written where programs and people read. */
function spellings(secret: string): string[] {
  const url = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const lower = url.replace(/%../g, (code) => code.toLowerCase());
  return [secret, json, JSON.stringify(json).slice(1, -1), url, lower];
}

/** The secrets that a text tells, each with what stands around it. */
function found(text: string, secrets: Iterable<string>): string[] {
  return [...secrets].flatMap((secret) => {
    const form = spellings(secret).find((each) => text.includes(each));
    if (form === undefined) return [];
    const at = text.indexOf(form);
    return [`${secret}: …${text.slice(Math.max(0, at - 150), at + form.length + 20)}…`];
  });
}

it('no secret is in any message or log line, although the cloud repeats them in every answer', async () => {
  const passwordFile = join(temporaryFolder(), 'password');
  writeFileSync(passwordFile, `${wrongPassword}\n`);
  const bridge = await startBridge({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics: 1, password },
    broker: mosquittoAvailable() ? { password: { user: 'bridge', password: brokerPassword } } : {},
  });
  const { cloud, mqtt } = bridge;
  const [sonic_id = ''] = cloud.world.sonics.ids;
  const talkative = await startEchoingCloud(cloud);
  const all = [password, wrongPassword, brokerPassword, webhookSecret, signingSecret];
  talkative.extraTexts.push(...all.flatMap(spellings));
  // In the address, where it is written as URLs are.
  const url = bridge.broker.url.replace('//', `//bridge:${encodeURIComponent(brokerPassword)}@`);
  bridge.start({
    cloud: { base_url: talkative.url, password: null, password_file: passwordFile },
    mqtt: { url, username: null, password: null },
    http: { webhook: { secret: webhookSecret, signing_secret: signingSecret } },
    log: { level: 'trace', format: 'json' },
  });
  await bridge.untilJson('bridge/health', ({ status }) => status === 'auth_failed');
  writeFileSync(passwordFile, password);
  await bridge.untilJson(`sonic/${sonic_id}`, ({ received }) => received.includes('[hidden]'));
  cloud.expireTokens();
  await waitFor(() => talkative.tokens.size > 1, { what: 'a new session' });
  expect(await bridge.request('read_sonic', { params: { sonic_id } })).toMatchObject({
    status: 'ok',
    data: { id: sonic_id, name: expect.stringContaining('[hidden]') },
  });
  expect(await bridge.request('read_sonic', { params: { sonic_id: 'nobody' } })).toMatchObject({
    error: { message: expect.stringContaining('[hidden]') },
  });
  // What is no secret is shown as it is.
  expect(bridge.json(`sonic/${sonic_id}`).serial_no).toBe(cloud.world.sonics.get(sonic_id)?.serial_no);
  const commandLine = readFileSync(`/proc/${bridge.program.pid}/cmdline`, 'utf8');
  await bridge.program.stop();
  const messages = mqtt.messages.map(({ topic, text }) => `${topic} ${text}`);
  const readable = [...messages, bridge.program.output, commandLine].join('\n');
  expect(found(readable, [...all, ...talkative.tokens])).toEqual([]);
});

it('an error that nobody catches ends the bridge with its stack in the log, and no secret in it', async () => {
  const bridge = await startBridge({
    isStarted: false,
    cloud: { password },
    config: { cloud: { password } },
  });
  const preload = join(temporaryFolder(), 'mistake.mjs');
  writeFileSync(
    preload,
    `process.on('SIGUSR2', () => {
      throw Object.assign(new Error('about ' + process.env.MISTAKE), { options: { password: process.env.MISTAKE } });
    });`,
  );
  bridge.start({}, { MISTAKE: password, NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` });
  await bridge.program.waitForOutput(/Found properties/);
  bridge.program.signal('SIGUSR2');
  expect((await bridge.program.ended()).code).toBe(1);
  expect(bridge.program.stderr).toMatch(/FATAL: sonic2mqtt stops because of an internal error\n/);
  expect(bridge.program.stderr).toMatch(/about \[hidden\]\n +at .*mistake\.mjs/);
  expect(found(bridge.program.output, [password])).toEqual([]);
});
