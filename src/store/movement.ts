import { typeOf } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { SettledValve } from '../model/valve.ts';
import type { Movement } from '../model/valveCommand.ts';

/** A command that the cloud may have carried out. Times are ms of the monotonic clock. */
export interface Flight {
  readonly target: SettledValve;
  readonly topic: string;
  readonly sentAt: number;
  /** Until when the valve may begin to move. */
  readonly until: number;
}

/** An incident that was new when it was read, at that time in ms of the monotonic clock. */
export interface NewIncident {
  readonly incident: Incident;
  readonly readAt: number;
}

/** A movement as the readings show it. Times are ms of the monotonic clock. */
export interface Move {
  readonly to: SettledValve;
  /** When the valve was last read in its former position; minus infinity if only an earlier run has read it there. */
  readonly from: number;
  /** When the valve was first read in the new position. */
  readonly noticedAt: number;
  /** The same in ms since 1970. */
  readonly noticedTime: number;
  readonly mover: Flight | null;
  /** Whether the automatic shut-off was on when the movement was noticed, or when that was first known; null before. */
  readonly isShutOffOn: boolean | null;
}

/** A movement and the incident that explains it are read within this time, in ms. */
export const togetherMs = 5 * 60_000;

/** A command has moved the valve only if the valve is read within this time after the time of the command, in ms. */
const countsAsMoverMs = 10 * 60_000;

/** If two readings are further apart than this, in ms, the time of a movement between them is unknown. */
const timelyMs = 60 * 60_000;

const shutOffTypes = ['high_volume_alert', 'long_flow_alert', 'water_presence_detected'];

export function mayExplain(incident: Incident): boolean {
  return isHandMoved(incident) || shutOffTypes.includes(typeOf(incident) ?? '');
}

/** Whether a command was at work between the two readings that show a movement. */
export function mayHaveMoved(flight: Flight, to: SettledValve, from: number, noticedAt: number): boolean {
  const { target, sentAt, until } = flight;
  return target === to && sentAt <= noticedAt && from < until && noticedAt < until + countsAsMoverMs;
}

/**
 * How a valve came to its position. Asked again with each new incident, because an incident may be read after the movement.
 *
 * | Incident read at about the time of the movement | A command has moved the valve | No command has |
 * | --- | --- | --- |
 * | handle moved | `by_hand` if detected between the command and the reading | `by_hand` |
 * | leak, long or high flow | `command` | `automatic_shut_off` if that is on and the valve has closed |
 * | none | `command` | `elsewhere` |
 */
export function movementOf(move: Move, incidents: readonly NewIncident[]): Movement {
  const { to, from, noticedAt, noticedTime, mover, isShutOffOn } = move;
  const timeOf = (at: number) => noticedTime - noticedAt + at;
  const near = incidents.filter(
    ({ incident, readAt }) =>
      Math.max(from - readAt, readAt - noticedAt) <= togetherMs &&
      !(detectedAt(incident) < timeOf(from - togetherMs)),
  );
  const hand = near.find(({ incident }) => {
    const at = detectedAt(incident);
    return isHandMoved(incident) && (!mover || (at >= timeOf(mover.sentAt) && at <= noticedTime));
  });
  const mayBeShutOff = !mover && to === 'closed' && isShutOffOn === true;
  const shutOff = mayBeShutOff ? near.findLast(({ incident }) => !isHandMoved(incident)) : undefined;
  const cause = hand ?? shutOff;
  const causedAt = cause ? detectedAt(cause.incident) : Number.NaN;
  // The valve was read in its former position before that, whatever the clock of the cloud says.
  const isSensible = cause && causedAt >= timeOf(from) && causedAt <= timeOf(cause.readAt);
  const isTimely = noticedAt - Math.max(from, mover?.sentAt ?? from) <= timelyMs;
  const at = isSensible ? causedAt : isTimely ? noticedTime : null;
  return {
    valve: to,
    at: at === null ? null : new Date(at).toISOString(),
    by: hand ? 'by_hand' : shutOff ? 'automatic_shut_off' : mover ? 'command' : 'elsewhere',
    topic: cause ? null : (mover?.topic ?? null),
    incident_id: cause?.incident.id ?? null,
  };
}

/** In ms since 1970; NaN, which compares as false, if the incident does not say it. */
function detectedAt({ detected_at }: Incident): number {
  return Date.parse(detected_at ?? '');
}

function isHandMoved(incident: Incident): boolean {
  return typeOf(incident) === 'device_handle_moved';
}
