import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { IdMap } from '../model/ids.ts';
import type { Incident, Sonic } from '../model/records.ts';
import {
  type AcceptedCommand,
  type SettledValve,
  settledValve,
  targetOf,
  type Valve,
  valveShownAfter,
} from '../model/valve.ts';
import {
  type AskedCommand,
  type CommandStatus,
  failureShownMs,
  mayArriveMs,
  type ValveRecord,
} from '../model/valveCommand.ts';
import { isSameWord } from '../model/words.ts';
import type { Kept } from '../state/sections.ts';
import {
  type Flight,
  type Move,
  mayExplain,
  mayHaveMoved,
  movementOf,
  type NewIncident,
  togetherMs,
} from './movement.ts';

type LastCommand = NonNullable<ValveRecord['command']>;
type FailedRecord = NonNullable<ValveRecord['failed']>;
type FailureFacts = Pick<FailedRecord, 'waited_s' | 'may_have_moved' | 'at'> & Partial<FailedRecord>;
type ValvesKept = Pick<Kept, 'valves' | 'announced'>;

/** What is known of a command that has ended, beside its status. */
export interface CommandEnding {
  /** How long the valve was read in vain, in ms; null if it was not read for the whole time. */
  readonly waitedMs?: number | null;
  /** Until when a failed command may still move the valve, by the monotonic clock; null if the cloud has not received it. */
  readonly movesUntil?: number | null;
  /** How long the valve took from the command to its confirmation, in s. */
  readonly travelTimeS?: number;
}

interface KnownCommand {
  readonly asked: AskedCommand;
  readonly isOfEarlierRun: boolean;
  status: CommandStatus;
  reason: string | null;
  /** Null unless it may still move the valve. */
  flight: Flight | null;
}

interface Failure {
  readonly command: KnownCommand;
  readonly record: FailedRecord;
  /** In ms of the monotonic clock. */
  readonly at: number;
}

/** The newest command that the cloud has accepted, until a reading that was sent after it shows something new. */
interface Accepted extends AcceptedCommand {
  readonly asked: AskedCommand;
  /** In ms of the monotonic clock. */
  readonly at: number;
}

interface ValveEntry {
  readonly id: string;
  /** The newest last. */
  commands: readonly KnownCommand[];
  accepted: Accepted | null;
  failure: Failure | null;
  stopped: ValveRecord['stopped'];
  incidents: readonly NewIncident[];
  /** The last position in which this run has read the valve. */
  position: SettledValve | null;
  /** When the valve was last read there, in ms of the monotonic clock; null while it is there. */
  leftAt: number | null;
  travelTimeS: number | null;
  move: Move | null;
  movement: ValveRecord['movement'];
  /** The record that was last kept or restored; undefined before that. */
  kept: ValveRecord | undefined;
}

/** As many commands and incidents are kept for one valve, besides the commands that have not ended. */
const keptCount = 10;

const unfinishedReason = 'sonic2mqtt was restarted before the valve had confirmed the command';

function undoneReason(valve: SettledValve): string {
  return `the valve was moved, and was then read as ${valve} again. A command from before the restart may have arrived late`;
}

interface ValveRecordsParts {
  readonly kept: ValvesKept;
  readonly clock: Clock;
  /** The record of a valve that this bridge shows. No command is recorded of another one, unless an earlier run has shown it. */
  readonly shownValve: (id: string) => Sonic | undefined;
  /** A command is recorded, or its failure dismissed. */
  readonly onRecord: (id: string) => void;
}

/**
 * The book of each valve: its commands and what became of them, where it was last read, and how it came there. The newest command,
 * the one that failed and the last movement (`ValveRecord`) are kept over restarts.
 */
export class ValveRecords {
  readonly #kept: ValvesKept;
  readonly #clock: Clock;
  readonly #shownValve: ValveRecordsParts['shownValve'];
  readonly #onRecord: ValveRecordsParts['onRecord'];
  readonly #entries = new IdMap<ValveEntry>();
  /** The valves of which it must be asked again who has moved them. */
  readonly #unexplained = new Set<string>();
  #staleBefore = -Number.MAX_VALUE;

  constructor({ kept, clock, shownValve, onRecord }: ValveRecordsParts) {
    this.#kept = kept;
    this.#clock = clock;
    this.#shownValve = shownValve;
    this.#onRecord = onRecord;
  }

  of(id: string): ValveRecord {
    return this.#recordOf(this.#entry(id));
  }

  /** The state to show for a valve: its movement after an accepted command, else what the cloud says. */
  shown({ id, valve_state: state }: Sonic): Valve | null {
    const { accepted, position, leftAt } = this.#entry(id);
    // Somebody may have moved the valve before a pressure test began that is read much later.
    const isPositionFresh = leftAt === null || leftAt >= this.#staleBefore;
    return valveShownAfter(accepted, state, isPositionFresh ? position : null);
  }

  /** How long the last confirmed command took, in s; null if there was none. */
  travelTimeS(id: string): number | null {
    return this.#entry(id).travelTimeS;
  }

  recordCommand(
    spelledId: string,
    asked: AskedCommand,
    status: CommandStatus,
    reason: string | null,
    { waitedMs = null, movesUntil = null, travelTimeS }: CommandEnding = {},
  ): void {
    // A command is also refused at a valve that this run has not read yet.
    const id = this.#shownValve(spelledId)?.id ?? spelledId;
    if (!this.#shownValve(id) && !this.#kept.valves.has(id)) return;
    const entry = this.#entry(id);
    const known = entry.commands.find((each) => each.asked === asked);
    const command = known ?? { asked, isOfEarlierRun: false, status, reason, flight: null };
    if (!known) entry.commands = [...this.#worthKeeping(entry.commands), command];
    Object.assign(command, { status, reason });
    if (status === 'error' || status === 'superseded') this.#setMovesUntil(entry, command, movesUntil);
    const isFailure = status === 'error' || status === 'refused' || status === 'not_confirmed';
    // A command that fails after a newer one was sent is not shown as failed: nobody wants it any more.
    const isWanted = entry.commands.findLast((each) => each.status !== 'refused') === command;
    if (isFailure && (isWanted || status === 'refused')) {
      const waited_s = waitedMs === null ? null : Math.round(waitedMs / 1_000);
      const may_have_moved = status === 'not_confirmed' || movesUntil !== null;
      this.#fail(entry, command, { waited_s, may_have_moved, at: this.#clock.now() });
    }
    if (status === 'confirmed') endFailure(entry, command);
    if (status === 'not_confirmed') entry.stopped = asked.action;
    if (entry.accepted?.asked === asked) entry.accepted = null;
    entry.travelTimeS = travelTimeS ?? entry.travelTimeS;
    this.#keep(entry);
    this.#onRecord(id);
  }

  /** Ends the failure of a valve's command, because its owner has seen it. */
  dismissFailure(id: string): void {
    const entry = this.#entry(id);
    entry.failure = null;
    this.#keep(entry);
    this.#onRecord(id);
  }

  /** The cloud may have the command from now on. */
  recordSent(id: string, asked: AskedCommand): void {
    if (!this.#shownValve(id)) return;
    const command = this.#entry(id).commands.find((each) => each.asked === asked);
    const sentAt = this.#clock.monotonic();
    if (command) command.flight = flightOf(asked, sentAt, Number.POSITIVE_INFINITY);
  }

  /**
   * The cloud has accepted the command, which may move the valve until then, by the monotonic clock. The valve is shown as moving
   * until a reading that was sent after this shows something new, or the command ends.
   */
  recordAccepted(id: string, asked: AskedCommand, movesUntil: number): void {
    const sonic = this.#shownValve(id);
    const { action } = asked;
    if (!sonic || action === null) return;
    const entry = this.#entry(sonic.id);
    const command = entry.commands.find((each) => each.asked === asked);
    const wasMoving = settledValve(this.shown(sonic)) === null;
    const at = this.#clock.monotonic();
    entry.accepted = { asked, action, stateBefore: sonic.valve_state, wasMoving, at };
    if (command) {
      this.#setMovesUntil(entry, command, movesUntil);
      // Nobody reads the valve for an older one any more.
      const older = entry.commands.slice(0, entry.commands.indexOf(command));
      for (const each of older) if (each.status === 'sent') each.status = 'superseded';
    }
    this.#keep(entry);
    this.#onRecord(sonic.id);
  }

  /**
   * Takes the state of a valve, and when its former state was read last. Returns whether its record is another one now, or
   * whether a command of an earlier run has undone a newer one.
   */
  record({ id, valve_state: state }: Sonic, readAt: number, formerReadAt: number): boolean | 'undone' {
    const entry = this.#entry(id);
    const position = settledValve(state);
    this.#endAccepted(entry, state, readAt);
    if (position === null) entry.leftAt ??= formerReadAt;
    const isUndone = position !== null && this.#arrive(entry, position, readAt, entry.leftAt ?? formerReadAt);
    const isOther = this.#keep(entry);
    return isUndone ? 'undone' : isOther;
  }

  /** Takes an incident at the valve that was not open before. */
  incidentOpened(id: string, incident: Incident): void {
    if (this.#kept.announced.has(incident.id) || !mayExplain(incident)) return;
    const entry = this.#entry(id);
    const readAt = this.#clock.monotonic();
    entry.incidents = [...entry.incidents.slice(1 - keptCount), { incident, readAt }];
    if (entry.move && readAt <= entry.move.noticedAt + togetherMs) this.#unexplained.add(id);
  }

  /** The valves that a command may still move, or has failed to. A reading may end that, though nothing has changed. */
  get awaited(): string[] {
    const isAwaited = ({ commands, accepted, failure }: ValveEntry) =>
      accepted !== null || failure !== null || commands.some(({ flight }) => flight);
    return [...this.#entries.values()].filter(isAwaited).map(({ id }) => id);
  }

  /**
   * Asks who has moved the valves that have moved, or have a new incident after that. `isShutOffOn` is null while the setting
   * of the automatic shut-off is unknown. Returns whether a record is another one now.
   */
  explain(isShutOffOn: (id: string) => boolean | null): boolean {
    let isChanged = false;
    for (const id of this.#unexplained) {
      const entry = this.#entry(id);
      const { move } = entry;
      const isOn = move?.isShutOffOn ?? isShutOffOn(id);
      if (isOn !== null || !move || this.#clock.monotonic() > move.noticedAt + togetherMs)
        this.#unexplained.delete(id);
      if (!move) continue;
      entry.move = { ...move, isShutOffOn: isOn };
      entry.movement = movementOf(entry.move, entry.incidents);
      isChanged = this.#keep(entry) || isChanged;
    }
    return isChanged;
  }

  /**
   * Ends the failures that have been shown for long enough. A position that was left before that time is no longer shown. Returns
   * whether this changes anything.
   */
  markStale(readBefore: number): boolean {
    const from = this.#staleBefore;
    this.#staleBefore = Math.max(from, readBefore);
    const entries = [...this.#entries.values()];
    const ended = entries.filter((entry) => entry.failure !== null && this.#keep(entry));
    return (
      ended.length > 0 ||
      entries.some(({ leftAt }) => leftAt !== null && leftAt >= from && leftAt < readBefore)
    );
  }

  forget(id: string): void {
    this.#entries.delete(id);
    this.#unexplained.delete(id);
    this.#kept.valves.delete(id);
  }

  /** The newest commands, and older ones that have not ended or may have moved the valve. */
  #worthKeeping(commands: readonly KnownCommand[]): readonly KnownCommand[] {
    const now = this.#clock.monotonic();
    const mayMatter = ({ status, flight }: KnownCommand) =>
      status === 'sent' ||
      (flight !== null && mayHaveMoved(flight, flight.target, Number.NEGATIVE_INFINITY, now));
    return commands.filter((each, at) => at > commands.length - keptCount || mayMatter(each));
  }

  #setMovesUntil(entry: ValveEntry, command: KnownCommand, until: number | null): void {
    if (command.flight) command.flight = until === null ? null : { ...command.flight, until };
    if (until !== null) entry.stopped = null;
  }

  /** Once the state has changed, or is the one that was asked for, the state in the cloud is shown. */
  #endAccepted(entry: ValveEntry, state: string | null, readAt: number): void {
    const { accepted } = entry;
    if (!accepted) return;
    // The reading may be older than the command.
    if (readAt < accepted.at) entry.accepted = { ...accepted, stateBefore: state };
    else if (!isSameWord(accepted.stateBefore, state) || settledValve(state) === targetOf[accepted.action])
      entry.accepted = null;
  }

  /** The valve was last read elsewhere at `from`. Returns whether a command of an earlier run has undone a newer one. */
  #arrive(entry: ValveEntry, position: SettledValve, readAt: number, from: number): boolean {
    Object.assign(entry, { position, leftAt: null, stopped: null });
    const hasMoved = entry.movement !== null && entry.movement.valve !== position;
    const isMover = ({ flight, status }: KnownCommand) => {
      // What has not ended is at work, however long the machine has slept.
      const own = flight && status === 'sent' ? { ...flight, until: Number.POSITIVE_INFINITY } : flight;
      return own && mayHaveMoved(own, position, from, readAt);
    };
    const mover = hasMoved ? entry.commands.findLast(isMover) : undefined;
    if (hasMoved) this.#move(entry, position, from, readAt, mover?.flight ?? null);
    entry.movement ??= { valve: position, at: null, by: null, topic: null, incident_id: null };
    const ended = endFlights(entry, position, readAt, hasMoved);
    // If the valve has moved and no command counts as its mover, none has worked.
    const obeyed = hasMoved ? mover : ended.at(-1);
    // The valve queue reports the end of a command that is still under way.
    if (obeyed && obeyed.status !== 'sent') {
      const reason = `sonic2mqtt was restarted, and then read that the valve is ${position}`;
      Object.assign(obeyed, { status: 'confirmed', reason: obeyed.isOfEarlierRun ? reason : null });
    }
    if (obeyed) endFailure(entry, obeyed);
    // The valve is where the failed command was to move it, whatever has moved it.
    const { failure } = entry;
    if (failure && targetOf[failure.record.action] === position && readAt >= failure.at) entry.failure = null;
    const newest = entry.commands.at(-1);
    if (!mover?.isOfEarlierRun || newest === mover || newest?.status !== 'confirmed') return false;
    Object.assign(newest, { status: 'not_confirmed', reason: undoneReason(position) });
    // Where the valve stands is known, so nothing is left to confirm.
    this.#fail(entry, newest, {
      status: 'error',
      waited_s: null,
      may_have_moved: true,
      at: this.#clock.now(),
    });
    return true;
  }

  #move(entry: ValveEntry, to: SettledValve, from: number, noticedAt: number, mover: Flight | null): void {
    // An incident explains one movement, and none that came later than the one after it.
    const formerFrom = entry.move?.from ?? Number.NEGATIVE_INFINITY;
    const explained = entry.movement?.incident_id;
    entry.incidents = entry.incidents.filter(
      ({ incident, readAt }) => readAt >= formerFrom && incident.id !== explained,
    );
    entry.move = { to, from, noticedAt, noticedTime: this.#clock.now(), mover, isShutOffOn: null };
    entry.movement = movementOf(entry.move, entry.incidents);
    this.#unexplained.add(entry.id);
  }

  #fail(entry: ValveEntry, command: KnownCommand, facts: FailureFacts): void {
    const { topic: _, action, ...ending } = commandOf(command);
    if (action === null) return;
    // A clock that was ahead of this one when it failed must not keep it for longer.
    const ageMs = Math.max(0, this.#clock.now() - facts.at);
    const record = { ...ending, action, ...facts };
    entry.failure = { command, record, at: this.#clock.monotonic() - ageMs };
  }

  #entry(id: string): ValveEntry {
    const nothing = {
      accepted: null,
      failure: null,
      stopped: null,
      position: null,
      leftAt: null,
      travelTimeS: null,
      move: null,
      movement: null,
      kept: undefined,
    };
    const entry = this.#entries.get(id) ?? { id, commands: [], incidents: [], ...nothing };
    this.#entries.set(id, entry);
    const kept = this.#kept.valves.get(id);
    if (kept && kept !== entry.kept) this.#restore(entry, kept);
    return entry;
  }

  /**
   * Continues with what an earlier run has kept, also if it was found on the disk or on the broker only after this run has
   * read the valve. The last command of the earlier run may still move the valve.
   */
  #restore(entry: ValveEntry, record: ValveRecord): void {
    const { command, failed, movement, stopped } = record;
    // The movement that this run has noticed is the one that was found.
    if (movement !== entry.movement) entry.move = null;
    Object.assign(entry, { movement, stopped, kept: record });
    const last = entry.commands.length === 0 && command ? restored(command) : null;
    if (last) entry.commands = [last];
    if (failed && !entry.failure) this.#fail(entry, restored({ ...failed, topic: '' }), failed);
    if (last?.status !== 'sent' && last?.status !== 'not_confirmed') return;
    const askedAt = Date.parse(last.asked.askedAt);
    const sentAt = this.#clock.monotonic() - Math.abs(this.#clock.now() - askedAt);
    last.flight = flightOf(last.asked, sentAt, sentAt + mayArriveMs);
    if (last.status !== 'sent') return;
    Object.assign(last, { status: 'not_confirmed', reason: unfinishedReason });
    entry.stopped = last.asked.action;
    this.#fail(entry, last, { waited_s: null, may_have_moved: true, at: askedAt });
  }

  #recordOf({ commands, movement, failure, stopped }: ValveEntry): ValveRecord {
    const newest = commands.at(-1);
    const isFailed = failure && this.#clock.monotonic() < failure.at + failureShownMs;
    const command = newest ? commandOf(newest) : null;
    return { command, failed: isFailed ? failure.record : null, stopped, movement };
  }

  /** Returns whether it was kept otherwise before. */
  #keep(entry: ValveEntry): boolean {
    const before = this.#kept.valves.get(entry.id);
    const record = this.#recordOf(entry);
    if (record.failed === null) entry.failure = null;
    entry.kept = this.#kept.valves.set(entry.id, record).get(entry.id);
    return !isDeepStrictEqual(before, record);
  }
}

/** The books as the other rooms see them: only the store writes what is read. */
export type ValveCommands = Pick<
  ValveRecords,
  'of' | 'recordCommand' | 'recordSent' | 'recordAccepted' | 'dismissFailure'
>;

function restored({ action, topic, asked_at, status, reason }: LastCommand): KnownCommand {
  return { asked: { action, topic, askedAt: asked_at }, isOfEarlierRun: true, status, reason, flight: null };
}

function commandOf({ asked, status, reason }: KnownCommand): LastCommand {
  return { action: asked.action, asked_at: asked.askedAt, status, reason, topic: asked.topic };
}

function flightOf({ action, topic }: AskedCommand, sentAt: number, until: number): Flight | null {
  return action && { target: targetOf[action], topic, sentAt, until };
}

/** Ends the failure of a command that is confirmed, or of an older one. A newer one that was refused has still failed. */
function endFailure(entry: ValveEntry, confirmed: KnownCommand): void {
  const { commands, failure } = entry;
  if (failure && commands.indexOf(failure.command) <= commands.indexOf(confirmed)) entry.failure = null;
}

/**
 * Ends what a reading shows to be over, and returns the commands that have reached its position. While an opposite command
 * is at work, a valve that has not moved may still go there and back: then no command has ended.
 */
function endFlights({ commands }: ValveEntry, position: SettledValve, readAt: number, hasMoved: boolean) {
  const isOpposed = ({ flight }: KnownCommand) =>
    flight && flight.target !== position && readAt < flight.until;
  const mayReturn = !hasMoved && commands.some(isOpposed);
  // A reading that was sent before a command shows nothing of it.
  const isReached = ({ flight }: KnownCommand) =>
    flight && flight.target === position && flight.sentAt <= readAt && !mayReturn;
  const ended = commands.filter(isReached);
  for (const command of commands) {
    const isOver = ended.includes(command) || (command.flight?.target !== position && !isOpposed(command));
    if (isOver) command.flight = null;
  }
  return ended;
}
