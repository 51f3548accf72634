import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/cloud/operations.ts';
import { lookIntoMissing, namesRecords } from '../../../src/polling/missingRoute.ts';
import { Store } from '../../../src/store/store.ts';
import type { StubAnswer } from '../../support/cloudStub.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { startBench } from '../../support/testClient.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const close = (sonic_id: string): Call => ({
  operation: 'command_wifi_valve',
  params: { sonic_id },
  body: { action: 'close' },
});
const test = (thing_id: string): Call => ({
  operation: 'start_pressure_test',
  params: { thing_id },
  body: { source: 'test' },
});
const protect: Call = {
  operation: 'update_property_configuration',
  params: { property_id: 'property-1' },
  body: { leak_protection_enabled: true },
};
const readHub: Call = { operation: 'read_hub', params: { hub_id: 'signal-1' } };
const resolve: Call = {
  operation: 'act_on_property_incident',
  params: { property_id: 'property-1', incident_id: 'incident-1' },
  body: { action: 'resolve' },
};
const list = (...data: object[]) => ({ json: { data, page_number: 1, page_size: 10, total_pages: 1 } });
const isRead = { json: { id: 'x' } };

/** Makes a call that the cloud answers 404, or so; whether it takes the operation away, and what it asks for in between. */
async function lookInto(call: Call, answers: Readonly<Record<string, StubAnswer>>, status = 404) {
  const { client, stub } = await startBench(({ path }) => answers[path.split('?')[0] ?? ''] ?? { status }, {
    session: { token: 'kept', since: Date.now() },
  });
  const store = new Store({ selection: [], staleAfterMs: 300_000, clock: new FakeClock(0) });
  const complete = <T>(records: readonly T[]) => ({ records, isComplete: true, startedAt: 0 });
  store.replaceProperties(complete([aProperty()]));
  store.setOwnedSignals('property-1', ['signal-1'], true);
  store.replaceSignals(complete([aSignal()]));
  store.replaceSonics(complete([aSonic()]), complete([aSonic({ id: 'barn', signal_id: null })]));
  store.replaceIncidents(complete([anIncident()]));
  const error = await client.call(call, { isOneOfMany: namesRecords(call) }).catch((each: unknown) => each);
  const before = stub.requests.length;
  let isTold = false;
  await lookIntoMissing(call, error, {
    client,
    store,
    log: logLines('error').log,
    signal: new AbortController().signal,
    offersChanged: () => {
      isTold = true;
    },
  });
  expect(isTold).toBe(client.availability(call.operation) === 'unavailable');
  return { isGone: isTold, asked: stub.requests.slice(before).map(({ path }) => path.split('?')[0]) };
}

describe('an operation that is answered 404 or 405', () => {
  it.each<[string, Call, string, StubAnswer]>([
    ['a Wi-Fi valve', close('barn'), '/ape/v1/sonics_wifi', list({ id: 'barn' })],
    ['a thing that is a Wi-Fi sonic', test('barn'), '/ape/v1/sonics_wifi', list({ id: 'barn' })],
    ['a thing that is on a hub', test('sonic-1'), '/ape/v1/sonics/sonic-1', isRead],
    ['a property', protect, '/ape/v1/properties/property-1', isRead],
    ['a hub', readHub, '/ape/v1/signals/signal-1', isRead],
  ])('for %s is given up only if the cloud says that this is there', async (_, call, path, answer) => {
    for (const status of [404, 405])
      expect(await lookInto(call, { [path]: answer }, status)).toEqual({ isGone: true, asked: [path] });
    expect(await lookInto(call, {})).toEqual({ isGone: false, asked: [path] });
    expect(await lookInto(call, { [path]: { status: 403 } })).toEqual({ isGone: false, asked: [path] });
  });

  it('for a Wi-Fi valve that the list names no more stays', async () => {
    const answers = { '/ape/v1/sonics_wifi': list({ id: 'annexe' }) };
    expect((await lookInto(close('barn'), answers)).isGone).toBe(false);
  });

  it('for several records is given up only if all of them are there', async () => {
    const property = { '/ape/v1/properties/property-1': isRead };
    expect((await lookInto(resolve, property)).isGone).toBe(false);
    const both = { ...property, '/ape/v1/incidents/incident-1': isRead };
    expect((await lookInto(resolve, both)).isGone).toBe(true);
  });

  it.each<[string, Call]>([
    ['what nobody knows', close('nobody')],
    ['the valve of a hub by the route of those without', close('sonic-1')],
    ['a Wi-Fi valve by the route of a hub', { operation: 'read_telemetry', params: { sonic_id: 'barn' } }],
    ['what is published', { operation: 'read_sonic', params: { sonic_id: 'sonic-1' } }],
  ])('for %s stays, and nothing more is asked', async (_, call) => {
    expect(await lookInto(call, {})).toEqual({ isGone: false, asked: [] });
  });
});
