import type { BridgeFacts } from '../model/devices.ts';
import type { Valve } from '../model/valve.ts';
import { type Alert, byUrgency, type Urgency } from './alerts.ts';
import type { HeadlineText, Sentence } from './headlineTexts.ts';

// The first thing that the page says: one coloured sentence on the water of the home, and what belongs to it. A property's
// summary in Home Assistant is the same of one property. "Water is off" may make somebody leave the home while it floods.
// So the sentence names a position only for valves that surely have it now, and speaks of "the water" only if all valves
// are known.

/** The colour of the page, the gravest first. `unknown`: the state is not known. */
export type Tone = Urgency | 'unknown' | 'moving' | 'good';

/** What the page says first, and its colour. */
export interface Headline {
  readonly tone: Tone;
  /** One or two, in large letters and in the title of the tab. */
  readonly sentences: readonly Sentence[];
  /** The sentence below them. */
  readonly details: readonly Sentence[];
}

/** What the headline calls a device. */
export interface DeviceTitle {
  readonly name: string;
  /** The name of its property if other devices are called the same; null if the name is enough. */
  readonly property: string | null;
}

/** A failed command: the texts of its sentence and of its details, and what stands in their gaps. */
export interface ShownFailure {
  readonly text: HeadlineText;
  readonly details: HeadlineText;
  /** When it was sent, in ms. */
  readonly at: number;
  /** How long the valve was read in vain, in s. */
  readonly count: number | null;
}

/** A valve as far as the headline goes. */
export interface HeadlineValve extends DeviceTitle {
  readonly valve: Valve | null;
  /** Whether the valve is known to be so now: it is fresh, and valve and hub are reachable. */
  readonly isSure: boolean;
  readonly isReachable: boolean;
  /** A pressure test closes a valve for a while, whatever position it is shown in. */
  readonly isTesting: boolean;
  readonly isFaulty: boolean;
  /** A command that failed; null without one. */
  readonly failed: ShownFailure | null;
}

/** An alert, and where it is. */
export interface PlacedAlert {
  readonly alert: Alert;
  /** Its device, or its property if it names no device there; null if that is not known. */
  readonly place: DeviceTitle | null;
  /** The valve that it is about; null if it is about none. */
  readonly valve: HeadlineValve | null;
}

/** All that the headline depends on. */
export interface HeadlineFacts extends BridgeFacts {
  readonly valves: readonly HeadlineValve[];
  /** Whether there may be more valves: then no sentence is about all the water. */
  readonly mayHaveMore: boolean;
  readonly alerts: readonly PlacedAlert[];
  /** Whether no other alert is open. */
  readonly areAlertsKnown: boolean;
  /** Litres of today of all valves together; null if not all are known. */
  readonly todayL: number | null;
}

/** Decides what the page says first. The first line that applies wins. */
export function headlineOf(facts: HeadlineFacts): Headline {
  const { cloud, isLoading, isWhole, valves, areAlertsKnown } = facts;
  const alerts = facts.alerts.toSorted((one, other) => byUrgency(one.alert, other.alert));
  if (cloud.status === 'down') return outage(facts, alerts);
  const [worst] = alerts;
  if (worst) {
    // A low battery is less than a valve that is offline.
    const trouble = worst.alert.urgency === 'notice' && !isLoading ? troubledHeadline(facts) : null;
    if (trouble)
      return { ...trouble, details: [...moreAlerts(alerts.length).map(sentence), ...trouble.details] };
    const lead = [alertSentence(worst), ...waterOf(worst.valve, facts)];
    const failed = facts.valves.flatMap((each): Parts[] =>
      each.failed ? [[each.failed.text, placeValues(each)]] : [],
    );
    const details = [...failed.slice(0, 1), ...moreAlerts(alerts.length - 1), ...extras(facts)];
    return say(worst.alert.urgency, lead, details);
  }
  if (cloud.status === 'connecting') return say('unknown', [['connecting_cloud']]);
  if (isLoading && !(isWhole && areAlertsKnown)) return say('unknown', [['reading_account']]);
  if (!isWhole) return say('unknown', [['incomplete']], extras(facts));
  const trouble = troubledHeadline(facts);
  // An offline valve reports no alert, so it comes with this.
  if (!areAlertsKnown && trouble)
    return { ...trouble, details: [sentence(['alerts_unknown']), ...trouble.details] };
  if (!areAlertsKnown) return say('unknown', [['alerts_unknown']], extras(facts));
  if (valves.length === 0) return say('unknown', [['no_valve']], extras(facts));
  return trouble ?? moving(facts) ?? allWell(facts);
}

/** After an outage, old readings are not shown as current, but an alarm stays one. */
function outage({ cloud, health, valves }: HeadlineFacts, alerts: readonly PlacedAlert[]): Headline {
  const [worst] = alerts;
  const cause: Parts = [health === 'auth_failed' ? 'sign_in_rejected' : 'no_cloud'];
  const rest: readonly Parts[] = [
    cloud.workedAt === null ? ['nothing_read'] : ['data_from', { at: cloud.workedAt }],
    ...(valves.length > 0 ? [['water_unknown'] as const] : []),
  ];
  if (!worst) return say('unknown', [cause], rest);
  const tone = worst.alert.urgency === 'alarm' ? 'alarm' : 'unknown';
  return say(tone, [alertSentence(worst), cause], [...moreAlerts(alerts.length - 1), ...rest]);
}

/** A valve that failed to obey, is faulty, offline or unknown; null if none is. */
function troubledHeadline(facts: HeadlineFacts): Headline | null {
  const { valves } = facts;
  const faulty = valves.filter(({ isFaulty }) => isFaulty);
  const away = valves.filter(({ isReachable }) => !isReachable);
  const unsure = valves.filter(({ isSure, valve }) => !isSure || valve === null);
  const failed = failedHeadline(facts);
  if (failed) return failed;
  if (faulty.length > 0) return about(faulty, 'warning', 'valve_faulty', 'valves_faulty', facts);
  if (away.length > 0) return about(away, 'warning', 'valve_offline', 'valves_offline', facts);
  if (unsure.length > 0) return about(unsure, 'unknown', 'valve_unknown', 'valves_unknown', facts);
  return null;
}

/** A valve that did not do as it was told; null if none is known. */
function failedHeadline(facts: HeadlineFacts): Headline | null {
  const [first, ...others] = facts.valves.filter(({ failed }) => failed !== null);
  if (!first?.failed) return null;
  const { text, details, at, count } = first.failed;
  const more: Parts[] = others.length > 0 ? [['more_failed', { count: others.length }]] : [];
  const about: Parts[] = [[details, { at, count }], ['command_advice'], ...more];
  return say('warning', [[text, placeValues(first)]], [...about, ...extras(facts)]);
}

/** A valve that moves or is tested; null if none is. */
function moving(facts: HeadlineFacts): Headline | null {
  const { valves } = facts;
  const testing = valves.filter(({ isTesting }) => isTesting);
  const closing = valves.filter(({ valve }) => valve === 'closing');
  const opening = valves.filter(({ valve }) => valve === 'opening');
  if (testing.length > 0) return about(testing, 'moving', 'valve_testing', 'valves_testing', facts);
  if (closing.length > 0) return about(closing, 'moving', 'valve_closing', 'valves_closing', facts);
  if (opening.length > 0) return about(opening, 'moving', 'valve_opening', 'valves_opening', facts);
  return null;
}

function about(
  some: readonly HeadlineValve[],
  tone: Tone,
  one: HeadlineText,
  several: HeadlineText,
  facts: HeadlineFacts,
): Headline {
  const [first] = some;
  const values = { ...(first && placeValues(first)), count: some.length, of: facts.valves.length };
  return say(tone, [[some.length === 1 ? one : several, values]], extras(facts));
}

/** Every valve is known to be open or closed, and no alert is open. */
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
    [...(areAllUp ? [['all_good'] as const] : []), [todayL === null ? water : `${water}_today`, values]],
    more,
  );
}

/** What is wrong besides the water. */
function extras({ broker, health, isLoading }: HeadlineFacts): Parts[] {
  if (broker.status === 'down') return [['no_broker']];
  // While something is read for the first time, what is missing is no problem.
  return health === 'degraded' && !isLoading ? [['bridge_problem'], ['see_below']] : [];
}

/** Whether the water runs where an alert is. */
function waterOf(own: HeadlineValve | null, { valves, mayHaveMore, isWhole }: HeadlineFacts): Parts[] {
  const isKnown = (each: HeadlineValve) => each.isSure && !each.isTesting && each.valve !== null;
  const first = valves[0]?.valve;
  if (isWhole && !mayHaveMore && valves.every((each) => isKnown(each) && each.valve === first)) {
    if (first === 'open') return [['water_on']];
    if (first === 'closed') return [['water_off']];
  }
  if (own === null) return [];
  if (own.isTesting) return [['its_valve_testing']];
  if (own.isFaulty) return [['its_valve_faulty']];
  if (!isKnown(own) || own.valve === null) return [['its_valve_unknown']];
  return [[`its_valve_${own.valve}`]];
}

function alertSentence({ alert: { name, type, at }, place }: PlacedAlert): Parts {
  const values = { name, type, ...(place && placeValues(place)), ...(at !== null && { at }) };
  if (place === null) return [at === null ? 'alert' : 'alert_since', values];
  return [at === null ? 'alert_at' : 'alert_at_since', values];
}

function placeValues({ name, property }: DeviceTitle) {
  return { place: name, ...(property !== null && { property }) };
}

function moreAlerts(count: number): Parts[] {
  return count > 0 ? [['more_alerts', { count }]] : [];
}

type Parts = readonly [text: HeadlineText, values?: Sentence['values']];

function say(tone: Tone, lead: readonly Parts[], details: readonly Parts[] = []): Headline {
  return { tone, sentences: lead.map(sentence), details: details.map(sentence) };
}

function sentence([text, values]: Parts): Sentence {
  return { text, ...(values && { values }) };
}
