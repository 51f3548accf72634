import type { Clock } from '../base/clock.ts';
import { idKey } from '../model/ids.ts';
import type { Incident, Sonic } from '../model/records.ts';
import { type SettledValve, settledValve, targetOf } from '../model/valve.ts';
import {
  type AskedCommand,
  type CommandStatus,
  failureShownMs,
  mayArriveMs,
  type ValveRecord,
} from '../model/valveCommand.ts';
import type { Kept } from '../state/sections.ts';
import { countsAsMoverMs, ValveMovement } from './valveMovement.ts';

type ValvesKept = Pick<Kept, 'valves' | 'announced' | 'waiting'>;

/** Whether the valve was not moved as somebody wished, and what is known about that. */
export interface CommandFailure {
  readonly isFailure?: boolean;
  /** How long the valve was read in vain; null if it was not read for the whole time. */
  readonly waitedMs?: number | null;
  /** Whether the cloud may have carried out the command all the same. */
  readonly mayHaveMoved?: boolean;
}

/** What is known of the commands for one valve, and how it came to where it is. */
interface ValveEntry {
  readonly id: string;
  /** The newest command of this run, sent or refused. */
  lastAsked: AskedCommand | null;
  /** The newest command that this run has sent. */
  lastSent: AskedCommand | null;
  /** The command of `failed`, if it is of this run. */
  failedAsked: AskedCommand | null;
  /** The newest sent command at the time of that failure. */
  failedAfter: AskedCommand | null;
  /** In ms of the monotonic clock. */
  failedUntil: number;
  /** A command that an earlier run has sent and not seen how it ended, until this run has read the valve or sent another. */
  unfinished: ValveRecord['command'];
  /** Where such a command may still move the valve, and until when, in ms of the monotonic clock. */
  mayArrive: { readonly target: SettledValve; readonly until: number } | null;
  command: ValveRecord['command'];
  failed: ValveRecord['failed'];
  readonly movement: ValveMovement;
}

const unfinishedReason = 'sonic2mqtt was restarted before the valve had confirmed the command';

function undoneReason(valve: SettledValve): string {
  return `the valve was moved, and was then read as ${valve} again. A command from before the restart may have arrived late`;
}

/** The newest command of each valve, the one that failed, and the last movement. All of it is kept over restarts. */
export class ValveRecords {
  readonly #kept: ValvesKept;
  readonly #clock: Clock;
  readonly #entries = new Map<string, ValveEntry>();

  constructor(kept: ValvesKept, clock: Clock) {
    this.#kept = kept;
    this.#clock = clock;
  }

  /** What is known of a valve. A failure that is a day old is none. */
  of(id: string): ValveRecord {
    const { command, failed, movement, failedUntil } = this.#entry(id);
    return {
      command,
      failed: this.#clock.monotonic() < failedUntil ? failed : null,
      movement: movement.last,
    };
  }

  /** Records how far a command is, or how it ended. */
  recordCommand(
    id: string,
    asked: AskedCommand,
    status: CommandStatus,
    reason: string | null,
    { isFailure = false, waitedMs = null, mayHaveMoved = true }: CommandFailure = {},
  ): void {
    const entry = this.#entry(id);
    const { action, askedAt: asked_at, topic } = asked;
    if (status === 'sent' || status === 'refused') entry.lastAsked = asked;
    if (status === 'sent') {
      entry.lastSent = asked;
      entry.unfinished = null;
    }
    const command = { action, asked_at, status, reason };
    if (entry.lastAsked === asked) entry.command = { ...command, topic };
    // A command that fails after a newer one was sent is not shown as failed: nobody wants it any more.
    if (isFailure && action !== null && (entry.lastSent === asked || status === 'refused')) {
      const waited_s = waitedMs === null ? null : Math.round(waitedMs / 1_000);
      const may_have_moved = mayHaveMoved && status !== 'refused';
      this.#fail(entry, { ...command, action, waited_s, may_have_moved, at: this.#clock.now() }, asked);
    }
    if (status === 'confirmed') endFailure(entry, asked);
    this.#keep(entry);
  }

  /** Records that the cloud may carry out a command from now on. */
  recordInFlight(id: string, asked: AskedCommand): void {
    if (asked.action !== null) this.#entry(id).movement.addCommand(asked, targetOf[asked.action]);
  }

  /** Records until when a command that was sent may move the valve; null, the cloud has not received it. */
  recordMovesUntil(id: string, asked: AskedCommand, until: number | null): void {
    this.#entry(id).movement.limitCommand(asked, until);
  }

  /**
   * Takes the state of a valve, and when its former state was read last. Returns whether it shows something else, or
   * whether a command of an earlier run seems to have undone a newer one.
   */
  record({ id, valve_state: state }: Sonic, readAt: number, formerReadAt: number): boolean | 'undone' {
    const entry = this.#entry(id);
    const position = settledValve(state);
    if (position === null) {
      entry.movement.leave(formerReadAt);
      return false;
    }
    const { unfinished } = entry;
    if (unfinished) this.#finish(entry, unfinished, position);
    const { obeyed, hasChanged } = entry.movement.arrive(position, readAt, formerReadAt);
    if (obeyed) confirmLate(entry, obeyed);
    const { command, mayArrive } = entry;
    if (mayArrive?.target === position && readAt <= mayArrive.until && command?.status === 'confirmed') {
      if (this.#undo(entry, command, position)) return 'undone';
    }
    // The valve is where the failed command was to move it, whatever has moved it.
    const { failed } = entry;
    const isReached = failed !== null && targetOf[failed.action] === position && readAt >= failedAt(entry);
    if (isReached) entry.failed = null;
    if (!hasChanged && !unfinished && !isReached) return false;
    this.#keep(entry);
    return true;
  }

  /** Takes an incident at the valve that was not open before. */
  incidentOpened(id: string, incident: Incident): void {
    const isKnown = this.#kept.announced.has(incident.id) || this.#kept.waiting.has(incident.id);
    if (!isKnown) this.#entry(id).movement.addIncident(incident);
  }

  /** Takes an incident at the valve that has closed. */
  incidentClosed(id: string, incident: Incident): void {
    this.#entry(id).movement.closeIncident(incident);
  }

  /** The valves that a command may still move, or has failed to. A reading may end that, though nothing has changed. */
  get awaited(): string[] {
    const entries = [...this.#entries.values()];
    return entries.flatMap(({ movement, failed, id }) => (movement.isAwaited || failed ? id : []));
  }

  /** The valves whose last movement an incident may still explain. */
  get unexplained(): string[] {
    return [...this.#entries.values()].flatMap(({ movement, id }) => (movement.isUnexplained ? id : []));
  }

  /** Finds the incident that shows who has moved a valve last; see `ValveMovement.explain`. */
  findExplanation(id: string, isShutOffOn: boolean | null): boolean {
    const entry = this.#entry(id);
    const isFound = entry.movement.explain(isShutOffOn);
    if (isFound) this.#keep(entry);
    return isFound;
  }

  /** The valves with a failed command, and how long the next of them is still to be shown, in ms; 0, it no longer is. */
  expireFailures(): { readonly expired: readonly string[]; readonly nextMs: number | null } {
    const now = this.#clock.monotonic();
    const failed = [...this.#entries.values()].filter((entry) => entry.failed !== null);
    const over = failed.filter(({ failedUntil }) => failedUntil <= now);
    for (const entry of over) {
      entry.failed = null;
      this.#keep(entry);
    }
    const left = failed.flatMap((entry) => (entry.failed ? entry.failedUntil - now : []));
    return { expired: over.map(({ id }) => id), nextMs: left.length > 0 ? Math.min(...left) : null };
  }

  /** Forgets a valve that has left the account. */
  forget(id: string): void {
    this.#entries.delete(idKey(id));
    this.#kept.valves.delete(id);
  }

  /** Ends a command that an earlier run has sent. It is confirmed if the valve is in the position that it asked for. */
  #finish(entry: ValveEntry, command: NonNullable<ValveRecord['command']>, settled: SettledValve): void {
    entry.unfinished = null;
    if (command.action === null || targetOf[command.action] !== settled) return;
    const reason = `sonic2mqtt was restarted, and then read that the valve is ${settled}`;
    // A command of this run is shown instead, and its failure too. As none was sent, it was refused.
    if (entry.lastAsked === null) entry.command = { ...command, status: 'confirmed', reason };
    if (entry.failedAsked === null) entry.failed = null;
    const ageMs = Math.abs(this.#clock.now() - Date.parse(command.asked_at));
    if (ageMs < countsAsMoverMs)
      entry.movement.addCommand({ ...command, askedAt: command.asked_at }, settled, ageMs);
  }

  /** Ends a confirmed command as failed if the valve has moved back, because a command of an earlier run has arrived. */
  #undo(entry: ValveEntry, command: NonNullable<ValveRecord['command']>, settled: SettledValve): boolean {
    const { action, topic, ...rest } = command;
    if (action === null || targetOf[action] === settled) return false;
    const ending = { ...rest, status: 'not_confirmed', reason: undoneReason(settled) } as const;
    entry.command = { ...ending, action, topic };
    const more = { waited_s: null, may_have_moved: true, at: this.#clock.now() };
    this.#fail(entry, { ...ending, action, ...more }, entry.lastAsked);
    this.#keep(entry);
    return true;
  }

  #fail(entry: ValveEntry, failed: NonNullable<ValveRecord['failed']>, asked: AskedCommand | null): void {
    entry.failed = failed;
    entry.failedAsked = asked;
    entry.failedAfter = entry.lastSent;
    // A clock that was ahead of this one when it failed must not keep it for longer.
    const ageMs = Math.max(0, this.#clock.now() - failed.at);
    entry.failedUntil = this.#clock.monotonic() + failureShownMs - ageMs;
  }

  #entry(id: string): ValveEntry {
    const key = idKey(id);
    const known = this.#entries.get(key);
    if (known) return known;
    const kept = this.#kept.valves.get(id);
    const entry: ValveEntry = {
      ...{ id, lastAsked: null, lastSent: null, failedAsked: null, failedAfter: null, failedUntil: 0 },
      ...{ unfinished: null, mayArrive: null, command: null, failed: null, ...kept },
      movement: new ValveMovement(kept?.movement ?? null, this.#clock),
    };
    this.#entries.set(key, entry);
    if (kept) this.#restore(entry, kept);
    return entry;
  }

  /** Begins with what an earlier run has kept. The first reading of the valve shows whether its last command has worked. */
  #restore(entry: ValveEntry, { command, failed }: ValveRecord): void {
    if (failed) this.#fail(entry, failed, null);
    if (command === null) return;
    const isUnderWay = command.status === 'sent';
    // A run that was stopped before it had read the valve leaves this to the next one.
    const isUnread = command.status === 'not_confirmed' && failed?.asked_at === command.asked_at;
    if (isUnderWay || (isUnread && failed.waited_s === null)) entry.unfinished = command;
    if (!isUnderWay) return;
    const { topic, action, ...rest } = command;
    const until =
      this.#clock.monotonic() + mayArriveMs - Math.abs(this.#clock.now() - Date.parse(rest.asked_at));
    if (action) entry.mayArrive = { target: targetOf[action], until };
    const ending = { ...rest, status: 'not_confirmed', reason: unfinishedReason } as const;
    entry.command = { ...ending, action, topic };
    const failedAt = Date.parse(command.asked_at);
    if (!action) return;
    this.#fail(entry, { ...ending, action, waited_s: null, may_have_moved: true, at: failedAt }, null);
  }

  #keep({ id, command, failed, movement }: ValveEntry): void {
    this.#kept.valves.set(id, { command, failed, movement: movement.last });
  }
}

/** When the failed command failed, in ms of the monotonic clock. */
function failedAt({ failedUntil }: ValveEntry): number {
  return failedUntil - failureShownMs;
}

/** Ends the failure of a command that is confirmed, or of an older one. A newer one that was refused has still failed. */
function endFailure(entry: ValveEntry, confirmed: AskedCommand): void {
  const { lastSent, failedAsked, failedAfter } = entry;
  if (failedAsked === confirmed || (lastSent === confirmed && failedAfter !== confirmed)) entry.failed = null;
}

/** Corrects the end of a command that has worked after all. */
function confirmLate(entry: ValveEntry, asked: AskedCommand): void {
  const { command, lastAsked } = entry;
  // The valve queue reports the end of a command that is still under way.
  if (lastAsked === asked && command?.status === 'sent') return;
  if (lastAsked === asked && command) entry.command = { ...command, status: 'confirmed', reason: null };
  endFailure(entry, asked);
}
