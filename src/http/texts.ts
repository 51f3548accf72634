import { homepage } from '../base/version.ts';
import { incidentName } from '../entities/incidents.ts';
import type { Language } from '../model/language.ts';
import { incidentTypes } from '../model/records.ts';
import { movers } from '../model/valveCommand.ts';
import { type Text, textsIn } from '../texts/texts.ts';

/** All texts of the status page. Devices and alerts have the same names here and in Home Assistant. */
export function pageTexts(language: Language): Readonly<Record<string, Text>> {
  const { headline, page, names, states } = textsIn(language);
  const alertNames = incidentTypes.flatMap((type) => {
    const name = incidentName({ type });
    return name === null ? [] : [[`alert_${type}`, names[name]]];
  });
  return {
    language,
    documents: `${homepage}/blob/main`,
    ...headline,
    ...page,
    ...Object.fromEntries(movers.map((by) => [`moved_by_${by}`, states[`moved_by_${by}`]])),
    battery_low: names['Battery low'],
    battery_external_power_supply: names['External power'],
    data_pressure_tests: names['Pressure tests'],
    ...Object.fromEntries(alertNames),
  };
}
