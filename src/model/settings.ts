/** The only volumes that the cloud takes for a notification, in litres, as the library herolabsapi lists them. */
export const volumeThresholdsLitres = [25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000];

/** The only delays that the cloud takes for a notification, in minutes, from the same source. */
export const longFlowDelaysMins = [15, 30, 60, 120, 180, 240, 300, 360];

/** Settings that the cloud accepts and never shows: the last accepted value is all that is known. */
export interface AcceptedSettings {
  readonly leak_protection_enabled?: boolean;
  readonly push_enabled?: boolean;
  /** Only where the settings do not show it, as the interface document has it. */
  readonly webhook_url?: string;
}

/** The same fields without their values, which were read too long ago. */
export function withoutSettings<T extends object>(settings: T): T {
  return Object.fromEntries(Object.keys(settings).map((field) => [field, null])) as T;
}

/** A time of day as the cloud wants it, HH:MM:SS, from the same or from HH:MM; null for anything else. */
export function timeOfDay(text: string): string | null {
  if (/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return `${text}:00`;
  return /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text) ? text : null;
}

/** Whether it is the name of a time zone, such as `Europe/London`; an offset is none. */
export function isTimezoneName(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Whether it is an address that a webhook can be sent to, or empty for none. */
export function isWebhookUrl(text: string): boolean {
  return text === '' || (URL.canParse(text) && /^https?:\/\/[^/]/i.test(text));
}
