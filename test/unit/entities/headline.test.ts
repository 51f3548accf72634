import { describe, expect, it } from 'vitest';
import type { Alert } from '../../../src/entities/alerts.ts';
import {
  type HeadlineFacts,
  type HeadlineValve,
  headlineOf,
  type PlacedAlert,
} from '../../../src/entities/headline.ts';

const up = { isReady: true, status: 'up', reason: null, workedAt: null } as const;
const starting = { isReady: false, status: 'loading', reason: null, workedAt: null } as const;
const connecting = { ...starting, status: 'connecting' } as const;
const away = { isReady: false, status: 'down', reason: 'no such host', workedAt: 3_000 } as const;
const neverThere = { ...away, workedAt: null } as const;
/** The cloud has just gone: what was read last is not old yet. */
const justGone = { ...away, isReady: true } as const;

/** An outage of the cloud. */
const lost = { cloud: away, health: 'cloud_unreachable' } as const;

const open: HeadlineValve = {
  ...{
    name: 'Kitchen',
    property: null,
    valve: 'open',
    doubt: null,
    isTesting: false,
    isFaulty: false,
    isBatteryLow: false,
    offlineHub: null,
    failed: null,
  },
};
const closed: HeadlineValve = { ...open, name: 'Garden', valve: 'closed' };
const closing: HeadlineValve = { ...open, valve: 'closing' };
const opening: HeadlineValve = { ...open, valve: 'opening' };
const offline: HeadlineValve = { ...closed, doubt: 'unreachable' };
const pause = { text: 'shut_off_paused', values: { place: 'Home', at: 9_000 } } as const;
const over = { text: 'shut_off_still_off', values: { place: 'Flat', at: 8_000 } } as const;
const stale: HeadlineValve = { ...closed, doubt: 'old' };
const wordless: HeadlineValve = { ...open, valve: null };
const faulty: HeadlineValve = { ...wordless, isFaulty: true };
const testing: HeadlineValve = { ...open, isTesting: true };
const failure: HeadlineValve['failed'] = {
  text: 'not_confirmed_close',
  about: [{ text: 'command_waited', values: { at: 9_000, count: 90 } }, { text: 'command_advice' }],
};
const disobedient: HeadlineValve = { ...open, failed: failure };
const closingAgain: HeadlineValve = { ...disobedient, valve: 'closing' };
const weak: HeadlineValve = { ...open, isBatteryLow: true };
const unread: HeadlineValve = { ...closed, doubt: 'hub_unread' };
const cutOff: HeadlineValve = { ...offline, offlineHub: 'Hallway hub' };
const testedWhileClosed: HeadlineValve = { ...closed, isTesting: true };

function alertAt(valve: HeadlineValve | null, changes: Partial<Alert> = {}): PlacedAlert {
  const alert: Alert = {
    name: 'Leak',
    type: 'water_presence_detected',
    urgency: 'alarm',
    at: 9_000,
    time: 'since',
    ...changes,
  };
  return { alert, place: valve, valve };
}
const lowBattery = { name: 'Low battery', type: 'low_battery_level', urgency: 'notice' } as const;

/** Of a home with one open valve and no alert, of which everything is known, but for what is changed. */
function headline(changes: Partial<HeadlineFacts>) {
  const { tone, sentences, details } = headlineOf({
    ...{ cloud: up, broker: up, health: 'ok', isLoading: false, isComplete: true, isWatchOnly: false },
    ...{
      valves: [open],
      mayHaveMore: false,
      alerts: [],
      areAlertsFresh: true,
      unconfirmedSince: null,
      pauses: [],
      failedChanges: [],
      todayL: 142,
    },
    ...changes,
  });
  const words = [sentences, details].map((each) => each.map(({ text }) => text).join(' '));
  return `${tone}: ${words.filter(Boolean).join(' / ')}`;
}

describe('the headline', () => {
  it.each<[home: string, Partial<HeadlineFacts>, words: string]>([
    ['with one of three open', { valves: [open, closed, closed] }, 'good: all_good no_leaks_some used_today'],
    [
      'that may have more valves',
      { valves: [closed], mayHaveMore: true },
      'good: all_good no_leaks_some used_today',
    ],
    ['whose usage is not known', { todayL: null }, 'good: all_good no_leaks_on'],
    ['while usage is read for the first time', { isLoading: true, todayL: null }, 'good: no_leaks_on'],
    ['while the broker is being connected', { broker: connecting }, 'good: no_leaks_on used_today'],
    ['before health was judged', { health: null }, 'good: no_leaks_on used_today'],
    ['without a broker', { broker: away }, 'warning: no_leaks_on used_today / no_broker'],
    [
      'with another problem',
      { health: 'degraded' },
      'warning: no_leaks_on used_today / bridge_problem see_below',
    ],

    ['at the start', { cloud: connecting, isLoading: true, isComplete: false }, 'unknown: connecting_cloud'],
    [
      'while its valves are read',
      { cloud: starting, isLoading: true, isComplete: false },
      'unknown: reading_account',
    ],
    ['whose alerts are read last', { isLoading: true, areAlertsFresh: false }, 'unknown: reading_account'],
    ['of which a list cannot be read', { isComplete: false }, 'unknown: incomplete'],
    ['without a valve', { valves: [] }, 'unknown: no_valve'],

    ['whose valves open', { valves: [opening, opening] }, 'moving: valves_opening'],
    ['in a pressure test of a closed valve', { valves: [testedWhileClosed] }, 'moving: valve_testing'],
    ['with a low battery', { valves: [weak] }, 'notice: battery_is_low no_leaks_on used_today'],
    [
      'with a low battery, and another valve offline',
      { valves: [weak, offline] },
      'warning: valve_offline / battery_is_low',
    ],
    ['with a hub and both its valves offline', { valves: [open, cutOff, cutOff] }, 'warning: hub_offline'],
    [
      'with a hub offline, and a valve at another one',
      { valves: [cutOff, offline] },
      'warning: valves_offline',
    ],
    ['with a valve that is offline', { valves: [offline] }, 'warning: valve_offline'],
    ['with two valves offline', { valves: [open, offline, offline] }, 'warning: valves_offline'],
    [
      'with three pauses, and two that are over and not ended',
      { pauses: [over, pause, pause, over, pause] },
      `notice: no_leaks_on used_today / ${'shut_off_still_off '.repeat(2)}${'shut_off_paused '.repeat(3).trim()}`,
    ],
    [
      'with four pauses',
      { pauses: [pause, pause, pause, pause, over] },
      'notice: no_leaks_on used_today / shut_off_still_off shut_off_paused_count',
    ],
    [
      'with four pauses that are over and not ended',
      { pauses: [over, over, over, over] },
      'notice: no_leaks_on used_today / shut_off_still_off_count',
    ],
    [
      'with a change that was not made',
      { failedChanges: [{ text: 'change_failed' }] },
      'good: all_good no_leaks_on used_today / change_failed',
    ],
    ['with a valve of which there is no update', { valves: [stale] }, 'unknown: valve_unknown'],
    ['with a valve whose hub was not read', { valves: [unread, open] }, 'unknown: valve_hub_unread'],
    [
      'with two such valves, because a list cannot be read',
      { valves: [unread, unread], isComplete: false },
      'unknown: valves_hub_unread / incomplete',
    ],
    [
      'with such a valve, while the hubs are read',
      { valves: [unread], isLoading: true, isComplete: false },
      'unknown: reading_account',
    ],
    ['with a valve without a position', { valves: [wordless, closed] }, 'unknown: valve_unknown'],
    [
      'with a faulty valve',
      { valves: [faulty, offline] },
      'warning: valve_faulty / fault_advice valve_offline',
    ],

    [
      'with a valve that did not close',
      { valves: [disobedient, stale] },
      'warning: not_confirmed_close / command_waited command_advice valve_unknown',
    ],
    [
      'with a valve that did not close, and one that is offline',
      { valves: [disobedient, offline] },
      'warning: valve_offline / not_confirmed_close',
    ],
    [
      'with two valves that did not close',
      { valves: [disobedient, disobedient] },
      'warning: not_confirmed_close more_failed / command_waited command_advice',
    ],

    [
      'with a leak, which may have more valves',
      { valves: [closed], mayHaveMore: true, alerts: [alertAt(closed)] },
      'alarm: alert_at_since its_valve_closed',
    ],
    [
      'with a leak at the open one of two',
      { valves: [open, closed], alerts: [alertAt(open)] },
      'alarm: alert_at_since its_valve_open',
    ],
    [
      'with a leak, whose valve closes',
      { valves: [closing], alerts: [alertAt(closing)] },
      'alarm: alert_at_since its_valve_closing',
    ],
    [
      'with a leak, whose valve did not close',
      { valves: [disobedient], alerts: [alertAt(disobedient)] },
      'alarm: alert_at_since its_valve_not_closed',
    ],
    [
      'with a leak, whose valve did not close before and closes now',
      { valves: [closingAgain], alerts: [alertAt(closingAgain)] },
      'alarm: alert_at_since its_valve_closing',
    ],
    [
      'with a leak in a test',
      { valves: [testing], alerts: [alertAt(testing)] },
      'alarm: alert_at_since its_valve_testing',
    ],
    [
      'with a leak, whose closed valve is offline',
      { valves: [offline], alerts: [alertAt(offline)] },
      'alarm: alert_at_since its_valve_offline',
    ],
    [
      'with a leak, whose closed valve is old',
      { valves: [stale], alerts: [alertAt(stale)] },
      'alarm: alert_at_since its_valve_unknown close_by_hand',
    ],
    [
      'with a leak, whose other valve is offline',
      { valves: [closed, offline], alerts: [alertAt(closed)] },
      'alarm: alert_at_since its_valve_closed / valve_offline',
    ],
    [
      'with a leak, whose other valves may not be read',
      { valves: [closed], isComplete: false, alerts: [alertAt(closed)] },
      'alarm: alert_at_since its_valve_closed / incomplete',
    ],
    [
      'with a leak at a faulty valve',
      { valves: [faulty], alerts: [alertAt(faulty)] },
      'alarm: alert_at_since its_valve_faulty',
    ],
    [
      'with a leak, where nobody can move valves from here',
      { isWatchOnly: true, alerts: [alertAt(open)] },
      'alarm: alert_at_since water_on close_elsewhere',
    ],
    [
      'with a leak and a closed valve, where nobody can move valves from here',
      { isWatchOnly: true, valves: [closed, open], alerts: [alertAt(closed)] },
      'alarm: alert_at_since its_valve_closed',
    ],
    [
      'with a leak of which nobody knows where',
      { valves: [open, closed], alerts: [alertAt(null)] },
      'alarm: alert_since',
    ],
    [
      'with a leak of which nobody knows since when',
      { alerts: [alertAt(open, { at: null })] },
      'alarm: alert_at water_on',
    ],
    [
      'with a leak and two more',
      { alerts: [alertAt(open, lowBattery), alertAt(open), alertAt(open, lowBattery)] },
      'alarm: alert_at_since water_on / more_alerts',
    ],
    [
      'with a low battery, and another valve offline',
      { valves: [open, offline], alerts: [alertAt(open, lowBattery)] },
      'warning: valve_offline / more_alerts',
    ],
    [
      'with a leak, and another valve offline',
      { valves: [open, offline], alerts: [alertAt(open)] },
      'alarm: alert_at_since its_valve_open / valve_offline',
    ],
    [
      'with a low battery, while the valves are read for the first time',
      { valves: [stale], isLoading: true, isComplete: false, alerts: [alertAt(stale, lowBattery)] },
      'notice: alert_at_since its_valve_unknown / reading_account',
    ],
    [
      'with a leak, without a broker',
      { broker: away, alerts: [alertAt(open)] },
      'alarm: alert_at_since water_on close_elsewhere / no_broker',
    ],
    [
      'with a leak while the valves are read',
      { isComplete: false, isLoading: true, valves: [], alerts: [alertAt(null)] },
      'alarm: alert_since / reading_account',
    ],

    [
      'whose cloud has just gone',
      { ...lost, cloud: justGone },
      'unknown: no_cloud / data_from water_unknown',
    ],
    [
      'whose cloud was never there',
      { ...lost, cloud: neverThere, valves: [] },
      'unknown: no_cloud / nothing_read',
    ],
    [
      'whose password is rejected',
      { cloud: neverThere, health: 'auth_failed', valves: [] },
      'unknown: sign_in_rejected / nothing_read',
    ],
    [
      'with a leak just before the cloud went, the valve closed',
      { ...lost, cloud: justGone, valves: [closed], alerts: [alertAt(closed)] },
      'alarm: alert_at_since no_cloud / data_from water_unknown',
    ],
    [
      'with a low battery before the cloud went',
      { ...lost, alerts: [alertAt(stale, lowBattery)] },
      'unknown: alert_at_since no_cloud / data_from water_unknown',
    ],
  ])('of a home %s', (_, changes, words) => {
    expect(headline(changes)).toBe(words);
  });

  it('has the names and figures that its sentences need', () => {
    const facts: HeadlineFacts = {
      ...{ cloud: up, broker: up, health: 'ok', isLoading: false, isComplete: true, isWatchOnly: false },
      ...{
        valves: [open, closed],
        alerts: [],
        areAlertsFresh: true,
        mayHaveMore: false,
        unconfirmedSince: null,
        pauses: [],
        failedChanges: [],
        todayL: 142,
      },
    };
    expect(headlineOf(facts).sentences.map(({ values }) => values)).toEqual([
      undefined,
      { count: 1, of: 2, place: 'Garden' },
      { litres: 142 },
    ]);
    const leak = headlineOf({ ...facts, alerts: [alertAt(open)] });
    expect(leak.sentences[0]?.values).toMatchObject({ name: 'Leak', place: 'Kitchen', at: 9_000 });
    const twin = { ...offline, property: 'Flat 12' };
    const home = headlineOf({ ...facts, valves: [open, twin], alerts: [alertAt(twin)] });
    expect(home.sentences[0]?.values).toMatchObject({ place: 'Garden', property: 'Flat 12' });
    const gone = headlineOf({ ...facts, valves: [open, twin] });
    expect(gone.sentences[0]?.values).toMatchObject({ place: 'Garden', property: 'Flat 12' });
    const ends = [9_000, 7_000, 8_000, 7_500].map((at) => ({ ...pause, values: { place: 'Home', at } }));
    expect(headlineOf({ ...facts, pauses: ends }).details).toEqual([
      { text: 'shut_off_paused_count', values: { count: 4, at: 7_000 } },
    ]);
    const two = headlineOf({ ...facts, valves: [open, offline, offline] });
    expect(two.sentences[0]?.values).toMatchObject({ count: 2, of: 3 });
  });

  it('never says that the water is off unless every valve is known to be closed', () => {
    const states = [
      open,
      closed,
      closing,
      opening,
      offline,
      unread,
      stale,
      wordless,
      faulty,
      testing,
      testedWhileClosed,
    ];
    const homes = states.flatMap((one) => states.map((other) => [one, other]));
    const off = homes.filter((valves) =>
      [[], [alertAt(valves[0] ?? null)]].some((alerts) =>
        [up, starting, away, justGone].some((cloud) =>
          [true, false].some((isComplete) =>
            /off/.test(headline({ cloud, valves, alerts, isComplete }).replace(/offline/, '')),
          ),
        ),
      ),
    );
    expect(off).toEqual([[closed, closed]]);
  });
});
