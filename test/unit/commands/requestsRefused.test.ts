import { describe, expect, it } from 'vitest';
import type { Control } from '../../../src/cloud/catalogue.ts';
import { type OperationName, operationNames, operationRow } from '../../../src/cloud/operations.ts';
import { door, everything, startCommands } from '../../support/commandBench.ts';
import { sampleCall } from '../../support/operationSamples.ts';
import { topics } from '../../support/views.ts';

const requestTo = (name: string) => topics.bridge(`request/${name}`);

/** A good request. */
function payloadOf(name: OperationName): string {
  const { operation: _, ...parts } = sampleCall(name);
  return JSON.stringify(parts);
}

const ofSession = operationNames.filter((name) => operationRow(name).session);
const others = operationNames.filter((name) => !operationRow(name).session);
const controls = Object.keys(everything) as Control[];

describe('a request for any operation', () => {
  it('is refused where it is retained, and where it comes during the stop', async () => {
    const { take, stop, outcomes, stub } = await startCommands();
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
    expect([...stub.requests, ...stub.sessionRequests]).toEqual([]);
  });

  it('that is deleted from the broker is none', async () => {
    const { take, outcomes, stub } = await startCommands();
    for (const name of operationNames) take(requestTo(name), '', { isRetained: true });
    expect([...outcomes, ...stub.requests]).toEqual([]);
  });
});

describe('a request', () => {
  it.each(controls)('for what control.%s forbids is refused', async (section) => {
    const { take, outcomes, stub } = await startCommands(undefined, { [section]: false });
    const forbidden = others.filter((name) => operationRow(name).control?.includes(section));
    for (const name of forbidden) take(requestTo(name), payloadOf(name));
    expect(forbidden).not.toEqual([]);
    const reason = `not permitted: control.${section} is off in the configuration`;
    expect(outcomes.map((outcome) => [outcome.topic, outcome.status, outcome.reason])).toEqual(
      forbidden.map((name) => [requestTo(name), 'refused', reason]),
    );
    expect(stub.requests).toEqual([]);
  });

  it.each(ofSession)('for %s is refused: the session is the own one of the bridge', async (name) => {
    const { take, outcomes, stub } = await startCommands();
    take(requestTo(name), payloadOf(name));
    expect(outcomes).toMatchObject([
      { status: 'refused', reason: expect.stringMatching(/^not permitted: /) },
    ]);
    expect([...stub.requests, ...stub.sessionRequests]).toEqual([]);
  });

  it.each([
    ['command_valve', 'sonic_id'],
    ['command_wifi_valve', 'sonic_id'],
    ['change_thing_state', 'thing_id'],
  ])('that is refused is the newest command of its valve, as one at its topic is: %s', async (name, key) => {
    const { take, store } = await startCommands(undefined, { valves: false });
    const payload = JSON.stringify({ params: { [key]: 'sonic-1' }, body: { action: 'close' } });
    take(requestTo(name), payload, { isRetained: true });
    expect(store.valveRecord('sonic-1')).toMatchObject({ command: null, failed: null });
    const command = { action: 'close', status: 'refused', topic: requestTo(name) };
    take(requestTo(name), payload);
    const reason = 'not permitted: control.valves is off in the configuration';
    const failed = { action: 'close', status: 'refused', reason };
    expect(store.valveRecord('sonic-1')).toMatchObject({ command: { ...command, reason }, failed });
    // Of no valve, or of none that is known.
    for (const wrong of ['{}', '{"params":null,"body":[]}', payload.replace('sonic-1', 'sonic-9')])
      take(requestTo(name), wrong);
    take(requestTo('update_sonic'), payload.replace(key, 'sonic_id'));
    expect(store.valveRecord('sonic-1')).toMatchObject({ command: { ...command, reason }, failed });
    expect(store.valveRecord('sonic-9').command).toBeNull();
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
});
