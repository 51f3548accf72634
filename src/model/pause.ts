/*
 * A pause of the automatic shut-off: the bridge turns this setting of a property off, and must turn it on again. This
 * file decides, and `commands/pauses.ts` acts. Two clocks can end a pause, and the first one counts: the wall clock at
 * the promised time, and a clock that is never set and goes on while the machine sleeps. If the wall clock is set back,
 * the pause does not become longer. If it is set forward, the pause may become shorter. That protects the home, and
 * fits the time that the owner sees.
 */

/** The shortest and the longest pause, in minutes, and its length if the owner has chosen none. */
export const minPauseMinutes = 1;
export const maxPauseMinutes = 1_440;
export const defaultPauseMinutes = 60;

/** A pause in the form that is kept over a restart. */
export interface Pause {
  /** When it ends by the wall clock, in ms since 1970. */
  readonly until: number;
  /** When it ends at the latest, in ms of the monotonic clock. */
  readonly endsAt: number;
  /** Whether the pause has ended, but the shut-off is not known to be on again. */
  readonly isOver: boolean;
}

/** A pause in the form that is published. */
export interface ShownPause {
  /** When it ends, or should have ended, as ISO 8601 in UTC; null if there is no pause. */
  readonly until: string | null;
  readonly state: 'none' | 'paused' | 'resuming' | 'failed';
  /** Why the shut-off could not be turned on again so far, for people; null if nothing has failed. */
  readonly reason: string | null;
}

export const noPause: ShownPause = { until: null, state: 'none', reason: null };

/**
 * The phase of a pause. `pausing`: a request to turn the shut-off off is on its way. `resuming`: the pause has ended, and
 * the bridge turns the shut-off on. `failed`: this has failed, and the bridge tries again.
 */
export type PausePhase = 'none' | 'pausing' | 'paused' | 'resuming' | 'failed';

/**
 * The events of a pause. `rejected`: the cloud has certainly not acted. `unanswered`: it may have acted. `turned_on`: the
 * cloud has accepted to turn the shut-off on, but no reading can prove it for a while.
 */
export type PauseEvent =
  | 'accepted'
  | 'rejected'
  | 'unanswered'
  | 'ended'
  | 'due'
  | 'turned_on'
  | 'seen_on'
  | 'not_confirmed';

/**
 * THE TABLE: by phase and event, the next phase. An event that is not listed changes nothing. Only two ways lead to
 * `none`: the cloud has certainly not turned the shut-off off, or a reading shows it on after it was turned on. A
 * single reading during the pause is not enough, because it may show the state before the pause.
 */
const following: Readonly<Record<PausePhase, Partial<Record<PauseEvent, PausePhase>>>> = {
  none: {},
  // A failed command must not take effect later. The shut-off may be off, so it is turned on.
  pausing: { accepted: 'paused', rejected: 'none', unanswered: 'resuming' },
  paused: { ended: 'resuming', due: 'resuming', seen_on: 'resuming' },
  resuming: { seen_on: 'none', not_confirmed: 'failed' },
  failed: { seen_on: 'none', turned_on: 'resuming' },
};

/** The phase after an event; the same one if the event changes nothing. */
export function nextPhase(phase: PausePhase, event: PauseEvent): PausePhase {
  return following[phase][event] ?? phase;
}

export function newPause(minutes: number, now: number, monotonic: number): Pause {
  return { until: now + minutes * 60_000, endsAt: monotonic + minutes * 60_000, isOver: false };
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

/** The pause in a published message, by the wall clock; null if it says that there is none, undefined if it says nothing. */
export function pauseFromShown(shown: object): Pick<Pause, 'until' | 'isOver'> | null | undefined {
  const { until, state } = shown as { readonly until?: unknown; readonly state?: unknown };
  if (state === 'none') return null;
  const at = typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (Number.isNaN(at) || (state !== 'paused' && state !== 'resuming' && state !== 'failed'))
    return undefined;
  return { until: at, isOver: state !== 'paused' };
}

/** The published form of a pause. A pause that the cloud has not accepted yet is not shown. */
export function pauseShown(phase: PausePhase, { until }: Pause, reason: string | null): ShownPause {
  if (phase === 'none' || phase === 'pausing') return noPause;
  return { until: new Date(until).toISOString(), state: phase, reason };
}
