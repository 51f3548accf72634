import type { Clock } from '../base/clock.ts';
import { idKey } from '../model/ids.ts';
import { typeOf } from '../model/incidents.ts';
import type { Incident, Sonic } from '../model/records.ts';
import { type SettledValve, settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import {
  type CommandStatus,
  failureShownMs,
  type Movement,
  type ValveRecord,
} from '../model/valveCommand.ts';

/** Keeps records of valves over a restart. */
export interface ValveMemory {
  readonly valveRecord: (sonicId: string) => ValveRecord | null;
  readonly recordValve: (sonicId: string, record: ValveRecord) => void;
  readonly forgetValve: (sonicId: string) => void;
  /** Whether an earlier run knew of the incident. */
  readonly isKnownIncident: (incidentId: string) => boolean;
}

/** A message that asked for a movement. The same object names it each time. */
export interface AskedCommand {
  /** Null for a message that names none. */
  readonly action: ValveAction | null;
  readonly topic: string;
  /** ISO 8601 in UTC. */
  readonly askedAt: string;
}

/** A command that may still move the valve. Times are ms of the monotonic clock. */
interface Pending {
  readonly asked: AskedCommand;
  readonly target: SettledValve;
  /** When it was sent. */
  readonly from: number;
  /** Until when the valve may begin to move. */
  readonly until: number;
}

/** An incident that may show who moved a valve. */
interface Explanation {
  readonly incident: Incident;
  readonly seenAt: number;
}

/** A movement that an incident may still explain. Times are ms of the monotonic clock. */
interface UnexplainedMovement {
  /** After when it began. */
  readonly from: number;
  readonly noticedAt: number;
  /** When the command was sent that may have moved it; null if none was. */
  readonly commandedAt: number | null;
  /** Whether the automatic shut-off was on when it was noticed, or when that was known first; null before that. */
  isShutOffOn: boolean | null;
}

/** What is known of one valve. Times are ms of the monotonic clock. */
interface ValveEntry {
  readonly id: string;
  /** The newest command that was not refused. */
  newest: AskedCommand | null;
  last: AskedCommand | null;
  failedAsked: AskedCommand | null;
  /** The newest command that had not been refused when that one failed. */
  failedAfter: AskedCommand | null;
  failedUntil: number;
  /** A command that an earlier run has sent and not seen how it ended, until this run has read the valve or sent another. */
  unfinished: ValveRecord['command'];
  /** The oldest first. */
  pending: readonly Pending[];
  /** When the valve was last read where it was before; null while it is there. */
  leftAt: number | null;
  explanations: Explanation[];
  unexplained: UnexplainedMovement | null;
  command: ValveRecord['command'];
  failed: ValveRecord['failed'];
  movement: Movement | null;
}

/** A movement and the incident that explains it are reported within this time, in ms. */
const togetherMs = 5 * 60_000;

/** A command counts as the mover if the valve is read within this time after it, in ms. Later the mover is unknown. */
const countsAsMoverMs = 10 * 60_000;

/** If two readings are further apart than this, in ms, the time of a movement between them is unknown. */
const timelyMs = 60 * 60_000;

const shutOffTypes = ['high_volume_alert', 'long_flow_alert', 'water_presence_detected'];

const unfinishedReason = 'sonic2mqtt was restarted before the valve had confirmed the command';

/**
 * The newest command of each valve, the one that failed, and how the valve came to where it is. All of it is kept over
 * restarts. A movement is by a command only if the command may have been at work when the valve left its position, and the
 * valve was read again soon. An incident that is new at the same time shows who it was. If the incident is read later, it
 * corrects the movement.
 */
export class ValveRecords {
  readonly #memory: ValveMemory | undefined;
  readonly #clock: Clock;
  readonly #entries = new Map<string, ValveEntry>();

  constructor(memory: ValveMemory | undefined, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  /** What is known of a valve. A failure that is a day old is none. */
  of(id: string): ValveRecord {
    const { command, failed, movement, failedUntil } = this.#entry(id);
    return { command, failed: this.#clock.monotonic() < failedUntil ? failed : null, movement };
  }

  /** Records how far a command is, or how it ended. `isFailure`: the valve was not moved as somebody wished. */
  recordCommand(
    id: string,
    asked: AskedCommand,
    status: CommandStatus,
    reason: string | null,
    { isFailure = false, waitedMs = null }: { isFailure?: boolean; waitedMs?: number | null } = {},
  ): void {
    const entry = this.#entry(id);
    const { action, askedAt: asked_at, topic } = asked;
    if (status === 'sent' || status === 'refused') entry.last = asked;
    if (status === 'sent') {
      entry.newest = asked;
      entry.unfinished = null;
    }
    const command = { action, asked_at, status, reason };
    if (entry.last === asked) entry.command = { ...command, topic };
    // After a newer command was sent, an older one that fails is no longer what its owner wants.
    if (isFailure && action !== null && (entry.newest === asked || status === 'refused')) {
      const waited_s = waitedMs === null ? null : Math.round(waitedMs / 1_000);
      this.#fail(entry, { ...command, action, waited_s, at: this.#clock.now() }, asked);
    }
    if (status === 'confirmed') endFailure(entry, asked);
    this.#keep(id, entry);
  }

  /** Records that the cloud may carry out a command from now on. */
  recordInFlight(id: string, asked: AskedCommand): void {
    if (asked.action !== null) this.#await(this.#entry(id), asked, targetOf[asked.action], 0);
  }

  /** Records until when a command that was sent may move the valve; null, the cloud has not received it. */
  recordMovesUntil(id: string, asked: AskedCommand, until: number | null): void {
    const entry = this.#entry(id);
    entry.pending = entry.pending.flatMap((each) => {
      if (each.asked !== asked) return each;
      return until === null ? [] : { ...each, until };
    });
  }

  /** Takes the state of a valve; its former state was read last at that time. Returns whether it shows something else. */
  record({ id, valve_state: state }: Sonic, readAt: number, formerReadAt: number): boolean {
    const entry = this.#entry(id);
    const settled = settledValve(state);
    if (settled === null) {
      entry.leftAt ??= formerReadAt;
      return false;
    }
    const before = entry.movement;
    const from = entry.leftAt ?? formerReadAt;
    entry.leftAt = null;
    const { unfinished } = entry;
    if (unfinished) this.#finish(entry, unfinished, settled);
    const wasUnfinished = unfinished !== null;
    // A reading that was sent before a command shows nothing of it.
    const reached = entry.pending.filter((each) => each.target === settled && each.from <= readAt);
    const mover = reached.findLast(({ until }) => from < until && readAt < until + countsAsMoverMs);
    // One that has had its time does not move the valve any more.
    const opposite = entry.pending.filter(({ target, until }) => target !== settled && readAt < until);
    const isMoved = before !== null && before.valve !== settled;
    // Commands that the valve has obeyed end. But if an opposite one is under way, the valve may still go there and back.
    const ended = isMoved || opposite.length === 0 ? reached : [];
    entry.pending = entry.pending.filter((each) => {
      return each.target === settled ? !ended.includes(each) : opposite.includes(each);
    });
    const haveEnded = ended.length > 0;
    // If the valve has moved and no command counts as its mover, none has worked.
    const obeyed = isMoved ? mover : ended.at(-1);
    if (obeyed) confirmLate(entry, obeyed.asked);
    if (before?.valve === settled) {
      if (wasUnfinished || haveEnded) this.#keep(id, entry);
      return wasUnfinished || haveEnded;
    }
    const unknown = { valve: settled, at: null, by: null, topic: null, incident_id: null };
    const isTimely = readAt - Math.max(from, mover?.from ?? from) <= timelyMs;
    const at = isTimely ? new Date(this.#clock.now()).toISOString() : null;
    entry.unexplained = null;
    if (before === null) entry.movement = unknown;
    else {
      const topic = mover?.asked.topic ?? null;
      entry.movement = { ...unknown, at, by: mover ? 'command' : 'elsewhere', topic };
      entry.unexplained = { from, noticedAt: readAt, commandedAt: mover?.from ?? null, isShutOffOn: null };
    }
    this.#keep(id, entry);
    return true;
  }

  /** Takes an incident at the valve that was not open before. */
  incidentOpened(id: string, incident: Incident): void {
    const type = typeOf(incident);
    if (type !== 'device_handle_moved' && !shutOffTypes.includes(type ?? '')) return;
    if (this.#memory?.isKnownIncident(incident.id)) return;
    const entry = this.#entry(id);
    const seenAt = this.#clock.monotonic();
    entry.explanations = [...entry.explanations.slice(-9), { incident, seenAt }];
  }

  /** The valves that a command may still move. A reading may show that it has worked, though nothing has changed. */
  get awaited(): string[] {
    return [...this.#entries.values()].flatMap(({ pending, id }) => (pending.length > 0 ? id : []));
  }

  /** The valves whose last movement an incident may still explain. */
  get unexplained(): string[] {
    return [...this.#entries.values()].flatMap(({ unexplained, id }) => (unexplained ? id : []));
  }

  /**
   * Finds the incident that shows who has moved the valve last. `isShutOffOn` is null while the setting of the automatic
   * shut-off is unknown. Returns whether it has found another one.
   */
  findExplanation(id: string, isShutOffOn: boolean | null): boolean {
    const entry = this.#entry(id);
    const { unexplained, movement, explanations } = entry;
    if (!unexplained || !movement) return false;
    unexplained.isShutOffOn ??= isShutOffOn;
    const now = this.#clock.monotonic();
    if (now > unexplained.noticedAt + togetherMs) entry.unexplained = null;
    const since = unexplained.from - togetherMs;
    const wallSince = this.#clock.now() - now + since;
    const fitting = explanations.filter(({ incident, seenAt }) => {
      const detectedAt = Date.parse(incident.detected_at ?? '');
      return seenAt >= since && seenAt <= unexplained.noticedAt + togetherMs && !(detectedAt < wallSince);
    });
    // Only a hand between the command and the reading that shows the movement goes before the command.
    const { commandedAt, noticedAt } = unexplained;
    const wallOf = (at: number) => this.#clock.now() - now + at;
    const byHand = fitting.find(({ incident }) => {
      if (typeOf(incident) !== 'device_handle_moved') return false;
      const detectedAt = Date.parse(incident.detected_at ?? '');
      return commandedAt === null || (detectedAt >= wallOf(commandedAt) && detectedAt <= wallOf(noticedAt));
    });
    const shutOff =
      commandedAt === null && unexplained.isShutOffOn && movement.valve === 'closed'
        ? fitting.at(-1)
        : undefined;
    const explanation = byHand ?? shutOff;
    if (!explanation || explanation.incident.id === movement.incident_id) return false;
    const detectedAt = Date.parse(explanation.incident.detected_at ?? '');
    const isSensible = detectedAt <= this.#clock.now() && !(detectedAt < wallSince);
    entry.movement = {
      ...movement,
      at: isSensible ? new Date(detectedAt).toISOString() : movement.at,
      by: byHand ? 'by_hand' : 'automatic_shut_off',
      topic: null,
      incident_id: explanation.incident.id,
    };
    // It explains one movement.
    entry.explanations = explanations.filter((each) => each !== explanation);
    this.#keep(id, entry);
    return true;
  }

  /** The valves with a failed command, and how long the next of them is still to be shown, in ms; 0, it no longer is. */
  expireFailures(): { readonly expired: readonly string[]; readonly nextMs: number | null } {
    const now = this.#clock.monotonic();
    const failed = [...this.#entries.values()].filter((entry) => entry.failed !== null);
    const over = failed.filter(({ failedUntil }) => failedUntil <= now);
    for (const entry of over) {
      entry.failed = null;
      this.#keep(entry.id, entry);
    }
    const left = failed.flatMap((entry) => (entry.failed ? entry.failedUntil - now : []));
    return { expired: over.map(({ id }) => id), nextMs: left.length > 0 ? Math.min(...left) : null };
  }

  /** Forgets a valve that has left the account. */
  forget(id: string): void {
    this.#entries.delete(idKey(id));
    this.#memory?.forgetValve(id);
  }

  /** Ends a command that an earlier run has sent: confirmed if the valve is where it should be. Otherwise its end is unknown. */
  #finish(entry: ValveEntry, command: NonNullable<ValveRecord['command']>, settled: SettledValve): void {
    entry.unfinished = null;
    if (command.action === null || targetOf[command.action] !== settled) return;
    const reason = `sonic2mqtt was restarted, and then read that the valve is ${settled}`;
    // One that was refused since is the newest, and has its own failure.
    if (entry.last === null) entry.command = { ...command, status: 'confirmed', reason };
    if (entry.failedAsked === null) entry.failed = null;
    const ageMs = Math.abs(this.#clock.now() - Date.parse(command.asked_at));
    if (ageMs < countsAsMoverMs)
      this.#await(entry, { ...command, askedAt: command.asked_at }, settled, ageMs);
  }

  /** Notes that a command that was sent so long ago may move the valve. */
  #await(entry: ValveEntry, asked: AskedCommand, target: SettledValve, ageMs: number): void {
    const pending = { asked, target, from: this.#clock.monotonic() - ageMs, until: Number.POSITIVE_INFINITY };
    entry.pending = [...entry.pending.filter((each) => each.asked !== asked).slice(-9), pending];
  }

  #fail(entry: ValveEntry, failed: NonNullable<ValveRecord['failed']>, asked: AskedCommand | null): void {
    entry.failed = failed;
    entry.failedAsked = asked;
    entry.failedAfter = entry.newest;
    // A clock that was ahead of this one when it failed must not keep it for longer.
    const ageMs = Math.max(0, this.#clock.now() - failed.at);
    entry.failedUntil = this.#clock.monotonic() + failureShownMs - ageMs;
  }

  #entry(id: string): ValveEntry {
    const key = idKey(id);
    const known = this.#entries.get(key);
    if (known) return known;
    const kept = this.#memory?.valveRecord(id) ?? null;
    const entry: ValveEntry = {
      ...{ id, newest: null, last: null, failedAsked: null, failedAfter: null, failedUntil: 0 },
      ...{ unfinished: null, pending: [], leftAt: null, explanations: [], unexplained: null },
      ...{ command: null, failed: null, movement: null, ...kept },
    };
    this.#entries.set(key, entry);
    if (kept?.failed) this.#fail(entry, kept.failed, null);
    // Its valve was not read any more.
    const wasUnread = kept?.failed?.waited_s === null && kept.failed.asked_at === kept.command?.asked_at;
    if (kept?.command?.status === 'not_confirmed' && wasUnread) entry.unfinished = kept.command;
    if (kept?.command?.status === 'sent') {
      const { topic: _, ...command } = kept.command;
      entry.unfinished = kept.command;
      entry.command = { ...kept.command, status: 'not_confirmed', reason: unfinishedReason };
      if (command.action) {
        const { action } = command;
        const failed = { ...command, action, status: 'not_confirmed', reason: unfinishedReason } as const;
        this.#fail(entry, { ...failed, waited_s: null, at: Date.parse(command.asked_at) }, null);
      }
    }
    return entry;
  }

  #keep(id: string, { command, failed, movement }: ValveRecord): void {
    this.#memory?.recordValve(id, { command, failed, movement });
  }
}

/** A command is confirmed, which ends its failure and those of older ones. A newer one, which was refused since, still failed. */
function endFailure(entry: ValveEntry, confirmed: AskedCommand): void {
  const { newest, failedAsked, failedAfter } = entry;
  if (failedAsked === confirmed || (newest === confirmed && failedAfter !== confirmed)) entry.failed = null;
}

/** A command that had ended in another way is seen to have worked. */
function confirmLate(entry: ValveEntry, asked: AskedCommand): void {
  const { command, last } = entry;
  // The end of one that has not ended is still to come.
  if (last === asked && command?.status === 'sent') return;
  if (last === asked && command) entry.command = { ...command, status: 'confirmed', reason: null };
  endFailure(entry, asked);
}
