import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { RouteOverrides } from '../../src/cloud/request.ts';
import { byPoll } from '../../src/model/polls.ts';
import { Poller } from '../../src/polling/poller.ts';
import { StateFile } from '../../src/state/stateFile.ts';
import type { IncidentEvent } from '../../src/store/incidents.ts';
import type { DeviceEvent } from '../../src/store/store.ts';
import { Store } from '../../src/store/store.ts';
import { startClient } from './clientBench.ts';
import type { StubHandler } from './cloudStub.ts';
import { FakeClock } from './fakeClock.ts';
import { logLines } from './logLines.ts';
import { temporaryFolder } from './program.ts';

const hourly = { kind: 'every', everyMs: 3_600_000 } as const;
/** A list of the cloud, with one page. */
export const list = (...data: object[]) => ({
  json: { data, page_number: 1, page_size: 10, total_entries: data.length, total_pages: 1 },
});

/** A clock that stands still, so that nothing gets too old. */
export const noon = () => new FakeClock(Date.parse('2026-11-20T12:00:00Z'));

interface PollerBenchOptions {
  readonly routes?: RouteOverrides;
  readonly selection?: readonly string[];
}

/** A bench for the poller: a poller with long schedules, which tests run by hand, on a stub of the cloud. */
export async function startPoller(handler: StubHandler, clock?: Clock, options?: PollerBenchOptions) {
  const bench = await createPoller(handler, clock, options);
  await bench.poller.start();
  await bench.poller.startDetails();
  return bench;
}

/** The same bench, with a poller that has not started. */
export async function createPoller(
  handler: StubHandler,
  clock: Clock = systemClock,
  { routes = {}, selection = [] }: PollerBenchOptions = {},
) {
  const session = { token: 'kept', since: Date.now() };
  const { client, stub } = await startClient(handler, { session, routes });
  const store = new Store({ selection, clock });
  const state = new StateFile(temporaryFolder(), logLines('error').log);
  await state.open();
  onTestFinished(() => state.close());
  const storeEvents: (DeviceEvent | IncidentEvent)[] = [];
  store.on('device', (event) => storeEvents.push(event));
  store.on('incident', (event) => storeEvents.push(event));
  const schedules = byPoll(() => hourly);
  const poller = new Poller({
    client,
    store,
    state,
    schedules,
    timezone: 'UTC',
    staleAfterMs: 300_000,
    requestTimeoutMs: 5_000,
    clock,
    random: Math.random,
    log: logLines('error').log,
  });
  onTestFinished(() => poller.stop());
  return { poller, store, storeEvents, client, stub };
}
