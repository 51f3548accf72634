/** The languages of the page: the columns of the table. */
export const languages = ['en'] as const;
export type Language = (typeof languages)[number];

/** `{name}` is a gap. A text that depends on `{count}` has the plural forms of its language (`Intl.PluralRules`). */
type Text = string | ({ readonly other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

/** THE TEXTS of the status page: all of them, a row for each. */
const table = {
  // ---- the headline
  all_good: { en: 'All good.' },
  no_leaks_on: { en: 'No leaks, water on.' },
  no_leaks_on_today: { en: 'No leaks, water on, {litres} L today.' },
  no_leaks_off: { en: 'No leaks, water off.' },
  no_leaks_off_today: { en: 'No leaks, water off, {litres} L today.' },
  no_leaks_some: { en: 'No leaks, {count} of {of} valves open.' },
  no_leaks_some_today: { en: 'No leaks, {count} of {of} valves open, {litres} L today.' },
  alert: { en: '{name}. The place is not known.' },
  alert_since: { en: '{name} since {at}. The place is not known.' },
  alert_at: { en: '{name}: {place}.' },
  alert_at_since: { en: '{name}: {place}, since {at}.' },
  more_alerts: { en: { one: 'One more alert.', other: '{count} more alerts.' } },
  water_on: { en: 'Water is on.' },
  water_off: { en: 'Water is off.' },
  water_unknown: { en: 'It is not known whether the water is on.' },
  its_valve_open: { en: 'Its valve is open.' },
  its_valve_closed: { en: 'Its valve is closed.' },
  its_valve_opening: { en: 'Its valve is opening.' },
  its_valve_closing: { en: 'Its valve is closing.' },
  its_valve_testing: { en: 'Its valve runs a pressure test.' },
  its_valve_faulty: { en: 'Its valve reports a fault.' },
  its_valve_unknown: { en: 'It is not known whether its valve is closed.' },
  valve_faulty: { en: '{place}: the valve reports a fault.' },
  valves_faulty: { en: '{count} of {of} valves report a fault.' },
  valve_offline: { en: '{place} is offline.' },
  valves_offline: { en: '{count} of {of} valves are offline.' },
  valve_unknown: { en: '{place}: it is not known whether the valve is open.' },
  valves_unknown: { en: 'It is not known of {count} of {of} valves whether they are open.' },
  valve_testing: { en: '{place}: a pressure test is running.' },
  valves_testing: { en: '{count} of {of} valves run a pressure test.' },
  valve_closing: { en: '{place} is closing.' },
  valves_closing: { en: '{count} of {of} valves are closing.' },
  valve_opening: { en: '{place} is opening.' },
  valves_opening: { en: '{count} of {of} valves are opening.' },
  no_valve: { en: 'There is no valve to show.' },
  alerts_unknown: { en: 'Not all alerts could be read.' },
  incomplete: { en: 'Not everything could be read.' },
  reading_account: { en: 'Reading your account for the first time.' },
  connecting_cloud: { en: 'Connecting to the cloud.' },
  no_cloud: { en: 'No connection to the cloud.' },
  sign_in_rejected: { en: 'The cloud rejects the sign-in.' },
  data_from: { en: 'This page shows data from {at}.' },
  nothing_read: { en: 'Nothing was read yet.' },
  no_broker: { en: 'No connection to the MQTT broker: Home Assistant gets no updates.' },
  bridge_problem: { en: 'sonic2mqtt reports a problem, see below.' },
} as const satisfies Record<string, Record<Language, Text>>;

export type TextKey = keyof typeof table;

/** The texts in one language, as the module that the script of the page imports. */
export function textsModule(language: Language): string {
  const column = Object.entries(table).map(([key, row]) => [key, row[language]]);
  const texts = JSON.stringify(Object.fromEntries(column));
  return `export const language = '${language}';\nexport const texts = ${texts};\n`;
}
