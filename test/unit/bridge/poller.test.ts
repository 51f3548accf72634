import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Poller } from '../../../src/bridge/poller.ts';
import { type Happening, Store } from '../../../src/bridge/store.ts';
import type { StubHandler } from '../../support/cloudStub.ts';
import { logLines } from '../../support/logLines.ts';
import { startBench } from '../../support/testClient.ts';
import { waitFor } from '../../support/waitFor.ts';

const hourly = { kind: 'every', everyMs: 3_600_000 } as const;
const list = (...data: object[]) => ({
  json: { data, page_number: 1, page_size: 10, total_entries: data.length, total_pages: 1 },
});

/** A poller that polls when it is told to, on a stub of the cloud. */
async function startPoller(handler: StubHandler) {
  const { client, stub } = await startBench(handler, { session: { token: 'kept', since: Date.now() } });
  const store = new Store({ selection: [], staleAfterMs: 300_000 }, () => {});
  const happened: Happening[] = [];
  const schedules = {
    properties: hourly,
    signals: hourly,
    sonics: hourly,
    incidents: hourly,
    telemetry: hourly,
  };
  const poller = new Poller(
    client,
    store,
    { schedules, timezone: 'UTC', staleAfterMs: 300_000, requestTimeoutMs: 5_000 },
    { happened: (happenings) => void happened.push(...happenings), polled: () => {} },
    systemClock,
    Math.random,
    logLines('error').log,
  );
  onTestFinished(() => poller.stop());
  await poller.start();
  return { poller, store, happened, client, stub };
}

describe('an incident that the list of open ones misses', () => {
  const leak = { id: 'leak', open: true, type: 'long_flow_alert', state: 'contacting' };

  /** A cloud whose list names the incident only at first. */
  async function startWith(record: object) {
    let isListed = true;
    const bench = await startPoller(({ path }) => {
      if (path.endsWith('/incidents/leak')) return record;
      return path.endsWith('/incidents') && isListed ? list(leak) : list();
    });
    isListed = false;
    const before = bench.stub.requests.length;
    bench.poller.refresh();
    await waitFor(
      () => bench.stub.requests.slice(before).some(({ path }) => path.endsWith('/incidents/leak')),
      { what: 'the question' },
    );
    const names = () => bench.happened.map(({ event }) => event);
    return { ...bench, names };
  }

  it.each([
    ['the cloud itself says that it is', { json: leak }],
    ['nobody knows', { status: 422 }],
  ])('stays open while %s', async (_, answer) => {
    const { store, poller, stub, names } = await startWith(answer);
    poller.refresh();
    const asked = () => stub.requests.filter(({ path }) => path.endsWith('/incidents/leak'));
    await waitFor(() => asked().length === 2, { what: 'the second question' });
    expect(store.incident('leak')).toMatchObject({ open: true });
    expect(names()).toEqual(['incident_opened']);
  });

  it('is closed by what the cloud says of it, with the last word', async () => {
    const resolved = { ...leak, open: false, state: 'resolved', possible_actions: ['reopen'] };
    const { store, happened, names } = await startWith({ json: resolved });
    await waitFor(() => store.incident('leak') === null, { what: 'the end' });
    expect(names()).toEqual(['incident_opened', 'incident_closed']);
    expect(happened.at(-1)?.record).toMatchObject({ state: 'resolved', possible_actions: ['reopen'] });
  });

  it('is closed when the cloud knows it no more', async () => {
    const { store, names } = await startWith({ status: 404 });
    await waitFor(() => store.incident('leak') === null, { what: 'the end' });
    expect(names()).toEqual(['incident_opened', 'incident_closed']);
  });
});

describe('telemetry', () => {
  const sonics = ['one', 'two'].map((id) => ({ id, radio_connection: 'connected' }));

  it.each([
    ['one', 'two'],
    ['two', 'one'],
  ])('that sonic %s does not have is shown for sonic %s', async (without, having) => {
    const { store, poller, client } = await startPoller(({ path }) => {
      if (path.endsWith(`/${without}/telemetry`)) return { status: 404 };
      if (path.endsWith('/telemetry')) return { json: { pressure: 3_000 } };
      return path.endsWith('/sonics') ? list(...sonics) : list();
    });
    expect(store.sonicView(having)?.telemetry).toMatchObject({ pressure: 3_000 });
    expect(store.sonicView(without)?.telemetry).toBeNull();
    expect(poller.records.telemetry.failure).toBeNull();
    expect(client.availability('read_telemetry')).toBe('available');
  });

  it('that no sonic has is not asked for again', async () => {
    const { poller, client } = await startPoller(({ path }) => {
      if (path.endsWith('/telemetry')) return { status: 404 };
      return path.endsWith('/sonics') ? list(...sonics) : list();
    });
    expect(poller.records.telemetry.failure).toBeNull();
    expect(client.availability('read_telemetry')).toBe('unavailable');
  });

  it('was not read well as long as nobody knows the sonics', async () => {
    const { poller } = await startPoller(({ path }) => (path.endsWith('/sonics') ? { status: 422 } : list()));
    expect(poller.records.telemetry.lastSuccessAt).toBeNull();
  });
});
