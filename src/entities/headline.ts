import type { BridgeFacts } from '../model/devices.ts';
import type { Valve } from '../model/valve.ts';
import type { HeadlineText, PageText, Sentence } from '../texts/texts.ts';
import { type Alert, byUrgency, type Urgency } from './alerts.ts';

// The headline of the status page: one coloured sentence about the water of the home, and details. A property's summary
// in Home Assistant is the headline of that property alone. "Water is off" may make somebody leave the home while it
// floods. So the sentence names a position only for valves that certainly have it now, and says "the water" only if all
// valves are known.

/** The colour of the page, the most serious first. `unknown`: the state is not known. */
export type Tone = Urgency | 'unknown' | 'moving' | 'good';

export interface Headline {
  readonly tone: Tone;
  /** One or two sentences, in large letters and in the title of the browser tab. */
  readonly sentences: readonly Sentence[];
  readonly details: readonly Sentence[];
}

/** How the headline names a device. */
export interface DeviceTitle {
  readonly name: string;
  /** The name of its property; null if the account has only one property, or if it is not known. */
  readonly property: string | null;
}

/** A failed command: the text of its sentence, which names the valve, and the sentences about it. */
export interface ShownFailure {
  readonly text: HeadlineText;
  readonly about: readonly Sentence[];
}

/**
 * Null if the shown state of a valve is certainly the current one. `unsure`: the cloud does not say whether its links are up.
 * `checked`: only one reading says that a link is down, and the next one decides. `hub_unread`: recent lists did not have its
 * hub.
 */
export type Doubt = 'old' | 'unreachable' | 'checked' | 'unsure' | 'hub_unread' | null;

export interface HeadlineValve extends DeviceTitle {
  readonly valve: Valve | null;
  readonly doubt: Doubt;
  /** Whether a pressure test runs. It closes the valve for a while, whatever position is shown. */
  readonly isTesting: boolean;
  readonly isFaulty: boolean;
  readonly isBatteryLow: boolean;
  /** The name of its hub if it is offline because its hub is; else null. */
  readonly offlineHub: string | null;
  readonly failed: ShownFailure | null;
}

export interface PlacedAlert {
  readonly alert: Alert;
  /** Its device, or its property if it names no device of the property; null if neither is known. */
  readonly place: DeviceTitle | null;
  /** The valve that the alert concerns; null if it concerns no single valve. */
  readonly valve: HeadlineValve | null;
}

export interface HeadlineFacts extends BridgeFacts {
  readonly valves: readonly HeadlineValve[];
  /** Whether there may be more valves. If so, no sentence speaks of all the water. */
  readonly mayHaveMore: boolean;
  readonly alerts: readonly PlacedAlert[];
  readonly areAlertsFresh: boolean;
  /** Since when the oldest of the alerts was not confirmed, in ms since 1970; null if all are. */
  readonly unconfirmedSince: number | null;
  /** The pauses of the automatic shut-off, one sentence each. */
  readonly pauses: readonly Sentence[];
  /** The changes that were refused or have failed in the last minutes, one sentence each. */
  readonly failedChanges: readonly Sentence[];
  /** Litres of today, of all valves together; null if they are not known of all valves. */
  readonly todayL: number | null;
}

/** The headline about what is most serious. Its details also have the sentences about everything else. */
export function headlineOf(facts: HeadlineFacts): Headline {
  const [first, ...others] = storiesOf(facts);
  const problems = problemsOf(facts);
  const { tone, sentences, details } = first ?? moving(facts)[0] ?? allWell(facts, problems.length > 0);
  const more = others.flatMap((other) => other.sentences);
  const batteries = first ? lowBatteries(facts) : [];
  const rest = [...batteries, ...pausesIn(facts), ...facts.failedChanges, ...problems];
  return { tone, sentences, details: [...details, ...more, ...rest] };
}

/** More pauses than these are counted, and only the end of the first one is named. */
const mostPausesNamed = 3;

function pausesIn({ pauses }: HeadlineFacts): readonly Sentence[] {
  return (['shut_off_still_off', 'shut_off_paused'] as const).flatMap((text) => {
    const alike = pauses.filter((pause) => pause.text === text);
    const at = Math.min(...alike.map(({ values }) => Number(values?.['at'])));
    const counted: Sentence = { text: `${text}_count`, values: { count: alike.length, at } };
    return alike.length > mostPausesNamed ? [counted] : alike;
  });
}

/** Doubts that have stories of their own. */
const isTold: readonly Doubt[] = ['unreachable', 'checked', 'hub_unread'];

const isHubUnread = ({ doubt }: HeadlineValve) => doubt === 'hub_unread';

/** What matters now, the most serious first. */
function storiesOf(facts: HeadlineFacts): Headline[] {
  const { cloud, isLoading, valves } = facts;
  const alerts = facts.alerts.toSorted((one, other) => byUrgency(one.alert, other.alert));
  const [worst] = alerts;
  if (cloud.status === 'down') return [outage(facts, alerts), ...failedStory(facts)];
  // A valve that is offline is more important than a low battery.
  const isNotice = worst?.alert.urgency === 'notice' && !isLoading;
  // The story of an alert says how its valve is.
  const others = isNotice ? valves : valves.filter((each) => each !== worst?.valve);
  const gap = gapIn(facts);
  const isUnclear = (each: HeadlineValve) =>
    !isPlaceKnown(each) && !each.isFaulty && each.failed === null && !isTold.includes(each.doubt);
  const troubles = [
    ...about(({ isFaulty }) => isFaulty, 'warning', 'valve_faulty', 'valves_faulty', facts, others).map(
      (story) => ({ ...story, details: [{ text: 'fault_advice' } as const] }),
    ),
    ...offlineStory(facts, others),
    ...about(({ doubt }) => doubt === 'checked', 'warning', 'valve_checked', 'valves_checked', facts, others),
    // The story of an alert says that its valve did not close.
    ...failedStory(facts, isNotice || !isLeftOpen(worst?.valve) ? valves : others),
    ...(gap === 'connecting_cloud' || gap === 'reading_account'
      ? []
      : about(isHubUnread, 'unknown', 'valve_hub_unread', 'valves_hub_unread', facts, others)),
    // Until the lists were read, nothing else is expected.
    ...(gap === null || gap === 'alerts_unknown'
      ? about(isUnclear, 'unknown', 'valve_unknown', 'valves_unknown', facts, others)
      : []),
  ];
  const alert = worst && (!isNotice || troubles.length === 0) ? [alertStory(worst, facts)] : [];
  const counted = countOf('more_alerts', alerts.length - alert.length);
  return [
    ...alert,
    ...troubles,
    ...(gap === null ? [] : [say('unknown', [{ text: gap }])]),
    ...(counted.length === 0 ? [] : [say('notice', counted)]),
  ];
}

/** What is not known of the whole; null if it is known what there is. */
function gapIn({ cloud, isLoading, isComplete, areAlertsFresh, valves }: HeadlineFacts): HeadlineText | null {
  if (cloud.status === 'connecting') return 'connecting_cloud';
  if (isLoading && !(isComplete && areAlertsFresh)) return 'reading_account';
  if (!isComplete) return 'incomplete';
  if (!areAlertsFresh) return 'alerts_unknown';
  return valves.length === 0 ? 'no_valve' : null;
}

/** The story of an outage. Old readings are not shown as current, but an alarm stays an alarm. */
function outage({ cloud, health, valves }: HeadlineFacts, alerts: readonly PlacedAlert[]): Headline {
  const [worst] = alerts;
  const causes = { auth_failed: 'sign_in_rejected', cloud_unreachable: 'no_cloud' } as const;
  const cause: Sentence = {
    text: health === 'auth_failed' || health === 'cloud_unreachable' ? causes[health] : 'no_new_data',
  };
  const rest: readonly Sentence[] = [
    cloud.workedAt === null
      ? { text: 'nothing_read' }
      : { text: 'data_from', values: { at: cloud.workedAt } },
    ...(valves.length > 0 ? [{ text: 'water_unknown' } as const] : []),
  ];
  if (!worst) return say('unknown', [cause], rest);
  const tone = worst.alert.urgency === 'alarm' ? 'alarm' : 'unknown';
  const more = countOf('more_alerts', alerts.length - 1);
  return say(tone, [alertSentence(worst), cause], [...more, ...rest]);
}

function alertStory(worst: PlacedAlert, facts: HeadlineFacts): Headline {
  const { unconfirmedSince: at } = facts;
  const unconfirmed: Sentence[] = at === null ? [] : [{ text: 'alerts_unconfirmed', values: { at } }];
  const water = waterOf(worst.valve, facts);
  const todo = worst.alert.type === 'water_presence_detected' ? closingOf(worst, facts, water) : [];
  return say(worst.alert.urgency, [alertSentence(worst), ...water, ...todo], unconfirmed);
}

/** How to close the valve of a leak, if not from here, and if the sentence about the water does not say it. */
function closingOf({ valve }: PlacedAlert, facts: HeadlineFacts, [water]: readonly Sentence[]): Sentence[] {
  const advice = water?.text === 'water_off' ? null : leakAdvice(valve, facts);
  if (advice === 'advice_leak_watch_only') return [{ text: 'close_elsewhere' }];
  const isUnsaid = advice === 'advice_leak_by_hand' && water?.text === 'its_valve_unknown';
  return isUnsaid ? [{ text: 'close_by_hand' }] : [];
}

/** The story of the valves that are offline. A hub is named if it is the reason of several, and of all of them. */
function offlineStory(facts: HeadlineFacts, candidates: readonly HeadlineValve[]): Headline[] {
  const meant = candidates.filter(({ doubt }) => doubt === 'unreachable');
  const [first] = meant;
  const isOneHub = meant.length > 1 && meant.every(({ offlineHub }) => offlineHub === first?.offlineHub);
  if (first?.offlineHub && isOneHub) {
    const values = { ...placeValues({ ...first, name: first.offlineHub }), count: meant.length };
    return [say('warning', [{ text: 'hub_offline', values }])];
  }
  return about(() => true, 'warning', 'valve_offline', 'valves_offline', facts, meant);
}

/** The story of the valves that have not carried out their commands. One that moves now carries out a newer one. */
function failedStory({ valves }: HeadlineFacts, candidates = valves): Headline[] {
  const [first, ...others] = candidates.filter((each) => each.failed !== null && !isMoving(each));
  if (!first?.failed) return [];
  const { text, about } = first.failed;
  const sentence: Sentence = { text, values: placeValues(first) };
  return [say('warning', [sentence, ...countOf('more_failed', others.length)], about)];
}

/** The story of a valve that is moving or being tested. */
function moving(facts: HeadlineFacts): Headline[] {
  return [
    ...about(({ isTesting }) => isTesting, 'moving', 'valve_testing', 'valves_testing', facts),
    ...about(({ valve }) => valve === 'closing', 'moving', 'valve_closing', 'valves_closing', facts),
    ...about(({ valve }) => valve === 'opening', 'moving', 'valve_opening', 'valves_opening', facts),
  ];
}

/** The story of the valves for which `isMeant` is true; none if there are none. */
function about(
  isMeant: (valve: HeadlineValve) => boolean,
  tone: Tone,
  one: HeadlineText,
  several: HeadlineText,
  { valves }: HeadlineFacts,
  candidates = valves,
): Headline[] {
  const meant = candidates.filter(isMeant);
  const [first] = meant;
  if (!first) return [];
  const values = { ...placeValues(first), count: meant.length, of: valves.length };
  return [say(tone, [{ text: meant.length === 1 ? one : several, values }])];
}

/** The headline if every valve is known to be open or closed, and no alert is open. */
function allWell(facts: HeadlineFacts, hasProblem: boolean): Headline {
  const { valves, mayHaveMore, broker, cloud, health, isLoading, todayL, pauses } = facts;
  const batteries = lowBatteries(facts);
  const areAllUp = cloud.status === 'up' && broker.status === 'up' && health === 'ok' && !isLoading;
  const closed = valves.filter(({ valve }) => valve === 'closed');
  const open = valves.length - closed.length;
  const values = { count: open, of: valves.length, ...(closed[0] && placeValues(closed[0])) };
  const mixed = !mayHaveMore && closed.length === 1 ? 'no_leaks_closed' : 'no_leaks_some';
  const whole = open === 0 ? 'no_leaks_off' : 'no_leaks_on';
  const isMixed = mayHaveMore || (open > 0 && closed.length > 0);
  const isNoticed = pauses.length > 0 || batteries.length > 0;
  return say(hasProblem ? 'warning' : isNoticed ? 'notice' : 'good', [
    ...batteries,
    ...(areAllUp && !isNoticed ? [{ text: 'all_good' } as const] : []),
    { text: isMixed ? mixed : whole, values },
    ...(todayL === null ? [] : [{ text: usedToday, values: { litres: todayL } } as const]),
  ]);
}

/** The sentence that changes with each litre. */
export const usedToday = 'used_today';

/** Problems that do not concern the water. During the first reading, missing data is no problem. */
function problemsOf({ cloud, broker, health, isLoading }: HeadlineFacts): Sentence[] {
  if (broker.status === 'down') return [{ text: 'no_broker' }];
  const isTold = cloud.status === 'down' || isLoading;
  return health === 'degraded' && !isTold ? [{ text: 'bridge_problem' }, { text: 'see_below' }] : [];
}

/** Whether it is known where the valve stands or moves now. */
function isPlaceKnown({ doubt, isTesting, valve }: HeadlineValve): boolean {
  return doubt === null && (isTesting || valve !== null);
}

/** The sentence about low batteries of which no alert tells. */
function lowBatteries({ valves, alerts }: HeadlineFacts): Sentence[] {
  const isTold = (valve: HeadlineValve) =>
    alerts.some((each) => each.valve === valve && batteryTypes.includes(each.alert.type));
  const low = valves.filter((valve) => valve.isBatteryLow && !isTold(valve));
  const [first] = low;
  return first ? [{ text: 'battery_is_low', values: { ...placeValues(first), count: low.length } }] : [];
}

const batteryTypes: readonly (string | null)[] = ['low_battery_level', 'battery_too_low_to_move_handle'];

function isMoving({ doubt, valve }: HeadlineValve): boolean {
  return doubt === null && (valve === 'closing' || valve === 'opening');
}

/** Whether its valve was to close, and certainly did not: somebody has to close it by hand. */
function isLeftOpen(own: HeadlineValve | null | undefined): boolean {
  if (!own?.failed || own.doubt === 'unreachable' || own.valve === 'closed' || isMoving(own)) return false;
  const { text } = own.failed;
  const isKnown = text === 'not_confirmed_close' || (own.doubt === null && own.valve === 'open');
  return text.endsWith('_close') && isKnown;
}

/** What is so of the valve of an alert. */
function stateOf(own: HeadlineValve) {
  if (isLeftOpen(own)) return 'its_valve_not_closed';
  if (own.isTesting) return 'its_valve_testing';
  if (own.isFaulty) return 'its_valve_faulty';
  if (own.doubt === 'unreachable') return 'its_valve_offline';
  if (own.doubt !== null || own.valve === null) return 'its_valve_unknown';
  return `its_valve_${own.valve}` as const;
}

const closableStates: readonly HeadlineText[] = [
  'its_valve_open',
  'its_valve_opening',
  'its_valve_closing',
  'its_valve_testing',
];

/**
 * What to do at a leak: its valve is closed, it can be closed from here, or it has to be closed by hand or elsewhere. `own` is
 * null if the leak is at no single valve.
 */
export function leakAdvice(own: HeadlineValve | null, { cloud, broker, isWatchOnly }: BridgeFacts): PageText {
  const state = own && stateOf(own);
  if (state === 'its_valve_closed') return 'advice_leak_closed';
  const isClosable = state ? closableStates.includes(state) : cloud.status !== 'down';
  if (!isClosable) return 'advice_leak_by_hand';
  // Every command comes through the broker.
  const isOutOfReach = isWatchOnly || broker.status === 'down';
  return isOutOfReach ? 'advice_leak_watch_only' : 'advice_water_presence_detected';
}

/** Whether the water runs at the place of an alert. */
function waterOf(own: HeadlineValve | null, { valves, mayHaveMore, isComplete }: HeadlineFacts): Sentence[] {
  if (isLeftOpen(own)) return [{ text: 'its_valve_not_closed' }];
  const first = valves[0]?.valve;
  const isAlike = (each: HeadlineValve) => each.doubt === null && !each.isTesting && each.valve === first;
  if (isComplete && !mayHaveMore && valves.every(isAlike)) {
    if (first === 'open') return [{ text: 'water_on' }];
    if (first === 'closed') return [{ text: 'water_off' }];
  }
  return own === null ? [] : [{ text: stateOf(own) }];
}

function alertSentence({ alert: { name, type, at, time }, place }: PlacedAlert): Sentence {
  const values = { name, type, ...(place && placeValues(place)), ...(at !== null && { at }) };
  const text = place === null ? 'alert' : 'alert_at';
  return { text: at === null ? text : `${text}_${time}`, values };
}

function placeValues({ name, property }: DeviceTitle) {
  return { place: name, ...(property !== null && { property }) };
}

function countOf(text: HeadlineText, count: number): Sentence[] {
  return count > 0 ? [{ text, values: { count } }] : [];
}

function say(tone: Tone, sentences: readonly Sentence[], details: readonly Sentence[] = []): Headline {
  return { tone, sentences, details };
}
