import { describe, expect, it } from 'vitest';
import { Details } from '../../../src/polling/details.ts';
import { PollSchedule } from '../../../src/polling/pollSchedule.ts';
import { type PollName, PollStatuses, pollNames } from '../../../src/polling/pollStatus.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { startBench } from '../../support/testClient.ts';
import { aProperty, aSignal } from '../../support/views.ts';

const maxAgeMs = 300_000;

/** A house with one signal, whose hub the cloud describes until it is to fail. */
async function furnish(clock: FakeClock) {
  const cloud = { isFailing: false };
  const { client } = await startBench(
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
  store.setOwnedSignals('house', ['hub'], true);
  const { signal } = new AbortController();
  const schedule = new PollSchedule({ kind: 'every', everyMs: 1 }, 'UTC', clock, () => 0.5);
  const schedules = Object.fromEntries(pollNames.map((slice) => [slice, schedule])) as Record<
    PollName,
    PollSchedule
  >;
  const statuses = new PollStatuses(schedules, { staleAfterMs: maxAgeMs, requestTimeoutMs: 0 }, clock);
  const details = new Details({
    client,
    store,
    statuses,
    signal,
    clock,
    log: logLines('error').log,
  });
  const read = (isCloudThere: boolean) => {
    if (isCloudThere) statuses.end('sonics', clock.monotonic(), null);
    return details.hubsAndCategories();
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
  for (let list = 0; list < 2; list++) store.setOwnedSignals('house', [], true);
  clock.advance(maxAgeMs + 1);
  await read(true);
  expect(shown()).toBeUndefined();
  store.setOwnedSignals('house', ['hub'], true);
  await read(true);
  expect(shown()).toMatchObject({ id: 'home' });
});
