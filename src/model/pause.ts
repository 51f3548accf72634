/*
 * A pause of the automatic shut-off: the bridge turns this setting of a property off, and must turn it on again. This
 * file decides, and `commands/pauses.ts` acts. Two clocks can end a pause, and the first one counts: the wall clock at
 * the promised time, and a clock that is never set and goes on while the machine sleeps. If the wall clock is set back,
 * the pause does not become longer. If it is set forward, the pause may become shorter. That protects the home, and
 * fits the time that the owner sees.
 */

/** The shortest and the longest pause, in minutes. */
export const minPauseMinutes = 1;
export const maxPauseMinutes = 1_440;

/** A pause in the form that is kept over a restart. */
export interface Pause {
  /** When it ends by the wall clock, in ms since 1970. */
  readonly until: number;
  /** When it ends at the latest, in ms of the monotonic clock. */
  readonly endsAt: number;
  /** Its length, as it was asked for. */
  readonly minutes: number;
  /** Whether the request to turn the shut-off off is under way. Then there is nothing to show or to end. */
  readonly isPending: boolean;
  /** Whether the pause has ended, but the shut-off is not known to be on again. */
  readonly isOver: boolean;
  /** Why the shut-off could not be turned on again so far, for people; null if nothing has failed. */
  readonly reason: string | null;
}

/** A pause in the form that is published. */
export interface ShownPause {
  /** When it ends, or should have ended, as ISO 8601 in UTC; null if there is no pause. */
  readonly until: string | null;
  /** Its length; 0 unless the shut-off is paused. */
  readonly minutes: number;
  readonly state: 'none' | 'paused' | 'resuming' | 'failed';
  readonly reason: string | null;
}

export const noPause: ShownPause = { until: null, minutes: 0, state: 'none', reason: null };

export function newPause(minutes: number, now: number, monotonic: number): Pause {
  const lengthMs = minutes * 60_000;
  const state = { isPending: true, isOver: false, reason: null };
  return { until: now + lengthMs, endsAt: monotonic + lengthMs, minutes, ...state };
}

/** How long a pause still lasts, in ms, by the clock that ends it first. */
export function pauseLeftMs({ until, endsAt }: Pause, now: number, monotonic: number): number {
  return Math.min(until - now, endsAt - monotonic);
}

/** A smaller difference is no correction of the clock, in ms: two clocks never agree exactly. */
const minSetBackMs = 60_000;

/** Ends it earlier by the wall clock if that was set back, because the monotonic clock ends it then. */
export function correctedPause(pause: Pause, now: number, monotonic: number): Pause {
  const latest = now + pause.endsAt - monotonic;
  return pause.until - latest > minSetBackMs ? { ...pause, until: latest } : pause;
}

/**
 * The pause in a published message; null if it says that there is none, undefined if it says nothing. Anyone may have
 * written it: it ends at most its minutes from now, and a day at most.
 */
export function pauseFromShown(
  shown: object,
  clock: { now(): number; monotonic(): number },
): Pause | null | undefined {
  const { until: end, minutes: length, state } = shown as Readonly<Record<keyof ShownPause, unknown>>;
  if (state === 'none') return null;
  const endsOn = typeof end === 'string' ? Date.parse(end) : Number.NaN;
  if (Number.isNaN(endsOn) || (state !== 'paused' && state !== 'resuming' && state !== 'failed'))
    return undefined;
  const isLength =
    Number.isInteger(length) && Number(length) >= minPauseMinutes && Number(length) <= maxPauseMinutes;
  const minutes = isLength ? Number(length) : maxPauseMinutes;
  const longest = newPause(minutes, clock.now(), clock.monotonic());
  const until = Math.min(endsOn, longest.until);
  const endsAt = clock.monotonic() + Math.max(0, until - clock.now());
  return { until, endsAt, minutes, isPending: false, isOver: state !== 'paused', reason: null };
}

/** The published form of a pause; `noPause` if there is none that the cloud may have accepted. */
export function pauseShown(pause: Pause | undefined): ShownPause {
  if (!pause || pause.isPending) return noPause;
  const { until, isOver, reason } = pause;
  const state = !isOver ? 'paused' : reason === null ? 'resuming' : 'failed';
  return { until: new Date(until).toISOString(), minutes: isOver ? 0 : pause.minutes, state, reason };
}
