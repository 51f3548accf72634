/*
 * A pause of the automatic shut-off: a property's setting that the bridge turns off, and must turn on again. This file decides,
 * and `commands/pauses.ts` acts. Two clocks end a pause, whichever is first: the wall clock at the time that was promised, and
 * the one that is never set and goes on while the machine sleeps. So a clock that is set back makes no pause longer, and one
 * that is set forward may make it shorter: that protects the home, and the time that the owner sees is one of the wall clock.
 */

/** How long a pause may be, in minutes, and how long it is unless its owner chooses. */
export const minPauseMinutes = 1;
export const maxPauseMinutes = 1_440;
export const defaultPauseMinutes = 60;

/** A pause as it is kept over a restart. */
export interface Pause {
  /** When it ends by the wall clock, in ms since 1970. */
  readonly until: number;
  /** When it ends at the latest, in ms of the monotonic clock. */
  readonly endsAt: number;
  /** Whether it has ended, and the shut-off is not known to be on again. */
  readonly isOver: boolean;
}

/** A pause as it is published. */
export interface ShownPause {
  /** When it ends or should have ended, ISO 8601 in UTC; null without a pause. */
  readonly until: string | null;
  readonly state: 'none' | 'paused' | 'resuming' | 'failed';
  /** Why the shut-off could not be turned on again so far, in words; null if nothing has failed. */
  readonly reason: string | null;
}

/** What is shown of a property whose shut-off is not paused. */
export const noPause: ShownPause = { until: null, state: 'none', reason: null };

/**
 * Where a pause is. `pausing`: a request to turn off the shut-off is under way. `prolonging`: the same, for a pause that lasts
 * already. `resuming`: it has ended, and the shut-off is turned on. `failed`: that has failed, and is tried again.
 */
export type PausePhase = 'none' | 'pausing' | 'prolonging' | 'paused' | 'resuming' | 'failed';

/** What can happen to it. `rejected`: the cloud has certainly not acted. `unanswered`: it may have. */
export type PauseEvent =
  | 'asked'
  | 'accepted'
  | 'rejected'
  | 'unanswered'
  | 'ended'
  | 'due'
  | 'seen_on'
  | 'not_confirmed';

/**
 * THE TABLE of what follows from what; what is not in it changes nothing. Only two ways lead to `none`: the cloud has plainly
 * not turned off the shut-off, or a reading shows it on after it was turned on. One reading alone may show what was before.
 */
const following: Readonly<Record<PausePhase, Partial<Record<PauseEvent, PausePhase>>>> = {
  none: { asked: 'pausing' },
  // A command that has failed must not have an effect later: what may be off is turned on.
  pausing: { accepted: 'paused', rejected: 'none', unanswered: 'resuming' },
  // It was off before, so that the pause before stands.
  prolonging: { accepted: 'paused', rejected: 'paused', unanswered: 'paused' },
  paused: { asked: 'prolonging', ended: 'resuming', due: 'resuming', seen_on: 'resuming' },
  resuming: { seen_on: 'none', not_confirmed: 'failed' },
  failed: { seen_on: 'none' },
};

/** The phase after an event; the same one if the event changes nothing. */
export function nextPhase(phase: PausePhase, event: PauseEvent): PausePhase {
  return following[phase][event] ?? phase;
}

/** The pause that is asked for now, by both clocks. */
export function newPause(minutes: number, now: number, monotonic: number): Pause {
  return { until: now + minutes * 60_000, endsAt: monotonic + minutes * 60_000, isOver: false };
}

/** How long a pause lasts from now on, in ms: by the clock that ends it first. */
export function pauseLeftMs({ until, endsAt }: Pause, now: number, monotonic: number): number {
  return Math.min(until - now, endsAt - monotonic);
}

/** Two clocks never agree to the millisecond. */
const minSetBackMs = 60_000;

/** The same pause, with an earlier time if the wall clock was set back: the old one would come too late to be true. */
export function correctedPause(pause: Pause, now: number, monotonic: number): Pause {
  const latest = now + pause.endsAt - monotonic;
  return pause.until - latest > minSetBackMs ? { ...pause, until: latest } : pause;
}

/** The pause of a published message, by the wall clock; null where it shows none. */
export function pauseFromShown(shown: object): Pick<Pause, 'until' | 'isOver'> | null {
  const { until, state } = shown as { readonly until?: unknown; readonly state?: unknown };
  const at = typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (Number.isNaN(at) || (state !== 'paused' && state !== 'resuming' && state !== 'failed')) return null;
  return { until: at, isOver: state !== 'paused' };
}

/** How a pause is published. One that the cloud has not accepted yet is not shown. */
export function pauseShown(phase: PausePhase, { until }: Pause, reason: string | null): ShownPause {
  if (phase === 'none' || phase === 'pausing') return noPause;
  const state = phase === 'prolonging' ? 'paused' : phase;
  return { until: new Date(until).toISOString(), state, reason };
}
