import type { Clock } from '../base/clock.ts';
import { typeOf } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { SettledValve } from '../model/valve.ts';
import type { AskedCommand, Movement } from '../model/valveCommand.ts';

/** A command that may still move the valve. Times are ms of the monotonic clock. */
interface Pending {
  readonly asked: AskedCommand;
  readonly target: SettledValve;
  readonly sentAt: number;
  /** Until when the valve may begin to move. */
  readonly until: number;
}

/** A new incident that may show who moved the valve, and when it was read. */
interface NewIncident {
  readonly incident: Incident;
  readonly readAt: number;
}

/** A movement that an incident may still explain. Times are ms of the monotonic clock. */
interface Unexplained {
  /** When the valve was last read in its former position. */
  readonly from: number;
  /** When it was read in the new one. */
  readonly noticedAt: number;
  /** When the command was sent that moved it; null if no command did. */
  readonly commandedAt: number | null;
  /** Whether the automatic shut-off was on when the movement was noticed, or when that was first known; null before. */
  isShutOffOn: boolean | null;
}

/** A movement and the incident that explains it are reported within this time, in ms. */
const togetherMs = 5 * 60_000;

/** A command has moved the valve only if the valve is read within this time after the command, in ms. */
export const countsAsMoverMs = 10 * 60_000;

/** If two readings are further apart than this, in ms, the time of a movement between them is unknown. */
const timelyMs = 60 * 60_000;

/** As many commands and incidents are kept for one movement. */
const keptCount = 10;

const shutOffTypes = ['high_volume_alert', 'long_flow_alert', 'water_presence_detected'];

/**
 * How one valve came to where it is. A reading decides first:
 *
 * | Former position | A command to the new one was at work | Moved by |
 * | --- | --- | --- |
 * | unknown | | unknown |
 * | the same | | as before: nothing has moved |
 * | the other | yes, and the valve was read soon after | `command` |
 * | the other | no | `elsewhere` |
 *
 * An incident that is new at the time of the movement corrects that, also if it is read later:
 *
 * | Incident | A command has moved the valve | No command has |
 * | --- | --- | --- |
 * | handle moved | `by_hand` if detected between the command and the reading | `by_hand` |
 * | leak, long or high flow | stays `command` | `automatic_shut_off` if that is on and the valve has closed |
 */
export class ValveMovement {
  readonly #clock: Clock;
  #last: Movement | null;
  /** The oldest first. */
  #pending: readonly Pending[] = [];
  /** When the valve was last read in its position; null while it is there. */
  #leftAt: number | null = null;
  #newIncidents: readonly NewIncident[] = [];
  /** When the valve was last read in its former position, in ms of the monotonic clock. */
  #formerUntil = Number.NEGATIVE_INFINITY;
  #unexplained: Unexplained | null = null;

  constructor(last: Movement | null, clock: Clock) {
    this.#last = last;
    this.#clock = clock;
  }

  /** Null before the first reading of a valve that no earlier run knew. */
  get last(): Movement | null {
    return this.#last;
  }

  /** Whether a command may still move the valve. Then each reading matters, also one that shows no change. */
  get isAwaited(): boolean {
    return this.#pending.length > 0;
  }

  /** Whether an incident may still explain the last movement. */
  get isUnexplained(): boolean {
    return this.#unexplained !== null;
  }

  /** Notes that a command may move the valve, which was sent so long ago, in ms. */
  addCommand(asked: AskedCommand, target: SettledValve, ageMs = 0): void {
    const sentAt = this.#clock.monotonic() - ageMs;
    const others = this.#pending.filter((each) => each.asked !== asked);
    this.#pending = [
      ...others.slice(1 - keptCount),
      { asked, target, sentAt, until: Number.POSITIVE_INFINITY },
    ];
  }

  /** Notes until when a command may move the valve; null, the cloud has not received it. */
  limitCommand(asked: AskedCommand, until: number | null): void {
    this.#pending = this.#pending.flatMap((each) => {
      if (each.asked !== asked) return each;
      return until === null ? [] : { ...each, until };
    });
  }

  /** Notes an incident at the valve that was not open before. */
  addIncident(incident: Incident): void {
    if (!isHandMoved(incident) && !shutOffTypes.includes(typeOf(incident) ?? '')) return;
    const readAt = this.#clock.monotonic();
    this.#newIncidents = [...this.#newIncidents.slice(1 - keptCount), { incident, readAt }];
  }

  /** Notes that an incident has closed. A leak that is over does not close a valve any more. */
  closeIncident({ id }: Incident): void {
    this.#newIncidents = this.#newIncidents.filter(
      ({ incident }) => incident.id !== id || isHandMoved(incident),
    );
  }

  /** Takes a reading in which the valve is in no position; it was in its former one at that time. */
  leave(formerReadAt: number): void {
    this.#leftAt ??= formerReadAt;
  }

  /**
   * Takes a reading of the position, and the time of the one before. Returns the command that the valve has obeyed, as far
   * as this reading is the first to show it, and whether anything is different now.
   */
  arrive(
    position: SettledValve,
    readAt: number,
    formerReadAt: number,
  ): { readonly obeyed: AskedCommand | null; readonly hasChanged: boolean } {
    const from = this.#leftAt ?? formerReadAt;
    this.#leftAt = null;
    const before = this.#last;
    const hasMoved = before !== null && before.valve !== position;
    // A reading that was sent before a command shows nothing of it.
    const reached = this.#pending.filter((each) => each.target === position && each.sentAt <= readAt);
    const mover = reached.findLast(({ until }) => from < until && readAt < until + countsAsMoverMs);
    const ended = this.#endCommands(position, readAt, hasMoved, reached);
    // If the valve has moved and no command counts as its mover, none has worked.
    const obeyed = (hasMoved ? mover : ended.at(-1))?.asked ?? null;
    if (before?.valve === position) return { obeyed, hasChanged: ended.length > 0 };
    // An incident from before the last movement cannot explain this one. That movement may have been noticed late.
    this.#newIncidents = this.#newIncidents.filter((each) => each.readAt >= this.#formerUntil);
    this.#formerUntil = from;
    const unknown = { valve: position, at: null, by: null, topic: null, incident_id: null };
    this.#unexplained = null;
    if (before === null) this.#last = unknown;
    else {
      const isTimely = readAt - Math.max(from, mover?.sentAt ?? from) <= timelyMs;
      const at = isTimely ? new Date(this.#clock.now()).toISOString() : null;
      const by = mover ? 'command' : 'elsewhere';
      this.#last = { ...unknown, at, by, topic: mover?.asked.topic ?? null };
      this.#unexplained = { from, noticedAt: readAt, commandedAt: mover?.sentAt ?? null, isShutOffOn: null };
    }
    return { obeyed, hasChanged: true };
  }

  /**
   * Finds the incident that shows who has moved the valve last. `isShutOffOn` is null while the setting of the automatic
   * shut-off is unknown. Returns whether it has found another one.
   */
  explain(isShutOffOn: boolean | null): boolean {
    const movement = this.#last;
    const unexplained = this.#unexplained;
    if (!unexplained || !movement) return false;
    unexplained.isShutOffOn ??= isShutOffOn;
    const { noticedAt, commandedAt } = unexplained;
    const now = this.#clock.monotonic();
    const wallOf = (at: number) => this.#clock.now() - now + at;
    const since = unexplained.from - togetherMs;
    const until = noticedAt + togetherMs;
    if (now > until) this.#unexplained = null;
    const fitting = this.#newIncidents.filter(
      ({ incident, readAt }) => readAt >= since && readAt <= until && !(detectedAt(incident) < wallOf(since)),
    );
    const byHand = fitting.find(({ incident }) => {
      if (!isHandMoved(incident)) return false;
      // A hand has moved what a command was to move only if it came after the command, and before the reading.
      const at = detectedAt(incident);
      return commandedAt === null || (at >= wallOf(commandedAt) && at <= wallOf(noticedAt));
    });
    const mayBeShutOff = commandedAt === null && unexplained.isShutOffOn && movement.valve === 'closed';
    const explanation = byHand ?? (mayBeShutOff ? fitting.at(-1) : undefined);
    if (!explanation || explanation.incident.id === movement.incident_id) return false;
    const at = detectedAt(explanation.incident);
    // The valve was read in its former position before that, whatever the clock of the cloud says.
    const isSensible = at <= this.#clock.now() && at >= wallOf(unexplained.from);
    this.#last = {
      ...movement,
      at: isSensible ? new Date(at).toISOString() : movement.at,
      by: byHand ? 'by_hand' : 'automatic_shut_off',
      topic: null,
      incident_id: explanation.incident.id,
    };
    // An incident explains one movement.
    this.#newIncidents = this.#newIncidents.filter((each) => each !== explanation);
    return true;
  }

  /**
   * Ends the commands that a reading has shown to be over, and returns those that the valve has obeyed. While an opposite
   * command is at work, a valve that has not moved may still go there and back: then no command has ended.
   */
  #endCommands(
    position: SettledValve,
    readAt: number,
    hasMoved: boolean,
    reached: readonly Pending[],
  ): readonly Pending[] {
    const opposite = this.#pending.filter(({ target, until }) => target !== position && readAt < until);
    const ended = hasMoved || opposite.length === 0 ? reached : [];
    this.#pending = this.#pending.filter((each) => {
      return each.target === position ? !ended.includes(each) : opposite.includes(each);
    });
    return ended;
  }
}

/** In ms since 1970; NaN, which compares as false, if the incident does not say it. */
function detectedAt({ detected_at }: Incident): number {
  return Date.parse(detected_at ?? '');
}

function isHandMoved(incident: Incident): boolean {
  return typeOf(incident) === 'device_handle_moved';
}
