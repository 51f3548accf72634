import type { BridgeFacts } from '../model/devices.ts';
import type { Valve } from '../model/valve.ts';
import type { HeadlineText, Sentence } from '../texts/texts.ts';
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

/** A failed command: the text of its sentence, the text of its details, and the values for their gaps. */
export interface ShownFailure {
  readonly text: HeadlineText;
  readonly details: HeadlineText;
  /** When the command was sent, in ms since 1970. */
  readonly at: number;
  /** How long the valve was read without a movement, in s; null if it was not read in vain. */
  readonly count: number | null;
  /** The text of what follows from it. */
  readonly advice: HeadlineText;
  readonly reason: string | null;
}

export interface HeadlineValve extends DeviceTitle {
  readonly valve: Valve | null;
  /** Whether the shown state is certainly the current one: it is fresh, and the valve and its hub are reachable. */
  readonly isSure: boolean;
  readonly isReachable: boolean;
  /** Whether a pressure test runs. It closes the valve for a while, whatever position is shown. */
  readonly isTesting: boolean;
  readonly isFaulty: boolean;
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
  readonly areAlertsKnown: boolean;
  /** Since when the oldest of the alerts was not confirmed, in ms since 1970; null if all are. */
  readonly unconfirmedSince: number | null;
  /** Litres of today, of all valves together; null if they are not known of all valves. */
  readonly todayL: number | null;
}

/** Chooses the headline. The first rule that applies wins. */
export function headlineOf(facts: HeadlineFacts): Headline {
  const { cloud, isLoading, isWhole, valves, areAlertsKnown } = facts;
  const alerts = facts.alerts.toSorted((one, other) => byUrgency(one.alert, other.alert));
  if (cloud.status === 'down') return outage(facts, alerts);
  const [worst] = alerts;
  if (worst) {
    // A valve that is offline is more important than a low battery.
    const { unconfirmedSince: at } = facts;
    const more = (count: number): Sentence[] => [
      ...(at === null ? [] : [{ text: 'alerts_unconfirmed', values: { at } } as const]),
      ...moreAlerts(count),
    ];
    const trouble = worst.alert.urgency === 'notice' && !isLoading ? troubledHeadline(facts) : null;
    if (trouble) return { ...trouble, details: [...more(alerts.length), ...trouble.details] };
    const lead = [alertSentence(worst), ...waterOf(worst.valve, facts)];
    const details = [...failedParts(facts), ...more(alerts.length - 1), ...extras(facts)];
    return say(worst.alert.urgency, lead, details);
  }
  if (cloud.status === 'connecting') return say('unknown', [{ text: 'connecting_cloud' }]);
  if (isLoading && !(isWhole && areAlertsKnown)) return say('unknown', [{ text: 'reading_account' }]);
  if (!isWhole) return say('unknown', [{ text: 'incomplete' }], extras(facts));
  const trouble = troubledHeadline(facts);
  // An offline valve reports no alerts, so both are said together.
  if (!areAlertsKnown && trouble)
    return { ...trouble, details: [{ text: 'alerts_unknown' }, ...trouble.details] };
  if (!areAlertsKnown) return say('unknown', [{ text: 'alerts_unknown' }], extras(facts));
  if (valves.length === 0) return say('unknown', [{ text: 'no_valve' }], extras(facts));
  return trouble ?? moving(facts) ?? allWell(facts);
}

/** The headline during an outage. Old readings are not shown as current, but an alarm stays an alarm. */
function outage({ cloud, health, valves }: HeadlineFacts, alerts: readonly PlacedAlert[]): Headline {
  const [worst] = alerts;
  const cause: Sentence = { text: health === 'auth_failed' ? 'sign_in_rejected' : 'no_cloud' };
  const rest: readonly Sentence[] = [
    cloud.workedAt === null
      ? { text: 'nothing_read' }
      : { text: 'data_from', values: { at: cloud.workedAt } },
    ...(valves.length > 0 ? [{ text: 'water_unknown' } as const] : []),
  ];
  if (!worst) return say('unknown', [cause], rest);
  const tone = worst.alert.urgency === 'alarm' ? 'alarm' : 'unknown';
  return say(tone, [alertSentence(worst), cause], [...moreAlerts(alerts.length - 1), ...rest]);
}

/** The headline about a valve that is faulty, offline, has not obeyed or is unknown; null if there is none. */
function troubledHeadline(facts: HeadlineFacts): Headline | null {
  const worse =
    about(({ isFaulty }) => isFaulty, 'warning', 'valve_faulty', 'valves_faulty', facts) ??
    about(({ isReachable }) => !isReachable, 'warning', 'valve_offline', 'valves_offline', facts);
  if (worse) return { ...worse, details: [...failedParts(facts), ...worse.details] };
  const isUnknown = ({ isSure, valve }: HeadlineValve) => !isSure || valve === null;
  return failedHeadline(facts) ?? about(isUnknown, 'unknown', 'valve_unknown', 'valves_unknown', facts);
}

/** The first valve that has not carried out its command, where something worse comes first. */
function failedParts({ valves }: HeadlineFacts): Sentence[] {
  return valves
    .flatMap((each): Sentence[] =>
      each.failed ? [{ text: each.failed.text, values: placeValues(each) }] : [],
    )
    .slice(0, 1);
}

/** The headline about a valve that has not carried out its command; null if there is none. */
function failedHeadline(facts: HeadlineFacts): Headline | null {
  const [first, ...others] = facts.valves.filter(({ failed }) => failed !== null);
  if (!first?.failed) return null;
  const { text, details, at, count, advice, reason } = first.failed;
  const more: Sentence[] =
    others.length > 0 ? [{ text: 'more_failed', values: { count: others.length } }] : [];
  const about: Sentence[] = [
    { text: details, values: { at, count } },
    { text: advice, values: { reason } },
    ...more,
  ];
  return say('warning', [{ text, values: placeValues(first) }], [...about, ...extras(facts)]);
}

/** The headline about a valve that is moving or being tested; null if there is none. */
function moving(facts: HeadlineFacts): Headline | null {
  return (
    about(({ isTesting }) => isTesting, 'moving', 'valve_testing', 'valves_testing', facts) ??
    about(({ valve }) => valve === 'closing', 'moving', 'valve_closing', 'valves_closing', facts) ??
    about(({ valve }) => valve === 'opening', 'moving', 'valve_opening', 'valves_opening', facts)
  );
}

/** The headline about the valves for which `isMeant` is true; null if there are none. */
function about(
  isMeant: (valve: HeadlineValve) => boolean,
  tone: Tone,
  one: HeadlineText,
  several: HeadlineText,
  facts: HeadlineFacts,
): Headline | null {
  const meant = facts.valves.filter(isMeant);
  const [first] = meant;
  if (!first) return null;
  const values = { ...placeValues(first), count: meant.length, of: facts.valves.length };
  return say(tone, [{ text: meant.length === 1 ? one : several, values }], extras(facts));
}

/** The headline if every valve is known to be open or closed, and no alert is open. */
function allWell(facts: HeadlineFacts): Headline {
  const { valves, mayHaveMore, broker, cloud, health, isLoading, todayL } = facts;
  const areAllUp = cloud.status === 'up' && broker.status === 'up' && health === 'ok' && !isLoading;
  const open = valves.filter(({ valve }) => valve === 'open').length;
  const isMixed = mayHaveMore || (open > 0 && open < valves.length);
  const water = isMixed ? 'no_leaks_some' : open === 0 ? 'no_leaks_off' : 'no_leaks_on';
  const values = { count: open, of: valves.length, litres: todayL };
  const more = extras(facts);
  return say(
    more.length > 0 ? 'warning' : 'good',
    [
      ...(areAllUp ? [{ text: 'all_good' } as const] : []),
      { text: todayL === null ? water : `${water}_today`, values },
    ],
    more,
  );
}

/** Problems that do not concern the water. */
function extras({ broker, health, isLoading }: HeadlineFacts): Sentence[] {
  if (broker.status === 'down') return [{ text: 'no_broker' }];
  // During the first reading, missing data is no problem.
  return health === 'degraded' && !isLoading ? [{ text: 'bridge_problem' }, { text: 'see_below' }] : [];
}

/** Whether the water runs at the place of an alert. */
function waterOf(own: HeadlineValve | null, { valves, mayHaveMore, isWhole }: HeadlineFacts): Sentence[] {
  const isKnown = (each: HeadlineValve) => each.isSure && !each.isTesting && each.valve !== null;
  const first = valves[0]?.valve;
  if (isWhole && !mayHaveMore && valves.every((each) => isKnown(each) && each.valve === first)) {
    if (first === 'open') return [{ text: 'water_on' }];
    if (first === 'closed') return [{ text: 'water_off' }];
  }
  if (own === null) return [];
  if (own.isTesting) return [{ text: 'its_valve_testing' }];
  if (own.isFaulty) return [{ text: 'its_valve_faulty' }];
  if (!isKnown(own) || own.valve === null) return [{ text: 'its_valve_unknown' }];
  return [{ text: `its_valve_${own.valve}` }];
}

function alertSentence({ alert: { name, type, at }, place }: PlacedAlert): Sentence {
  const values = { name, type, ...(place && placeValues(place)), ...(at !== null && { at }) };
  const text = place === null ? 'alert' : 'alert_at';
  return { text: at === null ? text : `${text}_since`, values };
}

function placeValues({ name, property }: DeviceTitle) {
  return { place: name, ...(property !== null && { property }) };
}

function moreAlerts(count: number): Sentence[] {
  return count > 0 ? [{ text: 'more_alerts', values: { count } }] : [];
}

function say(tone: Tone, sentences: readonly Sentence[], details: readonly Sentence[] = []): Headline {
  return { tone, sentences, details };
}
