import { describe, expect, it } from 'vitest';
import { Extras } from '../../../src/bridge/extras.ts';
import { Store } from '../../../src/bridge/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { startBench } from '../../support/testClient.ts';
import { aProperty, aSignal } from '../../support/views.ts';

const allowedMs = 300_000;

describe('the status of a hub that cannot be read', () => {
  it.each([
    ['is nobody’s guess once it is too old and the cloud has answered elsewhere since', true, undefined],
    ['stays as it was while the whole cloud is away: that changes no value', false, { id: 'home' }],
  ])('%s', async (_, isCloudThere, hub) => {
    const clock = new FakeClock();
    let isFailing = false;
    const { client } = await startBench(
      ({ path }) => {
        if (!path.includes('/hubs/')) return { status: 404 };
        return isFailing ? { status: 422 } : { json: { id: 'home' } };
      },
      { session: { token: 'kept', since: Date.now() } },
    );
    const store = new Store({ selection: [], staleAfterMs: allowedMs }, () => {});
    const reading = { startedAt: 0, isComplete: true };
    store.replaceProperties({ ...reading, records: [aProperty({ id: 'house' })] });
    store.replaceSignals({ ...reading, records: [aSignal({ id: 'hub' })] });
    store.setOwnedSignals('house', ['hub'], true);
    const answeredAt = clock.monotonic();
    const options = {
      allowedMs,
      agesUntil: () => (isCloudThere ? clock.monotonic() : answeredAt),
      onChange: () => {},
      signal: new AbortController().signal,
    };
    const extras = new Extras(client, store, options, clock, logLines('error').log);
    const shown = () => store.signalView('hub')?.hub;
    await extras.read();
    expect(shown()).toMatchObject({ id: 'home' });
    isFailing = true;
    clock.advance(allowedMs);
    await extras.read();
    expect(shown()).toMatchObject({ id: 'home' });
    clock.advance(1);
    await extras.read();
    if (hub === undefined) expect(shown()).toBeUndefined();
    else expect(shown()).toMatchObject(hub);
  });
});
