import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fault, startHouse } from '../support/house.ts';
import { ask, portOf, startHttpHouse } from '../support/httpHouse.ts';
import { waitFor } from '../support/waitFor.ts';

const small = { properties: 1, signals: 1, sonics: 1 };
const json = async (url: string) => JSON.parse((await ask(url)).text);

describe('the health over HTTP', () => {
  it('is ready once the cloud and the broker have both worked, and says which half is broken', async () => {
    const { house, url } = await startHttpHouse({}, { cloud: { ...small, faults: [fault('error=503')] } });
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    await waitFor(async () => (await json(`${url}/readyz`)).cloud.reason?.includes('503'), {
      what: 'the reason',
    });
    const before = await ask(`${url}/readyz`);
    expect(before.status).toBe(503);
    expect(before.headers['content-type']).toMatch(/^application\/json/);
    expect(JSON.parse(before.text)).toMatchObject({ status: 'not_ready', cloud: { status: 'down' } });

    house.simulator.setFaults([]);
    await waitFor(async () => (await ask(`${url}/readyz`)).status === 200, {
      what: 'readiness',
      timeoutMs: 15_000,
    });
    expect(await json(`${url}/readyz`)).toEqual({
      status: 'ready',
      version: expect.any(String),
      cloud: { status: 'up', reason: null },
      broker: { status: 'up', reason: null },
    });

    await house.broker.stop();
    await waitFor(async () => (await ask(`${url}/readyz`)).status === 503, { what: 'the missing broker' });
    const after = await json(`${url}/healthz`);
    expect(after).toMatchObject({ status: 'ok', cloud: { status: 'up' }, broker: { status: 'down' } });
    expect(after.broker.reason).toMatch(/^the connection was (closed|reset)$|refused/);
    expect((await ask(`${url}/healthz`)).status).toBe(200);
  });

  it('is not well while the broker is away, though the cloud is back; then everything works', async () => {
    const { house, url } = await startHttpHouse({}, { cloud: small });
    await waitFor(async () => (await ask(`${url}/readyz`)).status === 200, { what: 'readiness' });
    const status = async () => (await json(`${url}/status.json`)).status;
    await house.broker.stop();
    house.simulator.setFaults([fault('error=503')]);
    await waitFor(async () => (await status()).health.status === 'cloud_unreachable', {
      what: 'the outage of the cloud',
      timeoutMs: 15_000,
    });
    house.simulator.setFaults([]);
    await house.bridge.waitForOutput(/Cloud: back after/);
    const oneSided = await waitFor(
      async () => {
        const document = await status();
        return document.polls.every(({ failure }: { failure: unknown }) => failure === null) && document;
      },
      { what: 'a good poll of everything', timeoutMs: 15_000 },
    );
    expect(oneSided).toMatchObject({
      health: { status: 'degraded', reason: expect.stringMatching(/^no connection to the MQTT broker: ./) },
      cloud: { status: 'up', reason: null },
      broker: { status: 'down' },
    });
    expect((await ask(`${url}/readyz`)).status).toBe(503);
    expect(house.bridge.output).not.toMatch(/Everything works/);

    await house.broker.restart();
    await house.bridge.waitForOutput(/Everything works/, 45_000);
    await waitFor(async () => (await status()).health.status === 'ok', { what: 'a healthy bridge' });
    expect(house.bridge.output.match(/Everything works/g)).toHaveLength(1);
    await waitFor(() => house.json('bridge/health')?.status === 'ok', { what: 'the health at the broker' });
  });

  it('is not ready any more once the data of the cloud is too old', async () => {
    const { house, url } = await startHttpHouse(
      {},
      { cloud: small, config: { http: { listen: '127.0.0.1:0' }, stale_after: '1s' } },
    );
    await waitFor(async () => (await ask(`${url}/readyz`)).status === 200, { what: 'readiness' });
    house.simulator.setFaults([fault('error=503')]);
    const broken = await waitFor(
      async () => {
        const answer = await ask(`${url}/readyz`);
        return answer.status === 503 && JSON.parse(answer.text);
      },
      { what: 'the old data', timeoutMs: 10_000 },
    );
    expect(broken).toMatchObject({ broker: { status: 'up' }, cloud: { status: 'down' } });
    expect(broken.cloud.reason).toContain('503');
  });

  it('answers HEAD, names the methods of a known path, and knows no other', async () => {
    const { url } = await startHttpHouse({}, { cloud: small });
    const head = await ask(`${url}/healthz`, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const answer = await ask(`${url}${path}`, { method: 'POST', body: '{}' });
      expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET, HEAD']);
    }
    for (const path of ['/healthz/', '/health', '/webhook/', '/webhook/x', '/../x', '//metrics', '/%']) {
      expect([path, (await ask(`${url}${path}`)).status]).toEqual([path, 404]);
    }
    expect((await ask(`${url}/healthz?verbose=1`)).status).toBe(200);
  });
});

describe('the metrics', () => {
  it('tell in the format of Prometheus what the bridge did, and nothing of the home', async () => {
    const { house, url } = await startHttpHouse({}, { cloud: { ...small, wifiSonics: 1 } });
    const [sonic = ''] = house.simulator.world.sonics.ids;
    await waitFor(async () => (await ask(`${url}/readyz`)).status === 200, { what: 'readiness' });
    await house.watcher.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
    await waitFor(() => house.events('command').length > 0, { what: 'the outcome' });
    const { status, headers, text } = await ask(`${url}/metrics`);
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const value = (line: string) =>
      Number(
        text
          .split('\n')
          .find((each) => each.startsWith(`${line} `))
          ?.split(' ')[1],
      );
    expect(value('sonic2mqtt_cloud_up')).toBe(1);
    expect(value('sonic2mqtt_broker_up')).toBe(1);
    expect(value('sonic2mqtt_devices{kind="sonic"}')).toBe(2);
    expect(value('sonic2mqtt_open_incidents')).toBe(1);
    expect(value('sonic2mqtt_valve_commands_total{outcome="ok"}')).toBe(1);
    expect(value('sonic2mqtt_valve_commands_total{outcome="refused"}')).toBe(0);
    expect(value('sonic2mqtt_polls_total{schedule="incidents",outcome="success"}')).toBeGreaterThan(0);
    expect(value('sonic2mqtt_polls_total{schedule="incidents",outcome="failure"}')).toBe(0);
    expect(value('sonic2mqtt_last_success_timestamp_seconds{schedule="sonics"}')).toBeGreaterThan(
      Date.now() / 1_000 - 60,
    );
    const sent = value('sonic2mqtt_cloud_requests_total{status="2xx"}');
    expect(sent).toBeGreaterThan(5);
    expect(sent).toBeLessThanOrEqual(house.simulator.requests.count());
    expect(value('sonic2mqtt_mqtt_retained_topics')).toBeGreaterThan(10);
    expect(value('sonic2mqtt_mqtt_messages_published_total')).toBeGreaterThanOrEqual(
      value('sonic2mqtt_mqtt_retained_topics'),
    );
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(text).not.toContain('webhook');

    const { world } = house.simulator;
    const telling = ['id', 'name', 'serial_no', 'signal_id', 'address', 'city', 'postcode'];
    const words = [
      ...world.sonics.values(),
      ...world.wifiSonics.values(),
      ...world.properties.values(),
    ].flatMap((record) =>
      Object.entries(record).flatMap(([field, word]) => (word && telling.includes(field) ? [word] : [])),
    );
    expect(words.length).toBeGreaterThan(10);
    for (const word of words) expect(text).not.toContain(word);
    // A line for each sample, whose labels are few and fixed.
    expect(text.split('\n').length).toBeLessThan(150);
  });
});

describe('an address at which nothing can listen', () => {
  it('is said in words, in bridge/health too, and is used once it is free; the bridge works without', async () => {
    const squatter = createServer();
    await new Promise<void>((listening) => squatter.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void squatter.close());
    const { port } = squatter.address() as { port: number };
    const house = await startHouse({ cloud: small, config: { http: { listen: `127.0.0.1:${port}` } } });
    const words = `http.listen: port ${port} of 127.0.0.1 is in use by another program`;
    await house.bridge.waitForOutput(new RegExp(`${words}\\. The bridge works without it, and tries again`));
    const health = () => house.json('bridge/health');
    await waitFor(() => health()?.reason?.includes(words), { what: 'the health' });
    expect(health()).toMatchObject({ status: 'degraded' });
    const [sonic] = house.simulator.world.sonics.ids;
    await waitFor(() => house.json(`sonic/${sonic}`), { what: 'the devices' });

    squatter.close();
    await portOf(house);
    expect((await ask(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    await waitFor(() => health()?.status === 'ok', { what: 'good health' });
  });

  it('is linked from the device of the bridge, where another machine could open the page there', async () => {
    const links = ['192.0.2.1:8099', '127.0.0.1:0'].map(async (listen) => {
      const house = await startHouse({ cloud: small, config: { http: { listen } } });
      const discovery = 'homeassistant/device/sonic2mqtt_bridge/config';
      return JSON.parse(await house.watcher.waitForTopic(discovery)).device.configuration_url;
    });
    expect(await Promise.all(links)).toEqual(['http://192.0.2.1:8099/', undefined]);
  });

  it.each([
    ['192.0.2.1:8099', /http\.listen: 192\.0\.2\.1 is not an address of this machine/],
    ['nowhere.invalid:8099', /http\.listen: there is no host nowhere\.invalid/],
  ])('is named: %s', async (listen, words) => {
    const house = await startHouse({ cloud: small, config: { http: { listen } } });
    await house.bridge.waitForOutput(words);
    expect(house.bridge.isRunning).toBe(true);
  });
});

describe('a bridge that is told to stop', () => {
  it('hangs up on those who hold a connection, and is gone in time', async () => {
    const { house, port } = await startHttpHouse({}, { cloud: small });
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    const hungUp = new Promise((resolve) => socket.once('close', resolve));
    const { code, durationMs } = await house.bridge.stop();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await hungUp;
  });

  it('listens on nothing unless it is told to', async () => {
    const house = await startHouse({ cloud: small });
    const [sonic] = house.simulator.world.sonics.ids;
    await waitFor(() => house.json(`sonic/${sonic}`), { what: 'the devices', timeoutMs: 15_000 });
    expect(house.bridge.output).not.toContain('HTTP: ');
  });
});
