import { describe, expect, it } from 'vitest';
import { Details } from '../../../src/polling/details.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { startClient } from '../../support/clientBench.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { temporaryFolder } from '../../support/program.ts';
import { sonicPollParts } from '../../support/sonicPolls.ts';
import { aProperty, aSignal } from '../../support/views.ts';

const maxAgeMs = 300_000;

/** A house with one signal, whose hub the cloud describes until it is to fail. */
async function furnish(clock: FakeClock) {
  const cloud = { isFailing: false };
  const { client } = await startClient(
    ({ path }) => {
      if (!path.includes('/hubs/')) return { status: 404 };
      return cloud.isFailing ? { status: 422 } : { json: { id: 'home' } };
    },
    { session: { token: 'kept', since: Date.now() } },
  );
  const store = new Store({ selection: [], clock });
  const reading = { startedAt: 0, isComplete: true };
  store.replaceProperties({ ...reading, records: [aProperty({ id: 'house' })] });
  store.replaceSignals({ ...reading, records: [aSignal({ id: 'hub' })] });
  store.setOwnedSignals(ownedSignals('house', ['hub']));
  const state = new StateFile(temporaryFolder(), logLines('error').log, clock);
  const { parts } = sonicPollParts({ store, state, answers: {}, maxAgeMs, timezone: 'UTC', clock });
  const { statuses } = parts;
  const details = new Details({ ...parts, client });
  /** Reads as the poller does, which then notes what is too old. */
  const read = async (isCloudThere: boolean) => {
    if (isCloudThere) statuses.end('sonics', null);
    await details.hubsAndCategories();
    store.markStale({ properties: statuses.staleBefore('properties', clock.monotonic()) });
  };
  return { cloud, store, read, shown: () => store.signalView('hub')?.hub };
}

describe('the status of a hub that cannot be read', () => {
  it.each([
    ['is nobody’s guess once it is too old and the cloud has answered elsewhere since', true, undefined],
    ['stays as it was while the whole cloud is away: that changes no value', false, { id: 'home' }],
  ])('%s', async (_, isCloudThere, hub) => {
    const clock = new FakeClock();
    const { cloud, read, shown } = await furnish(clock);
    await read(true);
    expect(shown()).toMatchObject({ id: 'home' });
    cloud.isFailing = true;
    clock.advance(maxAgeMs);
    await read(isCloudThere);
    expect(shown()).toMatchObject({ id: 'home' });
    clock.advance(1);
    await read(isCloudThere);
    if (hub === undefined) expect(shown()).toBeUndefined();
    else expect(shown()).toMatchObject(hub);
  });
});

it('the status of a hub is nobody’s guess once its signal is in no property: it is not asked for any more', async () => {
  const clock = new FakeClock();
  const { store, read, shown } = await furnish(clock);
  await read(true);
  expect(shown()).toMatchObject({ id: 'home' });
  for (let list = 0; list < 2; list++) store.setOwnedSignals(ownedSignals('house', []));
  clock.advance(maxAgeMs + 1);
  await read(true);
  expect(shown()).toBeUndefined();
  store.setOwnedSignals(ownedSignals('house', ['hub']));
  await read(true);
  expect(shown()).toMatchObject({ id: 'home' });
});
