import { describe, expect, it } from 'vitest';
import type { Control } from '../../../src/cloud/catalogue.ts';
import { type OperationName, operationNames, operationRow } from '../../../src/cloud/operations.ts';
import { door, everything, startCommands } from '../../support/commandBench.ts';
import { sampleCall } from '../../support/operationSamples.ts';
import { settle } from '../../support/passTime.ts';
import { aProperty, topics } from '../../support/views.ts';

const requestTo = (name: string) => topics.bridge(`request/${name}`);

/** A good request. */
function payloadOf(name: OperationName): string {
  const { operation: _, ...parts } = sampleCall(name);
  return JSON.stringify(parts);
}

const ofSession = operationNames.filter((name) => operationRow(name).session);
const others = operationNames.filter((name) => !operationRow(name).session);
const controls = (Object.keys(everything) as Control[]).filter(
  (each) => each !== 'valves' && each !== 'pressure_tests',
);

describe('a request for any operation', () => {
  it('is refused where it is retained, and where it comes during the stop', async () => {
    const { take, stop, outcomes, asked } = await startCommands();
    for (const name of operationNames) take(requestTo(name), payloadOf(name), { isRetained: true });
    stop();
    for (const name of others) take(requestTo(name), payloadOf(name));
    const refused = (reason: RegExp) => (name: string) => ({
      topic: requestTo(name),
      status: 'refused',
      reason: expect.stringMatching(reason),
      http_status: null,
    });
    expect(outcomes).toEqual([
      ...operationNames.map(refused(/^the command was sent with the retain flag/)),
      ...others.map(refused(/^sonic2mqtt is stopping. The command was not sent$/)),
    ]);
    await settle();
    expect(asked).toEqual([]);
  });

  it('that is deleted from the broker is none', async () => {
    const { take, outcomes, asked } = await startCommands();
    for (const name of operationNames) take(requestTo(name), '', { isRetained: true });
    await settle();
    expect([...outcomes, ...asked]).toEqual([]);
  });
});

describe('a request', () => {
  it.each(controls)('for what control.%s forbids is refused', async (section) => {
    const { take, outcomes, asked } = await startCommands(undefined, { [section]: false });
    const forbidden = others.filter((name) => operationRow(name).control?.includes(section));
    for (const name of forbidden) take(requestTo(name), payloadOf(name));
    expect(forbidden).not.toEqual([]);
    const reason = `not permitted: control.${section} is off in the configuration`;
    expect(outcomes.map((outcome) => [outcome.topic, outcome.status, outcome.reason])).toEqual(
      forbidden.map((name) => [requestTo(name), 'refused', reason]),
    );
    await settle();
    expect(asked).toEqual([]);
  });

  it.each(ofSession)('for %s is refused: the session is the own one of the bridge', async (name) => {
    const { take, outcomes, asked } = await startCommands();
    take(requestTo(name), payloadOf(name));
    expect(outcomes).toMatchObject([
      { status: 'refused', reason: expect.stringMatching(/^not permitted: /) },
    ]);
    await settle();
    expect(asked).toEqual([]);
  });

  it.each([
    ['command_valve', 'valve/set'],
    ['command_wifi_valve', 'valve/set'],
    ['change_thing_state', 'valve/set'],
    ['start_pressure_test', 'pressure_test/start'],
  ] as const)('for %s is refused with the topic to use', async (name, path) => {
    const { take, outcomes, responses, asked } = await startCommands();
    take(requestTo(name), payloadOf(name));
    const message = `not permitted: publish to sonic2mqtt/sonic/{id}/${path} instead`;
    expect(outcomes).toMatchObject([{ status: 'refused', reason: message, http_status: null }]);
    expect(JSON.parse(responses[0]?.payload ?? '')).toMatchObject({
      error: { code: 'not_permitted', message, http_status: null },
    });
    await settle();
    expect(asked).toEqual([]);
  });

  it('that waits for its turn is not sent with too little of its time left', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler, {}, { maxConcurrency: 4 });
    const ask = (name: string) =>
      bench.take(
        requestTo('update_signal'),
        JSON.stringify({ params: { signal_id: 'signal-1' }, body: { name } }),
      );
    for (const name of ['one', 'two', 'three', 'four', 'five']) ask(name);
    await bench.untilChanges(3);
    bench.clock.advance(950);
    open();
    await bench.untilOutcomes(5);
    const late = bench.outcomes.filter(({ status }) => status !== 'ok');
    expect(late.map(({ reason }) => reason)).toContain('timed out before the request was sent');
    expect(bench.changes).toHaveLength(3);
  });

  it('with a filter is refused, unless it names what is shown', async () => {
    const { take, outcomes, store, asked } = await startCommands(
      undefined,
      {},
      { selection: ['property-1'] },
    );
    store.replaceProperties({
      records: [aProperty(), aProperty({ id: 'property-2' })],
      isComplete: true,
      startedAt: 0,
    });
    const ask = (name: OperationName, params: object) =>
      take(requestTo(name), JSON.stringify({ params, body: operationRow(name).body ? {} : undefined }));
    for (const [name, params] of [
      ['list_properties', {}],
      ['create_property', {}],
      ['read_appliance_categories', {}],
      ['read_user', { user_id: 'user-1' }],
      ['read_property', { property_id: 'property-2' }],
      ['create_invitation', { property_id: 'property-2' }],
      ['read_hub', { hub_id: 'signal-9' }],
      ['read_sonic', { sonic_id: 'sonic-9' }],
      ['read_daily_usage', { thing_id: 'sonic-9' }],
      ['read_incident', { incident_id: 'incident-9' }],
      ['act_on_property_incident', { property_id: 'property-2', incident_id: 'incident-1' }],
    ] as const)
      ask(name, params);
    expect(outcomes).toHaveLength(11);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'refused',
        reason: expect.stringMatching(/filters.properties/),
      });
    await settle();
    expect(asked).toEqual([]);
    ask('read_property', { property_id: 'PROPERTY-1' });
    ask('read_hub', { hub_id: 'SIGNAL-1' });
    ask('read_sonic', { sonic_id: 'sonic-1' });
    ask('read_incident', { incident_id: 'incident-1' });
    await settle();
    expect(asked).toHaveLength(4);
  });
});
