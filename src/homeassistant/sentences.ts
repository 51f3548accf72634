import type { Alert } from '../entities/alerts.ts';
import { headlineTexts, type Sentence } from '../entities/headlineTexts.ts';
import { incidentName } from '../entities/incidents.ts';
import { nameIn } from '../entities/names.ts';
import { dateAt } from '../model/calendar.ts';
import type { BridgeFacts } from '../model/devices.ts';
import type { Language, Text } from '../model/language.ts';

/** What a text depends on besides the device: the bridge, the time, and the time zone of the property. */
export interface Moment {
  readonly bridge: BridgeFacts;
  /** The wall clock, in ms since 1970. */
  readonly now: number;
  readonly timezone: string;
}

/** The language and the moment of a text. */
export interface Wording extends Moment {
  readonly language: Language;
}

type Values = NonNullable<Sentence['values']>;

/** The first sentence, and as many further ones as fit into `maxLength`. */
export function inWords(sentences: readonly Sentence[], wording: Wording, maxLength: number): string {
  let words = '';
  for (const { text, values = {} } of sentences) {
    const longer = `${words} ${filledIn(headlineTexts[text][wording.language], values, wording)}`.trim();
    if (words !== '' && longer.length > maxLength) break;
    words = longer;
  }
  return words;
}

/** An alert as text, for example "Leak since 07:41". */
export function alertInWords({ type, at }: Alert, wording: Wording): string {
  const name = alertName(type, wording.language);
  return at === null ? name : `${name} ${filledIn(headlineTexts.since[wording.language], { at }, wording)}`;
}

function filledIn(text: Text, values: Values, wording: Wording): string {
  const form = typeof text === 'string' ? text : pluralOf(text, Number(values['count'] ?? 0), wording);
  return form.replace(/\{(\w+)\}/g, (_, gap: string) => valueInWords(gap, values, wording));
}

function pluralOf(text: Exclude<Text, string>, count: number, { language }: Wording): string {
  return text[new Intl.PluralRules(language).select(count)] ?? text.other;
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
  const name = value || headlineTexts.unnamed[language];
  return gap === 'place' && values['property'] ? `${name}, ${values['property']}` : name;
}

function alertName(type: string | number | null, language: Language): string {
  const name = typeof type === 'string' ? incidentName({ type }) : null;
  if (name !== null) return nameIn(language, name);
  const unknown = headlineTexts.unknown_alert[language];
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
