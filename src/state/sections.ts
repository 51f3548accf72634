import { z } from 'zod';
import { type Clock, systemClock } from '../base/clock.ts';
import { jsonIn } from '../base/json.ts';
import { monthOf } from '../model/calendar.ts';
import { maxPauseMinutes, minPauseMinutes, type Pause } from '../model/pause.ts';
import { mergedRecords, type UsageRecord } from '../model/usage.ts';
import { commandStatuses, movers, type ValveRecord } from '../model/valveCommand.ts';
import {
  type FileTimes,
  type FoundAge,
  type Keeper,
  KeptMap,
  type Section,
  saveIn,
  section,
} from './kept.ts';

/** A month, YYYY-MM. */
const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/);
const millilitres = z.int().nonnegative();

export const usageRecord: z.ZodType<UsageRecord> = z
  .object({
    frozenThrough: month,
    frozenMl: millilitres,
    days: z.record(z.iso.date(), millilitres).readonly(),
    months: z.array(month).readonly(),
    isWhole: z.boolean(),
    changedAt: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
    readAt: z.number(),
    timezone: z.string().optional(),
  })
  .refine(({ frozenThrough, days, months }) =>
    [...Object.keys(days).map(monthOf), ...months].every((each) => each > frozenThrough),
  );

/** A text for people, which may come from the broker. */
const words = z.string().transform((text) => text.slice(0, 1_000));

const asked = {
  action: z.enum(['open', 'close']),
  asked_at: z.iso.datetime(),
  status: z.enum(commandStatuses),
  reason: words.nullable(),
};

export const valveRecord: z.ZodType<ValveRecord> = z.object({
  command: z.object({ ...asked, action: asked.action.nullable(), topic: z.string() }).nullable(),
  failed: z
    .object({
      ...asked,
      waited_s: z.number().nullable(),
      may_have_moved: z.boolean().default(true),
      at: z.number(),
    })
    .nullable(),
  stopped: asked.action.nullable().default(null),
  movement: z
    .object({
      valve: z.enum(['open', 'closed']),
      at: z.iso.datetime().nullable(),
      by: z.enum(movers).nullable(),
      topic: z.string().nullable(),
      incident_id: z.string().nullable(),
    })
    .nullable(),
});

const session = z.object({ baseUrl: z.string(), email: z.string(), token: z.string(), since: z.number() });

/** `leftMs` is how long it could still last when the file was written: the monotonic clock starts again with each process. */
const pause = z.object({
  until: z.number(),
  leftMs: z.number().nonnegative(),
  minutes: z.int().min(minPauseMinutes).max(maxPauseMinutes),
  isOver: z.boolean(),
  reason: z.string().nullable(),
});

/** A larger number is none of ours: it would end the counting. */
export const revision = z.int().nonnegative().max(1e12);

const file = z.looseObject({
  isBehind: z.boolean().catch(true).default(false),
  writtenAt: z.string().nullable().catch(null).default(null),
  /** Grows with each change that is written at once. Of two memories, the one with the larger number is newer. */
  revision: revision.catch(0).default(0),
});

/** The values of the file are those of the map, by id. */
function byId<V>(value: z.ZodType<V>, form: Partial<Pick<Section<V>, 'saveIn' | 'merge'>> = {}): Section<V> {
  return mapped(value, { read: (stored) => stored, write: (kept) => kept }, form);
}

/** The values have another form in the file. */
function mapped<Stored, V>(
  stored: z.ZodType<Stored>,
  {
    read,
    write,
  }: {
    readonly read: (stored: Stored, times: FileTimes) => V;
    readonly write: (value: V, times: FileTimes) => Stored;
  },
  form: Partial<Pick<Section<V>, 'saveIn' | 'merge'>> = {},
): Section<V> {
  return section(z.record(z.string(), stored).default({}), {
    ...form,
    read: (values, times) => Object.entries(values).map(([id, each]) => [id, read(each, times)] as const),
    write: (values, times) => Object.fromEntries([...values].map(([id, each]) => [id, write(each, times)])),
  });
}

/** Ids without values. The file has a list of them. */
function ids(delayMs: number): Section<true> {
  return section(z.array(z.string()).default([]), {
    saveIn: () => delayMs,
    read: (list) => list.map((id) => [id, true] as const),
    write: (values) => [...values.keys()],
  });
}

/** THE TABLE: all that survives a restart, by section. A section that a file does not have is empty. */
export function newKept(keeper: Keeper = { changed: () => {}, saved: () => Promise.resolve() }) {
  const keep = <V>(of: Section<V>) => new KeptMap(of, keeper);
  return {
    /** One session, without an id. */
    session: keep(
      section(session.nullable().default(null), {
        read: (stored) => (stored ? [['', stored] as const] : []),
        write: (sessions) => sessions.get('') ?? null,
      }),
    ),
    /** Open incidents that were published at `bridge/event`. */
    announced: keep(ids(saveIn.now)),
    /** By property: the pauses that have not ended, or whose end is not confirmed. */
    pauses: keep(
      mapped<z.infer<typeof pause>, Pause>(
        pause,
        {
          // If the clock is behind the file, nobody knows how long a pause has lasted, so it ends.
          read: ({ leftMs, ...kept }, { monotonic, isClockBehind }) => {
            return { ...kept, endsAt: monotonic + (isClockBehind ? 0 : leftMs), isPending: false };
          },
          write: ({ endsAt, isPending: _, ...kept }, { monotonic }) => {
            return { ...kept, leftMs: Math.max(0, endsAt - monotonic) };
          },
        },
        {
          // Anyone may have written what looks newer. It may end a pause sooner, and never later.
          merge: (found, known, { isOfThisRun, isNewer }) =>
            isNewer && !isOfThisRun && found.until < known.until
              ? { ...found, endsAt: Math.min(found.endsAt, known.endsAt) }
              : known,
        },
      ),
    ),
    /**
     * The properties that an earlier run may have paused, while no memory of that is left, until their shut-off is read as
     * on. The empty id stands for those that are not listed yet.
     */
    lostPauses: keep(ids(saveIn.now)),
    /** By sonic. */
    usage: keep(
      mapped(
        usageRecord,
        {
          // If the file is behind, its sum may be lower than the last published one. It must not be shown before the latest
          // month was read again.
          read: (record, { isBehind }) => (isBehind ? { ...record, isWhole: false } : record),
          write: (record) => record,
        },
        {
          saveIn: (record, before) => (isNews(record, before) ? saveIn.aMinute : saveIn.aQuarter),
          // `readAt` alone does not decide, because the clock of the other run may have been ahead.
          merge: (found, known, { isOfThisRun }) =>
            isOfThisRun || known.readAt > found.readAt
              ? mergedRecords(found, known)
              : mergedRecords(known, found),
        },
      ),
    ),
    /** By sonic: when it last measured that no water runs, in Unix seconds. At rest, that is news at each measurement. */
    rested: keep(
      byId(z.number(), {
        saveIn: (_, before) => (before === undefined ? saveIn.aMinute : saveIn.aQuarter),
        merge: (found, known) => Math.max(found, known),
      }),
    ),
    /** By sonic: its last commands and its last movement. */
    valves: keep(byId(valveRecord, { merge: mergedValveRecords })),
    /** Devices and incidents that may have messages on the broker, as `kind/id`, each with its last name or an empty text. */
    devices: keep(byId(words, { merge: (found, known) => known || found })),
    /** Discovery prefixes under which this run has published, and until the start earlier ones. */
    discoveryPrefixes: keep(ids(saveIn.now)),
    /** Sonics without a hub in the cloud's last list. If the cloud later refuses this list, it may still have them. */
    wifiSonics: keep(ids(saveIn.aMinute)),
    /** The settings that the cloud has shown, as `settings/id` and `notifications/id` of their properties. */
    shownSettings: keep(ids(saveIn.aMinute)),
  };
}

export type Kept = ReturnType<typeof newKept>;
type SectionName = keyof Kept;

function sectionsOf(kept: Kept): readonly SectionName[] {
  return Object.keys(kept) as SectionName[];
}

/** Keeps the session of one account. A bridge with another account never uses it. */
export function sessionMemory({ session }: Kept, account: { baseUrl: string; email: string }) {
  return {
    load: () => {
      const kept = session.get('');
      return kept?.baseUrl === account.baseUrl && kept.email === account.email ? kept : null;
    },
    save: (given: { token: string; since: number } | null) => {
      if (given) session.set('', { ...account, token: given.token, since: given.since });
      else session.delete('');
    },
  };
}

/** A clock that is behind by less than this, in ms, is only being corrected. */
const maxClockErrorMs = 5_000;

/** What a file says about itself, and which sections are damaged in it. */
interface FileRead {
  readonly revision: number;
  readonly damaged: readonly SectionName[];
}

/** Adds the intact sections of a file. `knownRevision` is that of what is known already. */
export function readSections(
  kept: Kept,
  text: string,
  knownRevision = 0,
  clock: Clock = systemClock,
): FileRead {
  const { success, data } = file.safeParse(jsonIn(text));
  if (!success) return { revision: 0, damaged: sectionsOf(kept) };
  const { isBehind, writtenAt, revision } = data;
  const isClockBehind = clock.now() < Date.parse(writtenAt ?? '') - maxClockErrorMs;
  const times = { isBehind, isClockBehind, monotonic: clock.monotonic() };
  const isIntact = (name: SectionName) => kept[name].read(data[name], times, revision >= knownRevision);
  return { revision, damaged: sectionsOf(kept).filter((name) => !isIntact(name)) };
}

/** All sections in the form of the file. `isBehind`: this run may read more water than it writes now. */
export function storedSections(
  kept: Kept,
  about: Pick<z.infer<typeof file>, 'isBehind' | 'revision'>,
  clock: Clock,
) {
  const times = { isBehind: about.isBehind, isClockBehind: false, monotonic: clock.monotonic() };
  const stored = Object.entries(kept).map(([name, map]) => [name, map.write(times)] as const);
  return { ...Object.fromEntries(stored), ...about, writtenAt: new Date(clock.now()).toISOString() };
}

/** This run may have read the valve before it found what an earlier one has kept. */
function mergedValveRecords(found: ValveRecord, known: ValveRecord, which: FoundAge): ValveRecord {
  if (!which.isOfThisRun) return which.isNewer ? found : known;
  const { command, failed, stopped, movement } = known;
  const hasMoved = movement !== null && (movement.at !== null || movement.valve !== found.movement?.valve);
  return {
    command: command ?? found.command,
    failed: failed ?? (command?.status === 'confirmed' ? null : found.failed),
    stopped,
    movement: hasMoved ? movement : found.movement,
  };
}

/** Whether a record shows other water than before. Then it is written soon. */
function isNews(record: UsageRecord | undefined, before: UsageRecord | undefined): boolean {
  return (['changedAt', 'frozenThrough', 'timezone'] as const).some((key) => record?.[key] !== before?.[key]);
}
