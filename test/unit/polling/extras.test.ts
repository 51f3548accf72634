import { describe, expect, it } from 'vitest';
import { Extras } from '../../../src/polling/extras.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { startBench } from '../../support/testClient.ts';
import { aProperty, aSignal } from '../../support/views.ts';

const allowedMs = 300_000;

/** A house with one signal, whose hub the cloud describes until it is to fail. */
async function furnish(clock: FakeClock, agesUntil: () => number) {
  const cloud = { isFailing: false };
  const { client } = await startBench(
    ({ path }) => {
      if (!path.includes('/hubs/')) return { status: 404 };
      return cloud.isFailing ? { status: 422 } : { json: { id: 'home' } };
    },
    { session: { token: 'kept', since: Date.now() } },
  );
  const store = new Store({ selection: [], staleAfterMs: allowedMs }, () => {});
  const reading = { startedAt: 0, isComplete: true };
  store.replaceProperties({ ...reading, records: [aProperty({ id: 'house' })] });
  store.replaceSignals({ ...reading, records: [aSignal({ id: 'hub' })] });
  store.setOwnedSignals('house', ['hub'], true);
  const { signal } = new AbortController();
  const options = { allowedMs, agesUntil, onChange: () => {}, signal };
  const extras = new Extras(client, store, options, clock, logLines('error').log);
  return { cloud, store, extras, shown: () => store.signalView('hub')?.hub };
}

describe('the status of a hub that cannot be read', () => {
  it.each([
    ['is nobody’s guess once it is too old and the cloud has answered elsewhere since', true, undefined],
    ['stays as it was while the whole cloud is away: that changes no value', false, { id: 'home' }],
  ])('%s', async (_, isCloudThere, hub) => {
    const clock = new FakeClock();
    const answeredAt = clock.monotonic();
    const agesUntil = () => (isCloudThere ? clock.monotonic() : answeredAt);
    const { cloud, extras, shown } = await furnish(clock, agesUntil);
    await extras.read();
    expect(shown()).toMatchObject({ id: 'home' });
    cloud.isFailing = true;
    clock.advance(allowedMs);
    await extras.read();
    expect(shown()).toMatchObject({ id: 'home' });
    clock.advance(1);
    await extras.read();
    if (hub === undefined) expect(shown()).toBeUndefined();
    else expect(shown()).toMatchObject(hub);
  });
});

it('the status of a hub is nobody’s guess once its signal is in no property: it is not asked for any more', async () => {
  const { store, extras, shown } = await furnish(new FakeClock(), () => 0);
  await extras.read();
  expect(shown()).toMatchObject({ id: 'home' });
  for (let list = 0; list < 2; list++) store.setOwnedSignals('house', [], true);
  await extras.read();
  expect(shown()).toBeUndefined();
  store.setOwnedSignals('house', ['hub'], true);
  await extras.read();
  expect(shown()).toMatchObject({ id: 'home' });
});
