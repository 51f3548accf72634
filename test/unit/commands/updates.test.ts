import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Call } from '../../../src/cloud/operations.ts';
import { Outcomes } from '../../../src/commands/outcome.ts';
import { Updates, type UpdatesParts } from '../../../src/commands/updates.ts';
import { ValveQueue, type ValveQueueParts } from '../../../src/commands/valveQueue.ts';
import type { IncidentEvent } from '../../../src/store/incidents.ts';
import { Store } from '../../../src/store/store.ts';
import { startClient } from '../../support/clientBench.ts';
import type { StubAnswer, StubHandler } from '../../support/cloudStub.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import {
  anIncident,
  aProperty,
  aSignal,
  aSonic,
  someNotifications,
  someSettings,
  topics,
} from '../../support/views.ts';
import { waitFor } from '../../support/waitFor.ts';

const setting = (body: Call<'update_property_settings'>['body']): Call => ({
  operation: 'update_property_settings',
  params: { property_id: 'property-1' },
  body,
});
const start: Call = {
  operation: 'start_pressure_test',
  params: { thing_id: 'sonic-1' },
  body: { source: 'sonic2mqtt' },
};
const action = (incident_id: string, word: string): Call => ({
  operation: 'act_on_incident',
  params: { incident_id },
  body: { action: word },
});

/** A house of which everything was read long ago, and changes to it on a stub of the cloud. */
async function startUpdates(handler: StubHandler, requestTimeoutMs = 5_000) {
  const session = { token: 'kept', since: Date.now() };
  const { client, stub } = await startClient(handler, { session, requestTimeoutMs });
  const store = new Store({ selection: [], clock: systemClock });
  const complete = <T>(records: readonly T[]) => ({ records, isComplete: true, startedAt: 0 });
  store.replaceProperties(complete([aProperty()]));
  store.setSettings('property-1', someSettings(), 0);
  store.setDetail('notifications', 'property-1', someNotifications(), 0);
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals(complete([aSignal()]));
  store.replaceSonics(complete([aSonic()]));
  store.replaceIncidents(complete([anIncident(), anIncident({ id: 'incident-2' })]));
  const incidentEvents: IncidentEvent[] = [];
  store.on('incident', (event) => incidentEvents.push(event));
  const asked: string[] = [];
  const lines = logLines('trace');
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const sending = {
    client,
    connection: { isStandingStill: false },
    store,
    requestTimeoutMs,
    stopping: stopping.signal,
    clock: systemClock,
    log: lines.log,
  };
  const outcomes = new Outcomes(topics, store, systemClock, lines.log);
  const poller = { runNow: async (poll: string) => void asked.push(poll), readNewTest: async () => {} };
  const valveQueue = new ValveQueue({ ...sending, poller, outcomes } as unknown as ValveQueueParts);
  const updates = new Updates({
    ...sending,
    poller,
    outcomes,
    valveQueue,
    onAccepted: async () => null,
  } as unknown as UpdatesParts);
  onTestFinished(stop);
  const ends: unknown[][] = [];
  outcomes
    .on('outcome', ({ status, reason, http_status }) => void ends.push([status, reason, http_status]))
    .on('offersChanged', () => void asked.push('offers'));
  const take = (
    calls: readonly Call[],
    record = 'property/property-1',
    sentAfter = systemClock.monotonic(),
  ) => {
    updates.apply(
      { topic: 'a/topic', payload: '', isRetained: false, isText: true, mayBeStored: null, sentAfter },
      record,
      calls,
    );
  };
  /** Runs a command to its end. */
  const run = async (...calls: readonly Call[]) => {
    const before = ends.length;
    take(calls);
    await waitFor(() => ends.length > before, { what: 'the end' });
    return ends.at(-1);
  };
  return { store, stub, stop, take, run, ends, incidentEvents, asked, lines };
}

/** A door that is opened by the test. */
function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('the answer to an update', () => {
  it('is shown at once, as far as it has fields', async () => {
    const { store, run } = await startUpdates(() => ({
      json: { auto_shut_off: false, timezone: null, extra: 1 },
    }));
    expect(await run(setting({ auto_shut_off: false }))).toEqual(['ok', null, 200]);
    expect(store.propertyView('property-1')?.settings).toEqual({
      ...someSettings({ auto_shut_off: false }),
      extra: 1,
    });
  });

  it('is not undone by what was begun to be read before it', async () => {
    const { store, run } = await startUpdates(({ body }) => ({ json: body }));
    const startedAt = performance.now();
    await run(setting({ auto_shut_off: false }));
    await run({
      operation: 'update_notification_settings',
      params: { property_id: 'property-1' },
      body: { low_temperature: false },
    });
    const shown = () => {
      const view = store.propertyView('property-1');
      return [view?.settings?.auto_shut_off, view?.notifications?.low_temperature];
    };
    store.setSettings('property-1', someSettings(), startedAt);
    store.setDetail('notifications', 'property-1', someNotifications(), startedAt);
    expect(shown()).toEqual([false, false]);
    store.setSettings('property-1', someSettings(), performance.now());
    store.setDetail('notifications', 'property-1', someNotifications(), performance.now());
    expect(shown()).toEqual([true, true]);
  });

  it.each([
    ['patch_property', 'property_id', 'property', aProperty()],
    ['patch_signal', 'signal_id', 'signal', aSignal()],
    ['patch_sonic', 'sonic_id', 'sonic', aSonic()],
    ['patch_wifi_sonic', 'sonic_id', 'sonic', aSonic()],
  ] as const)('of %s is not undone by an older list either', async (operation, param, kind, record) => {
    const { store, run } = await startUpdates(() => ({ json: { ...record, name: 'Attic' } }));
    const call = {
      operation,
      params: { [param]: record.id },
      body: { name: 'Attic' },
    } as unknown as Call;
    const startedAt = performance.now();
    expect(await run(call)).toEqual(['ok', null, 200]);
    const name = () => store.view(kind, record.id) && store.devices[kind].get(record.id)?.name;
    const takeList = (at: number) => {
      const reading = { records: [record], isComplete: true, startedAt: at };
      if (kind === 'property') store.replaceProperties(reading as never);
      else if (kind === 'signal') store.replaceSignals(reading as never);
      else store.replaceSonics(reading as never);
    };
    expect(name()).toBe('Attic');
    takeList(startedAt);
    expect(name()).toBe('Attic');
    takeList(performance.now());
    expect(name()).toBe(record.name);
  });

  it('closes an incident, which a list that was begun before does not open again', async () => {
    const resolved = { ...anIncident(), open: false, state: 'resolved', possible_actions: ['reopen'] };
    const { store, run, incidentEvents } = await startUpdates(() => ({ json: resolved }));
    const startedAt = performance.now();
    expect(await run(action('incident-1', 'resolve'))).toEqual(['ok', null, 200]);
    expect(incidentEvents).toEqual([{ event: 'incident_closed', record: resolved }]);
    expect(store.incidents.get('incident-1')).toBeNull();
    const records = [anIncident(), anIncident({ id: 'incident-2' })];
    store.replaceIncidents({ records, isComplete: true, startedAt });
    expect(store.incidents.get('incident-1')).toBeNull();
    incidentEvents.length = 0;
    store.replaceIncidents({ records, isComplete: true, startedAt: performance.now() });
    expect(incidentEvents).toMatchObject([{ event: 'incident_opened', record: { id: 'incident-1' } }]);
  });

  it('keeps an incident open that a list begun before it did not name', async () => {
    const snoozed = { ...anIncident(), possible_actions: ['resolve'] };
    const { store, run, incidentEvents } = await startUpdates(() => ({ json: snoozed }));
    const startedAt = performance.now();
    await run(action('incident-1', 'snooze'));
    expect(incidentEvents).toEqual([{ event: 'incident_changed', record: snoozed }]);
    const records = [anIncident({ id: 'incident-2' })];
    store.replaceIncidents({ records, isComplete: true, startedAt });
    expect(store.incidents.get('incident-1')).toEqual(snoozed);
  });
});

describe('an update that fails', () => {
  it.each([
    [{ status: 422, json: { message: 'not so' } }, 422, /not accepted\): not so$/, []],
    [{ status: 503 }, 503, /server error/, ['properties']],
    [{ fault: 'cut' }, null, /./, ['properties']],
    [{ status: 404 }, 404, /not found/, []],
  ] as const)(
    'with %j changes nothing, is not repeated, and is read again if it may have acted',
    async (...row) => {
      const [answer, status, words, asked] = row;
      const { store, stub, run, asked: seen } = await startUpdates(() => answer);
      expect(await run(setting({ auto_shut_off: false }))).toEqual([
        'error',
        expect.stringMatching(words),
        status,
      ]);
      expect(stub.requests).toHaveLength(1);
      expect(store.propertyView('property-1')?.settings).toEqual(someSettings());
      expect(seen).toEqual(asked);
    },
  );

  it('because the cloud does not offer it lets the entities be planned again', async () => {
    const { run, asked } = await startUpdates(() => ({ status: 501 }));
    expect(await run(start)).toEqual(['error', expect.stringContaining('501'), 501]);
    expect(asked).toContain('offers');
  });

  it.each([404, 405])(
    'by a %i where it has worked is about its record, and leaves the operation',
    async (status) => {
      const answers: StubAnswer[] = [
        { json: { job_id: 'job-1' } },
        { status },
        { json: { job_id: 'job-2' } },
      ];
      const { run, asked } = await startUpdates(() => answers.shift());
      const ends = [await run(start), await run(start), await run(start)];
      expect(ends.map((end) => end?.[0])).toEqual(['ok', 'error', 'ok']);
      expect(asked).not.toContain('offers');
    },
  );

  it('does not show an address in the log', async () => {
    const { run, lines } = await startUpdates(() => ({ status: 422 }));
    await run(setting({ webhook_url: 'https://example.com/s3cret' }));
    expect(lines.text).toContain('webhook_url');
    expect(lines.text).not.toContain('s3cret');
  });
});

describe('updates', () => {
  it('of one target wait for each other, of several do not', async () => {
    const gate = door();
    const { take, stub, ends } = await startUpdates(async ({ body }) => {
      await gate.opened;
      return { json: body };
    });
    take([setting({ auto_shut_off: false })]);
    take([setting({ webhook_enabled: true })]);
    take(
      [{ operation: 'patch_sonic', params: { sonic_id: 'sonic-1' }, body: { name: 'x' } }],
      'sonic/sonic-1',
    );
    await waitFor(() => stub.requests.length === 2, { what: 'one of each' });
    expect(ends).toEqual([]);
    gate.open();
    await waitFor(() => ends.length === 3, { what: 'all ends' });
    expect(stub.requests.map(({ body }) => body)).toContainEqual({ webhook_enabled: true });
  });

  it('give way to a newer one only if that sets the same', async () => {
    const gate = door();
    const { take, stub, ends } = await startUpdates(async ({ body }) => {
      await gate.opened;
      return { json: body };
    });
    take([setting({ auto_shut_off: false })]);
    take([setting({ timezone: 'Europe/Rome', auto_shut_off: true })]);
    take([setting({ timezone: 'Europe/Oslo' })]);
    take([action('incident-1', 'snooze')]);
    take([action('incident-2', 'snooze')]);
    take([setting({ timezone: 'Europe/Riga' })]);
    take([action('incident-1', 'resolve')]);
    const superseded = ['superseded', 'a newer command for this setting arrived', null];
    expect(ends).toEqual([superseded, superseded]);
    gate.open();
    await waitFor(() => ends.length === 7, { what: 'all ends' });
    expect(stub.requests.map(({ body }) => body)).toEqual([
      { auto_shut_off: false },
      { timezone: 'Europe/Rome', auto_shut_off: true },
      { action: 'snooze' },
      { timezone: 'Europe/Riga' },
      { action: 'resolve' },
    ]);
  });

  it('that are too many are refused at once', async () => {
    const gate = door();
    const { take, stub, ends } = await startUpdates(async ({ body }) => {
      await gate.opened;
      return { json: body };
    });
    for (let index = 0; index < 100; index++) take([action(`i-${index}`, 'resolve')]);
    expect(ends).toHaveLength(79);
    expect(ends[0]).toEqual([
      'refused',
      expect.stringMatching(/^rate_limited: 20 commands for this device are/),
      null,
    ]);
    gate.open();
    await waitFor(() => ends.length === 100, { what: 'all ends' });
    expect(stub.requests).toHaveLength(21);
  });

  it('of one command run a few at a time, and its end counts those that failed', async () => {
    const { run, stub } = await startUpdates(({ path }) =>
      Number(/i-(\d+)/.exec(path)?.[1]) % 3 === 0
        ? { status: 422, json: { error: 'too late' } }
        : { json: anIncident() },
    );
    const calls = Array.from({ length: 10 }, (_, index) => action(`i-${index}`, 'resolve'));
    expect(await run(...calls)).toEqual([
      'error',
      expect.stringMatching(/^4 of 10 failed: .*too late$/),
      422,
    ]);
    expect(stub.requests).toHaveLength(10);
    expect(stub.mostAtOnce).toBeLessThanOrEqual(4);
  });

  it('are sent in time or not at all', async () => {
    const { take, stub, ends } = await startUpdates(() => ({ fault: 'hang' }), 300);
    // Both at one moment, however long this machine takes to give them.
    const sentAfter = systemClock.monotonic();
    take([setting({ auto_shut_off: false })], undefined, sentAfter);
    take([setting({ webhook_enabled: true })], undefined, sentAfter);
    await waitFor(() => ends.length === 2, { what: 'both ends' });
    // A timer may fire a part of a millisecond early: then the client ends the second one.
    expect(ends[1]).toEqual([
      'error',
      expect.stringMatching(/was not sent$|before the request was sent$/),
      null,
    ]);
    expect(stub.requests).toHaveLength(1);
  });

  it('end when the bridge stops, and nothing is sent after that', async () => {
    const { take, stub, ends, stop } = await startUpdates(() => ({ fault: 'hang' }));
    take([setting({ auto_shut_off: false })]);
    take([setting({ webhook_enabled: true })]);
    await waitFor(() => stub.requests.length === 1, { what: 'the request' });
    stop();
    await waitFor(() => ends.length === 2, { what: 'both ends' });
    expect(ends.map(([status]) => status)).toEqual(['error', 'error']);
    expect(stub.requests).toHaveLength(1);
  });

  it('ask for an early look at what they changed', async () => {
    const { run, asked } = await startUpdates(({ body }) => ({
      json: { ...anIncident(), ...(body as object) },
    }));
    await run(setting({ auto_shut_off: false }));
    await run(action('incident-1', 'resolve'));
    expect(asked).toEqual(['properties', 'incidents']);
  });
});
