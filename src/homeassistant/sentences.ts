import type { Alert } from '../entities/alerts.ts';
import { incidentName } from '../entities/incidents.ts';
import { dateAt } from '../model/calendar.ts';
import type { BridgeFacts } from '../model/devices.ts';
import type { Language } from '../model/language.ts';
import { type FailedCommand, failureTexts } from '../model/valveCommand.ts';
import { fill, type Sentence, type Text, textsIn } from '../texts/texts.ts';

/** What a text depends on besides the device: the bridge, the time, and the time zone of the property. */
export interface Moment {
  readonly bridge: BridgeFacts;
  /** The wall clock, in ms since 1970. */
  readonly now: number;
  readonly timezone: string;
}

export interface Wording extends Moment {
  readonly language: Language;
}

type Values = NonNullable<Sentence['values']>;

/** The first sentence, and as many further ones as fit into `maxLength`. */
export function inWords(sentences: readonly Sentence[], wording: Wording, maxLength: number): string {
  let words = '';
  for (const { text, values = {} } of sentences) {
    const longer = `${words} ${filledIn(textsIn(wording.language).headline[text], values, wording)}`.trim();
    if (words !== '' && longer.length > maxLength) break;
    words = longer;
  }
  return words;
}

/** An alert as text, for example "Leak since 07:41". */
export function alertInWords({ type, at, time }: Alert, wording: Wording): string {
  const name = alertName(type, wording.language);
  return at === null
    ? name
    : `${name} ${filledIn(textsIn(wording.language).headline[time], { at }, wording)}`;
}

export function failureInWords(failed: FailedCommand, place: string, language: Language): string {
  const { headline } = textsIn(language);
  const { text, advice, reason } = failureTexts(failed);
  const inGap = (gap: string) => (gap === 'place' ? place : (reason ?? ''));
  return [text, advice].map((each) => fill(headline[each], language, 0, inGap)).join(' ');
}

function filledIn(text: Text, values: Values, wording: Wording): string {
  const count = Number(values['count'] ?? 0);
  return fill(text, wording.language, count, (gap) => valueInWords(gap, values, wording));
}

function valueInWords(gap: string, values: Values, wording: Wording): string {
  const { language } = wording;
  const value = values[gap];
  if (gap === 'name') return alertName(values['type'] ?? null, language);
  if (gap === 'at') return timeOrDate(Number(value), wording);
  if (typeof value === 'number') {
    const maximumFractionDigits = gap === 'litres' && value < 10 ? 1 : 0;
    return value.toLocaleString(localeOf(language), { maximumFractionDigits });
  }
  const name = value || textsIn(language).headline.unnamed;
  return gap === 'place' && values['property'] ? `${name} (${values['property']})` : name;
}

function alertName(type: string | number | null, language: Language): string {
  const name = typeof type === 'string' ? incidentName({ type }) : null;
  if (name !== null) return textsIn(language).names[name];
  const unknown = textsIn(language).headline.unknown_alert;
  return type ? `${unknown} (${type})` : unknown;
}

/** The time. The date is added unless it is today at the property. */
function timeOrDate(at: number, { language, now, timezone }: Wording): string {
  const { date, time } = formatsOf(language, timezone);
  const isToday = dateAt(at, timezone) === dateAt(now, timezone);
  return isToday ? time.format(at) : `${date.format(at)}, ${time.format(at)}`;
}

interface Formats {
  readonly date: Intl.DateTimeFormat;
  readonly time: Intl.DateTimeFormat;
}

/** By language and time zone. Making a format takes a hundred times as long as using it. */
const formats = new Map<string, Formats>();

function formatsOf(language: Language, timeZone: string): Formats {
  const key = `${language} ${timeZone}`;
  const known = formats.get(key);
  if (known) return known;
  const locale = localeOf(language);
  const made = {
    date: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone }),
    time: new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone }),
  };
  formats.set(key, made);
  return made;
}

/** British dates, because all readers of English understand them. */
function localeOf(language: Language): string {
  return language === 'en' ? 'en-GB' : language;
}
