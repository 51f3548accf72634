/** The languages that entities have names in (`homeassistant.language`). */
export const languages = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Language = (typeof languages)[number];
