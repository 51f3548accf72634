import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fault, hourly, startHouse } from '../support/house.ts';
import { ask, portOf, startHttpHouse } from '../support/httpHouse.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const secret = 'path-secret-8f3a';
const signingSecret = 'signing-secret-51c2';
const small = { properties: 1, signals: 1, sonics: 1 };

/** A house with a webhook, once all is shown; only a delivery brings news of incidents. */
async function startWithWebhook(webhook: object = {}, schedules: object = hourly) {
  const options = { cloud: small, config: { schedules } };
  const { house, url } = await startHttpHouse({ webhook: { secret, ...webhook } }, options);
  await waitFor(async () => (await ask(`${url}/readyz`)).status === 200, { what: 'readiness' });
  const polls = () => house.simulator.requests.count('list_incidents');
  const deliver = (body = '{}', headers: Record<string, string> = {}, path = secret) =>
    ask(`${url}/webhook/${path}`, { method: 'POST', body, headers });
  return { house, url, polls, deliver };
}

const sign = (body: string, at = Math.floor(Date.now() / 1_000), key = signingSecret) => ({
  'HL-Signature': `t=${at},v1=${createHmac('sha256', key).update(`${at}.${body}`).digest('hex')}`,
});

describe('a delivery to the webhook', () => {
  it('brings news of an incident at once, and those that follow too soon bring one poll more', async () => {
    const { house, polls, deliver } = await startWithWebhook();
    const [sonic] = house.simulator.world.sonics.ids;
    const before = polls();
    house.simulator.world.openIncident({ type: 'water_presence_detected' });
    // What it says is not believed.
    const lie = JSON.stringify({ type: 'incident.created', data: { incident_type: 'low_temperature' } });
    expect(await deliver(lie)).toMatchObject({ status: 202, text: '{"status":"accepted"}' });
    const incidents = () => house.json(`sonic/${sonic}/incidents`);
    await waitFor(() => incidents()?.open.water_presence_detected, { what: 'the incident' });
    expect(incidents().open.low_temperature).toBeNull();
    expect(polls()).toBe(before + 1);

    const burst = await Promise.all(Array.from({ length: 20 }, () => deliver('not even JSON')));
    expect(burst.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
    house.simulator.world.openIncident({ type: 'high_volume_alert' });
    await waitFor(() => incidents()?.open.high_volume_alert, { what: 'the second', timeoutMs: 8_000 });
    expect(polls()).toBe(before + 2);
  });

  it('is not lost while the cloud is away', async () => {
    const { house, deliver } = await startWithWebhook();
    const [sonic] = house.simulator.world.sonics.ids;
    house.simulator.setFaults([fault('error=503')]);
    house.simulator.world.openIncident({ type: 'high_humidity' });
    expect((await deliver()).status).toBe(202);
    await waitFor(() => house.json('bridge/health')?.schedules.incidents.last_error, { what: 'the failure' });
    house.simulator.setFaults([]);
    await waitFor(() => house.json(`sonic/${sonic}/incidents`)?.open.high_humidity, {
      what: 'the incident',
      timeoutMs: 10_000,
    });
  });

  it('must know the secret, and may be no larger than 64 KiB', async () => {
    const { url, polls, deliver } = await startWithWebhook();
    const before = polls();
    for (const path of ['', 'x', `${secret}x`, secret.slice(1), `${secret}/`, `%00${secret}`]) {
      expect([path, (await deliver('{}', {}, path)).status]).toEqual([path, 404]);
    }
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
      const answer = await ask(`${url}/webhook/${secret}`, { method });
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 404, undefined]);
    }
    expect((await deliver('x'.repeat(65_537))).status).toBe(413);
    expect(polls()).toBe(before);
    expect((await ask(`${url}/webhook/${secret}`, { method: 'PUT', body: 'x'.repeat(65_536) })).status).toBe(
      202,
    );
    await waitFor(() => polls() === before + 1, { what: 'the poll' });
  });

  it('must be signed where a signing secret is set, here by a file', async () => {
    const file = join(temporaryFolder(), 'signing');
    writeFileSync(file, `${signingSecret}\n`);
    const { house, url, polls, deliver } = await startWithWebhook({ signing_secret_file: file });
    const before = polls();
    const now = Math.floor(Date.now() / 1_000);
    expect((await deliver('{}')).status).toBe(401);
    expect((await deliver('{}', sign('{ }'))).status).toBe(401);
    expect((await deliver('{}', sign('{}', now, 'another'))).status).toBe(401);
    expect((await deliver('{}', sign('{}', now - 620))).status).toBe(401);
    expect(polls()).toBe(before);
    expect((await deliver('{"a":"ü"}', sign('{"a":"ü"}', now - 580))).status).toBe(202);
    await waitFor(() => polls() === before + 1, { what: 'the poll' });
    expect((await ask(`${url}/metrics`)).text).toMatch(
      /sonic2mqtt_webhook_deliveries_total\{outcome="unauthorized"\} 4\n/,
    );
    expect(house.bridge.output).not.toContain(signingSecret);
    expect(house.bridge.output).not.toContain(secret);
  });
});

describe('the registration of the webhook', () => {
  /** A house whose bridge puts the webhook's address into the settings. */
  async function startRegistering(options: { isGuest?: boolean } = {}) {
    const port = await freePort();
    const public_url = `http://127.0.0.1:${port}/webhook/${secret}`;
    const house = await startHouse({
      isStarted: false,
      cloud: { properties: 2, signals: 2, sonics: 2, signingSecret },
      config: {
        schedules: { ...hourly, properties: '300ms' },
        http: {
          listen: `127.0.0.1:${port}`,
          webhook: { secret, signing_secret: signingSecret, public_url, register: true },
        },
      },
    });
    const { world } = house.simulator;
    const [first = '', second = ''] = world.properties.ids;
    if (options.isGuest) world.setRole(first, 'guest');
    house.startBridge();
    await portOf(house);
    const changes = () =>
      house.simulator.requests.entries.filter(({ operation }) => operation === 'update_property_settings');
    await waitFor(() => world.settings.get(second)?.webhook_url === public_url, { what: 'the registration' });
    return { house, world, first, second, public_url, changes };
  }

  it('lets the cloud call, and is done once; the secret is on no topic', async () => {
    const { house, world, first, public_url, changes } = await startRegistering();
    expect(world.settings.get(first)).toMatchObject({ webhook_enabled: true, webhook_url: public_url });
    const [sonic] = world.sonics.ids;
    await waitFor(() => house.json(`sonic/${sonic}/incidents`), { what: 'the devices' });
    const before = house.simulator.requests.count('list_incidents');
    world.openIncident({ type: 'high_temperature' });
    await waitFor(() => house.json(`sonic/${sonic}/incidents`)?.open.high_temperature, {
      what: 'the incident',
    });
    expect(house.simulator.deliveries).toEqual([{ url: public_url, event: 'incident.created', status: 202 }]);
    expect(house.simulator.requests.count('list_incidents')).toBe(before + 1);

    const polls = () => house.simulator.requests.count('list_properties');
    const now = polls();
    await waitFor(() => polls() > now + 3, { what: 'more looks at the settings' });
    expect(changes().map(({ status }) => status)).toEqual([200, 200]);
    expect(house.json(`property/${first}/settings`).webhook_url).toMatch(/\/webhook\/\[hidden\]$/);
    for (const { text } of house.watcher.messages) expect(text).not.toContain(secret);
    expect(house.bridge.output).not.toContain(secret);

    // Which address it holds the cloud does not show: after a restart it is told once more.
    await house.bridge.stop();
    house.startBridge();
    await house.bridge.waitForOutput(/HTTP: listening/);
    const then = polls();
    await waitFor(() => polls() > then + 3, { what: 'looks after the restart', timeoutMs: 10_000 });
    expect(changes()).toHaveLength(4);
    expect(house.json(`property/${first}/settings`).webhook_url).toMatch(/\/webhook\/\[hidden\]$/);
  });

  it.each([
    ['as it is for a proxy, which may need the slash', 'https://home.example.com/water/', '/water/'],
    [
      'without the slash that the bridge does not have',
      `https://home.example.com/webhook/${secret}/`,
      secret,
    ],
  ])('puts the address there %s', async (_, public_url, ending) => {
    const webhook = { secret, public_url, register: true };
    const house = await startHouse({ cloud: small, config: { http: { listen: '127.0.0.1:0', webhook } } });
    const { world } = house.simulator;
    const registered = () => world.settings.get(world.properties.ids[0] ?? '')?.webhook_url;
    await waitFor(registered, { what: 'the registration' });
    expect(registered()?.endsWith(ending)).toBe(true);
  });

  it('that a guest may not do is said once, and done where it may be', async () => {
    const { house, world, first, changes } = await startRegistering({ isGuest: true });
    await house.bridge.waitForOutput(/Webhook: .*it is not registered there/);
    const polls = () => house.simulator.requests.count('list_properties');
    const now = polls();
    await waitFor(() => polls() > now + 3, { what: 'more looks at the settings' });
    expect(
      changes()
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual([200, 403]);
    expect(world.settings.get(first)).toMatchObject({ webhook_enabled: false });
  });
});

describe('a webhook that cannot do anything', () => {
  it.each([
    [{ webhook: { secret } }, /http\.webhook does nothing without http\.listen/],
    [
      { listen: '127.0.0.1:0', webhook: { signing_secret: 'x' } },
      /does nothing without http\.webhook\.secret/,
    ],
    [
      { listen: '127.0.0.1:0', webhook: { secret, register: true, public_url: 'https://me.example.com' } },
      /public_url does not end with \/webhook\/ and http\.webhook\.secret/,
    ],
  ])('is said at the start: %j', async (http, words) => {
    const house = await startHouse({ cloud: small, config: { http } });
    await house.bridge.waitForOutput(words);
  });
});
