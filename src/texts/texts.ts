import type { Language } from '../model/language.ts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import nl from './nl.json' with { type: 'json' };
import pl from './pl.json' with { type: 'json' };

/*
 * All texts that users read in their language, in one file for each language. English decides which texts there are: if
 * another language lacks one, `tsc` reports an error here. The names of entities have their English text as the key, so
 * the other languages decide which names there are.
 */

/** `{name}` marks a gap. A text with `{count}` has the plural forms of its language (`Intl.PluralRules`). */
export type Text = string | ({ readonly other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

/** The English name of an entity. */
export type EntityName = keyof typeof de.names;

const names = Object.fromEntries(Object.keys(de.names).map((name) => [name, name])) as typeof de.names;
const english = { names, ...en };

type Texts = {
  readonly [Section in keyof typeof english]: {
    readonly [Key in keyof (typeof english)[Section]]: (typeof english)[Section][Key] extends string
      ? string
      : Text;
  };
};

const all: Readonly<Record<Language, Texts>> = { en: english, de, fr, nl, pl };

/** The key of a state's word: the key of its entity and the option. */
export type StateText = keyof typeof en.states;

/** The key of a text of the headline. */
export type HeadlineText = keyof typeof en.headline;

/** The key of a text of the status page. */
export type PageText = keyof typeof en.page;

/** The key of a text of the setup. */
export type SetupText = keyof typeof en.setup;

/** A text of the headline and the values for its gaps: names, numbers, and times in ms since 1970. */
export interface Sentence {
  readonly text: HeadlineText;
  readonly values?: Readonly<Record<string, string | number | null>>;
}

export function textsIn(language: Language): Texts {
  return all[language];
}

/** A text with its gaps filled, in the plural form of `count`. */
export function fill(
  text: Text,
  language: Language,
  count: number,
  filling: (gap: string) => string,
): string {
  const form =
    typeof text === 'string' ? text : (text[new Intl.PluralRules(language).select(count)] ?? text.other);
  return form.replace(/\{(\w+)\}/g, (_, gap: string) => filling(gap));
}
