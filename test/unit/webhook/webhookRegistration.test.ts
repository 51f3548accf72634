import { EventEmitter } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { PropertySettings } from '../../../src/model/records.ts';
import type { Poller } from '../../../src/polling/poller.ts';
import { Store } from '../../../src/store/store.ts';
import { WebhookRegistration } from '../../../src/webhook/webhookRegistration.ts';
import { startClient } from '../../support/clientBench.ts';
import type { StubHandler } from '../../support/cloudStub.ts';
import { logLines } from '../../support/logLines.ts';
import { aProperty, someSettings } from '../../support/views.ts';

const url = 'https://home.example.com/webhook/hush-hush';
const shownUrl = 'https://home.example.com/webhook/[hidden]';

/** Two properties with these settings, and what the bridge does to them. */
async function start(settings: Partial<PropertySettings> | null | undefined, handler?: StubHandler) {
  const clock = systemClock;
  const session = { token: 'kept', since: Date.now() };
  const answer: StubHandler =
    handler ?? (({ body }) => ({ json: { ...someSettings(settings ?? {}), ...(body as object) } }));
  const { client, stub } = await startClient(answer, { session });
  const store = new Store({ selection: [], clock });
  const records = [aProperty({ id: 'one' }), aProperty({ id: 'two' })];
  store.replaceProperties({ records, isComplete: true, startedAt: 0 });
  /** As the properties' poll reads them. */
  const read = (changes: Partial<PropertySettings> | null | undefined = settings) => {
    for (const id of ['one', 'two']) {
      const shown = changes && someSettings(changes);
      if (shown !== undefined) store.setSettings(id, shown, clock.monotonic());
    }
  };
  read();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const lines = logLines();
  const registration = new WebhookRegistration(
    client,
    store,
    new EventEmitter() as unknown as Poller,
    { url, shownUrl, stopping: stopping.signal },
    clock,
    lines.log,
  );
  return { store, stub, lines, look: registration.look, read };
}

const wanted = { webhook_enabled: true, webhook_url: url };

describe('the registration', () => {
  it('sets both fields of each property together, and once', async () => {
    const { stub, look, lines } = await start({ webhook_enabled: false, webhook_url: '' });
    await Promise.all([look(), look()]);
    await look();
    expect(
      stub.requests.map(({ method, path, body }) => [method, path.split('/').slice(-2)[0], body]),
    ).toEqual([
      ['PUT', 'one', wanted],
      ['PUT', 'two', wanted],
    ]);
    expect(lines.messages.filter((line) => line.startsWith('info: Webhook registered for '))).toHaveLength(2);
  });

  it.each([
    ['as it is', url],
    ['with the secret hidden', shownUrl],
    ['with a slash at its end', `${url}/`],
    ['with the host in other letters, and its port', 'https://HOME.example.com:443/webhook/hush-hush'],
  ])('leaves alone what is there already, %s', async (_, webhook_url) => {
    const { stub, look } = await start({ webhook_enabled: true, webhook_url });
    await look();
    expect(stub.requests).toEqual([]);
  });

  it('is done once a run where the cloud does not show the address, not even in its answer', async () => {
    const silent = { webhook_enabled: true, webhook_url: null };
    const { store, stub, look, read } = await start(silent, () => ({ json: someSettings(silent) }));
    for (let each = 0; each < 5; each++) {
      await look();
      read();
    }
    expect(stub.requests).toHaveLength(2);
    expect(store.propertyView('one')?.settings?.webhook_url).toBe(shownUrl);
  });

  it('switches on what somebody has switched off', async () => {
    const { stub, look } = await start({ webhook_enabled: false, webhook_url: shownUrl });
    await look();
    expect(stub.requests.map(({ body }) => body)).toEqual([wanted, wanted]);
  });

  it('says no more of another address than where it led', async () => {
    const { look, lines } = await start({
      webhook_enabled: true,
      webhook_url: 'https://other.example.com:8443/tell-nobody',
    });
    await look();
    expect(lines.text).toContain('replaced: https://other.example.com:8443 gets no more calls');
    expect(lines.text).not.toContain('tell-nobody');
  });

  it('that failed is tried again with the next look, and one that was refused is not', async () => {
    const statuses: Record<string, number> = { one: 503, two: 422 };
    const { stub, look, lines } = await start({ webhook_url: '' }, ({ path }) => ({
      status: statuses[path.split('/').at(-2) ?? ''] ?? 200,
      json: { message: 'no' },
    }));
    await look();
    await look();
    const asked = stub.requests.map(({ path }) => path.split('/').at(-2));
    expect(asked.filter((id) => id === 'two')).toHaveLength(1);
    expect(asked.filter((id) => id === 'one').length).toBeGreaterThanOrEqual(2);
    expect(lines.messages.filter((line) => /Cannot register .*[^r]$/.test(line))).toHaveLength(1);
    expect(lines.messages.filter((line) => line.endsWith('. Trying again later'))).toHaveLength(2);
  });

  it('is left to others where they change it again and again', async () => {
    const another = { webhook_enabled: true, webhook_url: 'https://other.example.com/' };
    const { stub, look, read, lines } = await start(another);
    for (let change = 0; change < 5; change++) {
      read(another);
      await look();
    }
    expect(stub.requests.filter(({ path }) => path.includes('/one/'))).toHaveLength(3);
    expect(lines.text).toContain('overwritten repeatedly by another client. Giving up');
  });
});
