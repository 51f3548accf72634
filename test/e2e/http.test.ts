import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { freePort } from '../support/ports.ts';
import { waitFor } from '../support/waitFor.ts';

const secret = 'path-secret-8f3a';
const signingSecret = 'signing-secret-51c2';

const port = await freePort();
const publicUrl = `http://127.0.0.1:${port}/webhook/${secret}`;

// Incidents are polled by the hour: news of them comes with a delivery.
const bridge = await startBridge({
  cloud: { properties: 1, signals: 1, sonics: 1, wifiSonics: 1, signingSecret, faults: [fault('error=503')] },
  config: {
    // On a busy machine a command must not be too late.
    cloud: { request_timeout: '10s' },
    stale_after: '2s',
    schedules: { ...hourly, sonics: '300ms', properties: '300ms' },
    http: {
      listen: `127.0.0.1:${port}`,
      webhook: { secret, signing_secret: signingSecret },
    },
  },
  isStarted: false,
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [sonic = ''] = world.sonics.ids;
bridge.start();
const url = await bridge.httpUrl();
const json = async (path: string) => JSON.parse((await httpRequest(url + path)).text);
const isReady = async () => (await httpRequest(`${url}/readyz`)).status === 200;

afterEach(() => cloud.setFaults([]));

/** Every word of the account that tells whose home it is. */
function privateWords(): string[] {
  const telling = ['id', 'serial_no', 'signal_id', 'address', 'city', 'postcode', 'uprn'];
  const records = [...world.sonics.values(), ...world.signals.values(), ...world.properties.values()];
  return records.flatMap((record) =>
    Object.entries(record).flatMap(([field, word]) =>
      word && telling.includes(field) ? [String(word)] : [],
    ),
  );
}

describe('health over HTTP', () => {
  it('is ready once the cloud was read and the broker is connected, and names the half that is down', async () => {
    expect((await httpRequest(`${url}/healthz`)).status).toBe(200);
    await waitFor(async () => (await json('/readyz')).cloud.reason?.includes('503'), { what: 'the reason' });
    expect((await httpRequest(`${url}/readyz`)).status).toBe(503);
    cloud.setFaults([]);
    await waitFor(isReady, { what: 'readiness' });
    expect(await json('/readyz')).toEqual({
      status: 'ready',
      version: expect.any(String),
      cloud: { status: 'up', reason: null },
      broker: { status: 'up', reason: null },
    });
  });

  it('answers HEAD, and refuses other methods and other paths', async () => {
    expect(await httpRequest(`${url}/healthz`, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    for (const path of ['/', '/healthz', '/readyz', '/metrics', '/status.json']) {
      const answer = await httpRequest(url + path, { method: 'POST', body: '{"action":"close"}' });
      expect([path, answer.status, answer.headers['allow']]).toEqual([path, 405, 'GET, HEAD']);
    }
    for (const path of ['/healthz/', '/webhook/x', '/../x', '//metrics', '/%']) {
      expect([path, (await httpRequest(url + path)).status]).toEqual([path, 404]);
    }
    expect(bridge.sent('command_valve')).toEqual([]);
  });
});

it('the metrics count what the bridge does, and say nothing of the home', async () => {
  await bridge.untilShown();
  expect(await bridge.command(`sonic/${sonic}/valve/set`, 'CLOSE')).toMatchObject({ status: 'ok' });
  const { status: code, headers, text } = await httpRequest(`${url}/metrics`);
  expect([code, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  for (const line of [
    'sonic2mqtt_cloud_up 1',
    'sonic2mqtt_broker_up 1',
    'sonic2mqtt_devices{kind="sonic"} 2',
    'sonic2mqtt_open_incidents 1',
    'sonic2mqtt_valve_commands_total{outcome="ok"} 1',
    'sonic2mqtt_valve_commands_total{outcome="refused"} 0',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).toMatch(/^sonic2mqtt_polls_total\{schedule="incidents",outcome="success"\} [1-9]/m);
  for (const word of [...privateWords(), 'Kitchen']) expect(text).not.toContain(word);
});

describe('the status page', () => {
  it('loads nothing from elsewhere and cannot be framed by others', async () => {
    for (const path of [
      '/',
      '/page.css',
      '/page.js',
      '/texts.js',
      '/icon.svg',
      '/icon-alarm.svg',
      '/status.json',
    ]) {
      const answer = await httpRequest(url + path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      // Every address is relative, so that the page works below the prefix of an ingress. Only a link may lead away.
      const text = answer.text.replaceAll(/<a href="https:[^"]*"/g, '<a');
      expect(text).not.toMatch(/(?:href|src)="(?:\/|https?:)|url\(|@import|innerHTML|\son\w+="/);
    }
  });

  it('is in the language of the browser, and the data for other programs in English', async () => {
    const inPolish = async (path: string) =>
      (await httpRequest(url + path, { headers: { 'accept-language': 'pl-PL,pl;q=0.9' } })).text;
    expect(await inPolish('/')).toContain('<html lang="pl">');
    expect(await inPolish('/texts.js')).toContain('"alert_water_presence_detected":"Wyciek"');
    expect(await inPolish('/manifest.webmanifest')).toContain('"short_name": "Woda"');
    expect(await inPolish('/status.json')).toContain('"name":"Water running too long"');
    for (const path of ['/', '/texts.js', '/manifest.webmanifest'])
      expect((await httpRequest(url + path)).text).not.toContain('{{');
  });

  it('can be installed on a phone: its manifest names icons that are there', async () => {
    const manifest = await httpRequest(`${url}/manifest.webmanifest`);
    expect(manifest.headers['content-type']).toBe('application/manifest+json; charset=utf-8');
    const { icons, display } = JSON.parse(manifest.text);
    expect(display).toBe('standalone');
    for (const { src, type, sizes } of icons) {
      const { status: code, headers } = await httpRequest(`${url}/${src}`);
      expect([src, code, headers['content-type']]).toEqual([src, 200, type]);
      const picture = Buffer.from(await (await fetch(`${url}/${src}`)).arrayBuffer());
      expect([
        picture.subarray(1, 4).toString(),
        `${picture.readUInt32BE(16)}x${picture.readUInt32BE(20)}`,
      ]).toEqual(['PNG', sizes]);
    }
  });

  it('shows the names, and nothing else of whose home it is', async () => {
    const { text } = await httpRequest(`${url}/status.json`);
    for (const { name } of world.sonics.values()) expect(text).toContain(JSON.stringify(name));
    for (const word of [...privateWords(), 'demo@example.com']) expect(text).not.toContain(word);
  });

  it('has a valve that moves, and then that the cloud is down and the valve old, with a tag while nothing changes', async () => {
    const name = world.sonics.get(sonic)?.name;
    const last = async () => JSON.parse((await httpRequest(`${url}/status.json`)).text).status;
    const valveIn = (status: Awaited<ReturnType<typeof last>>) =>
      status.properties[0].sonics.find((each: { name: unknown }) => each.name === name);
    await mqtt.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'open');
    await waitFor(async () => valveIn(await last())?.valve === 'open', { what: 'the open valve' });
    cloud.setFaults([fault('error=503')]);
    const isOld = async () => {
      const status = await last();
      return status.cloud.status === 'down' && valveIn(status).doubt === 'old';
    };
    await waitFor(isOld, { what: 'the old valve' });
    expect(await isReady()).toBe(false);
    expect(valveIn(await last()).valve).toBe('open');
    const unchanged = async () => {
      const { headers } = await httpRequest(`${url}/status.json`);
      const again = await httpRequest(`${url}/status.json`, {
        headers: { 'if-none-match': `${headers['etag']}` },
      });
      return again.status === 304 && again.text === '';
    };
    await waitFor(unchanged, { what: 'an answer without a document' });
    cloud.setFaults([]);
    await waitFor(isReady, { what: 'readiness' });
  });
});

describe('a delivery to the webhook', () => {
  const polls = () => bridge.sent('list_incidents').length;
  const sign = (body: string) => {
    const at = Math.floor(Date.now() / 1_000);
    return {
      'HL-Signature': `t=${at},v1=${createHmac('sha256', signingSecret).update(`${at}.${body}`).digest('hex')}`,
    };
  };
  it('causes a poll at once, one more for those that follow within 5 s, and is not believed', async () => {
    const [property = ''] = world.properties.ids;
    world.settings.change(property, { webhook_enabled: true, webhook_url: publicUrl });
    const before = polls();
    // The cloud delivers it to the address in the property's settings.
    world.openIncident({ type: 'water_presence_detected', sonicId: sonic });
    await bridge.untilJson(`sonic/${sonic}/incidents`, ({ open }) => open.water_presence_detected !== null);
    expect(polls()).toBe(before + 1);
    const lie = JSON.stringify({ type: 'incident.created', data: { incident_type: 'low_temperature' } });
    const deliver = () => httpRequest(publicUrl, { method: 'POST', body: lie, headers: sign(lie) });
    const answers = await Promise.all(Array.from({ length: 20 }, deliver));
    expect(new Set(answers.map(({ status: code }) => code))).toEqual(new Set([202]));
    await waitFor(() => polls() > before + 1, { what: 'the poll for those that followed' });
    expect(polls()).toBe(before + 2);
    expect(bridge.json(`sonic/${sonic}/incidents`).open.low_temperature).toBeNull();
    for (const { text } of mqtt.messages) expect(text).not.toContain(secret);
    for (const word of [secret, signingSecret]) expect(bridge.program.output).not.toContain(word);
  });
});

it('open connections are closed when the bridge stops', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
  const hungUp = new Promise((resolve) => socket.once('close', resolve));
  const { code, durationMs } = await bridge.program.stop();
  expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
  await hungUp;
});
