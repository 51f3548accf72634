/** The only volumes that the cloud accepts for a notification, in litres (source: the library herolabsapi). */
export const volumeThresholdsLitres = [25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000];

/** The only delays that the cloud accepts for a notification, in minutes (same source). */
export const longFlowDelaysMins = [15, 30, 60, 120, 180, 240, 300, 360];

/** The same fields with null, because their values were read too long ago. */
export function withoutSettings<T extends object>(settings: T): T {
  return Object.fromEntries(Object.keys(settings).map((field) => [field, null])) as T;
}

/** A time of day in the cloud's form HH:MM:SS. The text may also be HH:MM; null for any other text. */
export function timeOfDay(text: string): string | null {
  if (/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return `${text}:00`;
  return /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text) ? text : null;
}

/** Whether this machine knows a time zone with that name, for example `Europe/London`. */
export function isTimezoneName(name: string): boolean {
  // Newer runtimes also accept offsets such as +01:00, older ones do not. So offsets are never accepted.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Whether it is a valid address of a webhook. An empty text means no webhook. */
export function isWebhookUrl(text: string): boolean {
  return text === '' || (URL.canParse(text) && /^https?:\/\/[^/]/i.test(text));
}
