import type { Clock } from '../base/clock.ts';
import { statesPath, type Target, type Topics } from '../homeassistant/topics.ts';
import { pauseFromShown } from '../model/pause.ts';
import { recordFromShown } from '../model/usage.ts';
import type { ValveRecord } from '../model/valveCommand.ts';
import { type Kept, usageRecord, valveRecord } from '../state/sections.ts';

/** What a row needs besides the message. */
export interface Adoption {
  readonly topics: Topics;
  readonly kept: Kept;
  readonly clock: Clock;
  /** Whether the broker is newer than the state file. */
  readonly isNewer: boolean;
}

type Adopt = (id: string, shown: object, adoption: Adoption) => void;

/**
 * THE TABLE: by retained document, how it becomes part of what is kept. Each is checked as if a stranger had written it,
 * and one that is not as this bridge writes it says nothing.
 */
const rows: Readonly<Record<string, Adopt>> = {
  'property/pause': (id, shown, { kept, clock, isNewer }) => {
    const pause = pauseFromShown(shown, clock);
    if (pause) kept.pauses.adopt([[id, pause]], isNewer);
  },
  'sonic/usage': (id, shown, { kept, clock, isNewer }) => {
    const { success, data } = usageRecord.safeParse(recordFromShown(shown));
    if (!success) return;
    // A time that has not come yet would make every later reading look older.
    const readAt = Math.min(data.readAt, clock.now());
    const changedAt = new Date(Math.min(Date.parse(data.changedAt), clock.now())).toISOString();
    kept.usage.adopt([[id, { ...data, readAt, changedAt }]], isNewer);
  },
  'sonic/last_command': (id, shown, adoption) => {
    const { failed, ...command } = Object(shown);
    const topic = adoption.topics.below('sonic', id, 'valve/set');
    const isAsked = command.asked_at !== null;
    const failure = failed && { ...failed, at: timeOf(failed.asked_at, adoption.clock) };
    adoptValve(id, { command: isAsked ? { ...command, topic } : null, failed: failure ?? null }, adoption);
  },
  'sonic/movement': (id, shown, adoption) => {
    const { valve } = Object(shown);
    if (valve !== null) adoptValve(id, { movement: shown }, adoption);
  },
  [`sonic/${statesPath}`]: (id, shown, { kept, clock, isNewer }) => {
    const { water_at_rest: at } = Object(shown);
    const ms = typeof at === 'string' ? timeOf(at, clock) : null;
    if (ms !== null) kept.rested.adopt([[id, Math.floor(ms / 1_000)]], isNewer);
  },
  'sonic/': (id, shown, { kept, isNewer }) => {
    const { signal_id } = Object(shown);
    if (signal_id === null) kept.wifiSonics.adopt([[id, true]], isNewer);
  },
  'incident/': (id, _, { kept, isNewer }) => kept.announced.adopt([[id, true]], isNewer),
};

/** The documents that may know what an intact state file does not: an older one may lack a pause, or water. */
export const alwaysRead = ['property/pause', 'sonic/usage'] as const;

/** The kinds and paths of all documents of which something is kept. */
export const keptDocuments: readonly string[] = Object.keys(rows);

export function adoptDocument({ kind, id, path }: Target, shown: object, adoption: Adoption): void {
  rows[`${kind}/${path}`]?.(id, shown, adoption);
}

/** Each of the two documents of a valve is a part of its record. */
function adoptValve(id: string, found: object, { kept, clock, isNewer }: Adoption): void {
  const known: ValveRecord = kept.valves.get(id) ?? noRecord;
  const { success, data } = valveRecord.safeParse({ ...known, ...found });
  if (success && !isLater(data, clock)) kept.valves.adopt([[id, data]], isNewer);
}

const noRecord: ValveRecord = { command: null, failed: null, stopped: null, movement: null };

/** Whether the record names a time that has not come yet. */
function isLater({ command, failed, movement }: ValveRecord, clock: Clock): boolean {
  const times = [command?.asked_at, failed?.asked_at, movement?.at];
  return times.some((time) => time && timeOf(time, clock) === null);
}

/** In ms since 1970; null if it is no time, or has not come yet. */
function timeOf(text: unknown, clock: Clock): number | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return ms <= clock.now() + maxClockErrorMs ? ms : null;
}

/** The clock of the earlier run may have been ahead, in ms. */
const maxClockErrorMs = 3_600_000;
