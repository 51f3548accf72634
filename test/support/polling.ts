import { onTestFinished } from 'vitest';
import type { Fleet } from '../../scripts/docs/requestsPerHour.ts';
import { parseDuration } from '../../src/base/duration.ts';
import type { Schedule } from '../../src/base/schedule.ts';
import { optionRows } from '../../src/config/schema.ts';
import { parseSchedule } from '../../src/config/values.ts';
import type { Telemetry } from '../../src/model/records.ts';
import { Poller } from '../../src/polling/poller.ts';
import { type PollName, pollNames } from '../../src/polling/pollStatus.ts';
import { StateFile } from '../../src/state/stateFile.ts';
import { Store } from '../../src/store/store.ts';
import { CountingCloud, type Offer } from './countingCloud.ts';
import { FakeClock } from './fakeClock.ts';
import { logLines } from './logLines.ts';
import { withTime } from './passTime.ts';
import { temporaryFolder } from './program.ts';
import { aProperty, aSignal, aSonic, someSettings } from './views.ts';

const defaultOf = (path: string) => String(optionRows.find((row) => row.path === path)?.default);
const staleAfterMs = parseDuration(defaultOf('stale_after')) ?? 0;
const schedules = Object.fromEntries(
  pollNames.map((slice) => [slice, parseSchedule(defaultOf(`schedules.${slice}`))]),
) as Record<PollName, Schedule>;

const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** Polls a cloud with such a fleet by the default schedules, on a clock that the test moves. */
export async function startPolling(
  { properties, signals, sonics }: Fleet,
  telemetry: (now: number, sonicId: string) => Partial<Telemetry>,
  otherLists: Offer['lists'] = {},
) {
  const clock = new FakeClock(Date.parse('2026-11-20T09:00:00Z'));
  const signalsOf = (index: number) =>
    many(signals, (each) => aSignal({ id: `signal-${each}` })).filter(
      (_, each) => each % properties === index,
    );
  const offer: Offer = {
    lists: {
      list_incidents: [],
      list_properties: many(properties, (index) => aProperty({ id: `${index}` })),
      list_signals: many(signals, (index) => aSignal({ id: `signal-${index}` })),
      list_sonics: many(sonics, (index) =>
        aSonic({
          id: `sonic-${index}`,
          signal_id: `signal-${index % signals}`,
          radio_connection: 'connected',
        }),
      ),
      list_property_signals: signalsOf(0),
      ...otherLists,
    },
    answers: {
      read_property_settings: () => someSettings({ timezone: 'UTC' }),
      read_notification_settings: () => ({}),
      read_telemetry: ({ params }) => ({
        ...{ pressure: 3_000, water_flow: 0, water_temp: 12, probed_at: Math.floor(clock.now() / 1_000) },
        ...telemetry(clock.monotonic(), String(Object.values(params ?? {})[0])),
      }),
      read_daily_usage: () => ({ daily: [{ date: '2026-11-20', liters: 5 }] }),
      read_pressure_tests: () => ({ by_day: {} }),
      read_hub: () => ({ id: 'hub' }),
      read_appliance_categories: () => ({ categories: [] }),
    },
  };
  const cloud = new CountingCloud(offer, () => clock.now());
  const lines = logLines('info');
  const { log } = lines;
  const store = new Store({ selection: [], clock });
  const state = new StateFile(temporaryFolder(), { baseUrl: 'x', email: 'y' }, log, clock);
  await state.open();
  onTestFinished(() => state.close());
  const poller = new Poller({
    client: cloud.client,
    store,
    state,
    schedules,
    timezone: 'UTC',
    staleAfterMs,
    requestTimeoutMs: 10_000,
    clock,
    random: () => 0.5,
    log,
  });
  onTestFinished(() => poller.stop());
  await withTime(
    clock,
    poller.start().then(() => poller.startDetails()),
  );
  return { clock, cloud, poller, store, lines };
}
