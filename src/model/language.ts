/** The languages of entity names (`homeassistant.language`), and of the pages for browsers. */
export const languages = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Language = (typeof languages)[number];

/** `{name}` marks a gap. A text with `{count}` has the plural forms of its language (`Intl.PluralRules`). */
export type Text = string | ({ readonly other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

/** The texts of a page: a row for each, with a column for each language. */
export type TextTable = Readonly<Record<string, Readonly<Record<Language, Text>>>>;
