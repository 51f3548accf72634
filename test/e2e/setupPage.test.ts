import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { fault, startBridge } from '../support/bridge.ts';
import { runProgram } from '../support/callProgram.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProgram, startProgram } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({ isStarted: false });
const { email, password, base_url: cloudUrl } = Object(bridge.config['cloud']);
const brokerUrl: string = Object(bridge.config['mqtt']).url;
const answers = { email, password, broker: brokerUrl, brokerUsername: '', brokerPassword: '' };

const json = { 'content-type': 'application/json' };

/** Starts the program where there is no configuration. */
async function startUnconfigured(
  variables: Readonly<Record<string, string>> = {},
  { port = 0, untilInvited = async (_program: RunningProgram) => {} } = {},
) {
  port ||= await freePort();
  const env = { SONIC2MQTT_SETUP: `127.0.0.1:${port}`, SONIC2MQTT_CLOUD__BASE_URL: cloudUrl, ...variables };
  const program = startProgram(['run'], { env });
  await untilInvited(program);
  const [, ...digits] = await program.waitForOutput(/enter the code (\d{3}) (\d{3})$/m);
  const url = `http://127.0.0.1:${port}`;
  const send = async (sent: object) => {
    const response = await fetch(`${url}/setup`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(sent),
    });
    return { status: response.status, body: Object(await response.json()) };
  };
  return { program, url, send, code: digits.join(''), file: join(program.cwd, 'config.yaml') };
}

it('writes what was entered with the code from the log, and runs the bridge with it', async () => {
  const { program, url, send, code, file } = await startUnconfigured();
  const page = async (language: string) =>
    (await fetch(url, { headers: { 'accept-language': language } })).text();
  expect(await page('en')).toContain('Set up sonic2mqtt');
  expect(await page('de')).toContain('sonic2mqtt einrichten');
  expect(await page('de')).not.toContain('{{');
  expect(await send({ ...answers, code: 'none' })).toEqual({ status: 403, body: { problem: 'code' } });
  expect(await send({ code })).toEqual({ status: 400, body: { problem: 'form' } });
  const wrong = await send({ ...answers, code, password: 'wrong' });
  const failure = expect.objectContaining({ check: 'sign-in', text: 'result_sign_in_rejected' });
  expect(wrong.body).toMatchObject({ isSaved: false, findings: expect.arrayContaining([failure]) });
  expect(existsSync(file)).toBe(false);
  // As the log shows it.
  const right = await send({ ...answers, code: `${code.slice(0, 3)} ${code.slice(3)}` });
  expect(right.body).toMatchObject({ isSaved: true });
  expect(parse(readFileSync(file, 'utf8'))).toEqual({ cloud: { email, password }, mqtt: { url: brokerUrl } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
  await expect(fetch(url)).rejects.toThrow();
  expect(program.output).not.toContain(password === 'demo' ? '"demo"' : password);
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('writes the choices too: language, status page, no control of valves, and goes on to that page', async () => {
  const { program, url, send, code, file } = await startUnconfigured();
  const { host } = new URL(url);
  const typed = { ...answers, code, language: 'pl', keepPage: true, watchOnly: true };
  expect((await send(typed)).body).toMatchObject({ isSaved: true, hasPage: true });
  expect(parse(readFileSync(file, 'utf8'))).toEqual({
    cloud: { email, password },
    mqtt: { url: brokerUrl },
    homeassistant: { language: 'pl' },
    control: { valves: false },
    http: { listen: host },
  });
  await program.waitForOutput(
    /Watch only: nobody can move a valve\. To end this, set control\.valves in \S+ to true/,
  );
  const isThere = () =>
    fetch(`${url}/status.json`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor(isThere, { what: 'the status page' });
  expect(await (await fetch(`${url}/status.json`)).json()).toMatchObject({ status: { isWatchOnly: true } });
  const page = await (await fetch(`${url}/?setup=done`)).text();
  expect(page).toMatch(/<p id="watch-only" hidden class="faint">Watch only/);
  expect(page).not.toContain('{{');
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('is in the chosen language, says what is set and where the code is, and closes after five wrong codes of its own', async () => {
  const variables = { SONIC2MQTT_MQTT__USERNAME: 'home', SONIC2MQTT_MQTT__PASSWORD_FILE: '/none' };
  const inSystemd = { ...variables, INVOCATION_ID: '1' };
  const { program, url, send, code, file } = await startUnconfigured(inSystemd);
  const text = async (path: string) => (await fetch(`${url}${path}`)).text();
  const page = await text('/?language=fr');
  expect(page).toContain('Configurer sonic2mqtt');
  expect(page).toContain('<code>journalctl -u sonic2mqtt</code>');
  expect(page).toMatch(/autocomplete="username"[\s\S]*autocomplete="current-password"/);
  expect(await text('/texts.js?language=fr')).toContain('"language":"fr"');
  expect(await text('/icon.svg')).toContain('<svg');
  expect(await text('/favicon.ico')).toContain('<svg');
  expect(JSON.parse(await text('/broker'))).toMatchObject({
    keepPage: true,
    set: {
      brokerUsername: 'SONIC2MQTT_MQTT__USERNAME',
      brokerPassword: 'SONIC2MQTT_MQTT__PASSWORD_FILE',
    },
  });
  // Pages of other web sites cannot send this content type.
  for (let tries = 1; tries <= 5; tries++) {
    const body = JSON.stringify({ ...answers, code: '-' });
    expect((await fetch(`${url}/setup`, { method: 'POST', body })).status).toBe(400);
  }
  expect((await fetch(`${url}/setup`, { method: 'OPTIONS' })).status).toBe(405);
  expect(await send({ ...answers, code, password: 'wrong' })).toMatchObject({ status: 200 });
  for (let tries = 1; tries <= 5; tries++) {
    const problem = tries < 5 ? 'code' : 'closed';
    expect(await send({ ...answers, code: '-' })).toEqual({ status: 403, body: { problem } });
  }
  expect(await send({ ...answers, code })).toEqual({ status: 403, body: { problem: 'closed' } });
  expect(existsSync(file)).toBe(false);
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('says that a user of the broker is not used where the environment names one', async () => {
  const { program, send, code, file } = await startUnconfigured({ SONIC2MQTT_MQTT__USERNAME: 'sonic2mqtt' });
  const typed = { ...answers, code, brokerUsername: ' home ', keepBroker: true };
  const { isSaved, findings } = (await send(typed)).body;
  expect([isSaved, existsSync(file)]).toEqual([false, false]);
  const words = expect.stringContaining('SONIC2MQTT_MQTT__USERNAME is set');
  const check = 'mqtt.username';
  const text = 'result_field';
  expect(findings).toContainEqual({ check, field: 'brokerUsername', outcome: 'FAIL', words, text });
  expect((await send({ ...typed, brokerUsername: ' ' })).body).toMatchObject({ isSaved: true });
  await program.stop();
});

it('takes a broker that is away only if that is wanted', async () => {
  const { program, send, code, file } = await startUnconfigured();
  const away = { ...answers, code, broker: `localhost:${await freePort()}`, brokerUsername: 'home' };
  const refused = expect.arrayContaining([expect.objectContaining({ text: 'result_broker_fails' })]);
  expect((await send(away)).body).toMatchObject({ isSaved: false, canKeepBroker: true, findings: refused });
  const wrong = (await send({ ...away, broker: 'http://x', keepBroker: true })).body;
  expect(wrong).toMatchObject({ isSaved: false, canKeepBroker: false });
  const failures = wrong.findings.filter(({ outcome }: { outcome: string }) => outcome === 'FAIL');
  expect(failures).toMatchObject([{ check: 'mqtt.url', field: 'broker' }]);
  expect((await send({ ...away, keepBroker: true })).body).toMatchObject({ isSaved: true });
  expect(parse(readFileSync(file, 'utf8')).mqtt).toEqual({ url: `mqtt://${away.broker}`, username: 'home' });
  await program.waitForOutput(/Signed in/);
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('waits for its port, replaces no configuration, and runs the bridge also if the browser left before its answer', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = Object(other.address());
  const { program, url, send, code, file } = await startUnconfigured(
    {},
    {
      port,
      async untilInvited(starting) {
        const words = /SONIC2MQTT_SETUP: port \d+ of 127.0.0.1 is in use by another program/;
        await starting.waitForOutput(words);
        expect(starting.output).not.toContain('enter the code');
        // Within five seconds it tries again.
        other.close();
      },
    },
  );
  // Written meanwhile.
  writeFileSync(file, '# my own');
  const words = 'cannot be written (the file exists already)';
  const failure = { check: file, outcome: 'FAIL', words, text: 'result_file_fails' };
  expect((await send({ ...answers, code })).body).toMatchObject({
    isSaved: false,
    findings: expect.arrayContaining([failure]),
  });
  expect(readFileSync(file, 'utf8')).toBe('# my own');
  rmSync(file);
  const leaving = new AbortController();
  const body = JSON.stringify({ ...answers, code });
  bridge.cloud.setFaults([fault('latency=300')]);
  const signIns = bridge.sent('sign_in').length;
  const sent = fetch(`${url}/setup`, { method: 'POST', headers: json, body, signal: leaving.signal });
  await waitFor(() => bridge.sent('sign_in').length > signIns, { what: 'the test' });
  leaving.abort();
  await expect(sent).rejects.toThrow();
  bridge.cloud.setFaults([]);
  await program.waitForOutput(/Signed in/);
  expect(existsSync(file)).toBe(true);
  expect(await program.stop()).toMatchObject({ code: 0 });
});

it('is not there where it is switched off', async () => {
  const { code, stderr, stdout } = await runProgram(['run'], { env: { SONIC2MQTT_SETUP: 'off' } });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^No configuration found at \S+config\.yaml\. .*\n$/);
});
