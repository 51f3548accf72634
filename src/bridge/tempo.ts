/** How much there is to see: `lively` for a while after something happened, `calm` where nothing does. */
export type Mood = 'lively' | 'steady' | 'calm';

/** What is known of one sonic, or of the list of them; times are ms of the monotonic clock, null where never. */
export interface Trace {
  /** When a command was accepted, an incident opened, changed or closed, or water was last seen to flow. */
  readonly stirredAt: number | null;
  /** Since when no value was seen to change. */
  readonly restingSince: number | null;
}

/** A mood that lasts longer than so many periods shows nothing more. */
const longestLively = { ms: 300_000, periods: 10 };
const restingUntilCalmMs = 3_600_000;

/** Nobody is hurried below this, but one whose schedule asks for more. */
const shortestHurriedMs = 10_000;

/** What is read less often must still be renewed twice before it is stale. */
export const calmShareOfStale = 0.5;

/** The mood of what is read so often by its schedule. */
export function moodOf({ stirredAt, restingSince }: Trace, periodMs: number, now: number): Mood {
  if (stirredAt !== null && now - stirredAt < livelyForMs(periodMs)) return 'lively';
  return restingSince !== null && now - restingSince >= restingUntilCalmMs ? 'calm' : 'steady';
}

/** How long a sonic or the list is lively: five minutes, or ten periods where those take less. */
function livelyForMs(periodMs: number): number {
  return Math.min(longestLively.ms, longestLively.periods * periodMs);
}

/** How often the list of sonics is read: quicker when lively, but never slower, as it shows the valves. */
export function listPeriodMs(mood: Mood, periodMs: number): number {
  if (mood !== 'lively') return periodMs;
  const shortestMs = periodMs < shortestHurriedMs ? 0 : shortestHurriedMs;
  return Math.max(periodMs / 2, shortestMs);
}

/** How often a sonic's telemetry is read: also at every second round only when calm, where that keeps it fresh. */
export function telemetryPeriodMs(mood: Mood, periodMs: number, staleAfterMs: number): number {
  if (mood !== 'calm') return listPeriodMs(mood, periodMs);
  return 2 * periodMs <= staleAfterMs * calmShareOfStale ? 2 * periodMs : periodMs;
}
