/** The languages of entity names (`homeassistant.language`), and of the pages for browsers. */
export const languages = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Language = (typeof languages)[number];
