import { z } from 'zod';
import { type Clock, systemClock } from '../base/clock.ts';
import { maxPauseMinutes, minPauseMinutes, type Pause } from '../model/pause.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { mergedRecords, type UsageRecord } from '../model/usage.ts';
import { commandStatuses, movers, type ValveRecord } from '../model/valveCommand.ts';
import { type FileTimes, KeptMap, type Save, type Section, saveIn, section } from './kept.ts';

/** A month, YYYY-MM. */
const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/);
const millilitres = z.int().nonnegative();

const usageRecord: z.ZodType<UsageRecord> = z
  .object({
    frozenThrough: month,
    frozenMl: millilitres,
    months: z.record(month, z.array(millilitres.nullable()).max(31).readonly()).readonly(),
    isWhole: z.boolean(),
    changedAt: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
    readAt: z.number(),
    timezone: z.string().optional(),
  })
  .refine(({ frozenThrough, months }) => Object.keys(months).every((each) => each > frozenThrough));

const asked = {
  action: z.enum(['open', 'close']),
  asked_at: z.iso.datetime(),
  status: z.enum(commandStatuses),
  reason: z.string().nullable(),
};

const valveRecord: z.ZodType<ValveRecord> = z.object({
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

const accepted = z.object({
  leak_protection_enabled: z.boolean().optional(),
  push_enabled: z.boolean().optional(),
  webhook_url: z.string().optional(),
});

/** `leftMs` is how long it could still last when the file was written: the monotonic clock starts again with each process. */
const pause = z.object({
  until: z.number(),
  leftMs: z.number().nonnegative(),
  minutes: z.int().min(minPauseMinutes).max(maxPauseMinutes),
  isOver: z.boolean(),
  reason: z.string().nullable(),
});

const file = z.looseObject({
  isBehind: z.boolean().catch(true).default(false),
  writtenAt: z.string().nullable().catch(null).default(null),
  /** Whether earlier data was lost, and is not replaced yet by what the broker has. */
  isUnrecovered: z.boolean().catch(true).default(false),
  /** Whether no run has lost a pause that may still last. */
  arePausesKnown: z.boolean().catch(false).default(true),
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
export function newKept(save: Save = () => Promise.resolve()) {
  const keep = <V>(of: Section<V>) => new KeptMap(of, save);
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
    /** By property: the last settings that the cloud accepted but does not show. */
    accepted: keep(
      mapped(
        accepted,
        { read: withoutSecrets, write: withoutSecrets },
        { merge: (found: AcceptedSettings, own: AcceptedSettings) => ({ ...found, ...own }) },
      ),
    ),
    /** By property: the pauses that have not ended, or whose end is not confirmed. */
    pauses: keep(
      mapped<z.infer<typeof pause>, Pause>(pause, {
        // If the clock is behind the file, nobody knows how long a pause has lasted, so it ends.
        read: ({ leftMs, ...kept }, { monotonic, isClockBehind }) => {
          return { ...kept, endsAt: monotonic + (isClockBehind ? 0 : leftMs), isPending: false };
        },
        write: ({ endsAt, isPending: _, ...kept }, { monotonic }) => {
          return { ...kept, leftMs: Math.max(0, endsAt - monotonic) };
        },
      }),
    ),
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
          merge: (found, own, isOfThisRun) =>
            isOfThisRun || own.readAt > found.readAt ? mergedRecords(found, own) : mergedRecords(own, found),
        },
      ),
    ),
    /** By sonic: when it last measured that no water runs, in Unix seconds. At rest, that is news at each measurement. */
    rested: keep(
      byId(z.number(), {
        saveIn: (_, before) => (before === undefined ? saveIn.aMinute : saveIn.aQuarter),
        merge: (found, own) => Math.max(found, own),
      }),
    ),
    /** By sonic: its last commands and its last movement. */
    valves: keep(byId(valveRecord)),
    /** Devices and incidents that may have messages on the broker, as `kind/id`. Nothing else remembers them. */
    devices: keep(ids(saveIn.now)),
    /** Base topics under which this run or earlier ones have published. */
    baseTopics: keep(ids(saveIn.now)),
    /** Discovery prefixes under which this run or earlier ones have published. */
    discoveryPrefixes: keep(ids(saveIn.now)),
    /** Sonics without a hub in the cloud's last list. If the cloud later refuses this list, it may still have them. */
    wifiSonics: keep(ids(saveIn.aMinute)),
    /** The settings that the cloud has shown, as `settings/id` and `notifications/id` of their properties. */
    shownSettings: keep(ids(saveIn.aMinute)),
  };
}

export type Kept = ReturnType<typeof newKept>;
type SectionName = keyof Kept;

export function sectionsOf(kept: Kept): readonly SectionName[] {
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

/** What a file says about itself, and which of the wanted sections are damaged in it. */
interface FileRead {
  readonly damaged: readonly SectionName[];
  /** ISO 8601; null if the file does not say it. */
  readonly writtenAt: string | null;
  readonly isUnrecovered: boolean;
}

/** Adds the wanted sections of a file to those that are kept, if they are intact. */
export function readSections(
  kept: Kept,
  text: string,
  wanted = sectionsOf(kept),
  clock: Clock = systemClock,
): FileRead {
  const { success, data } = file.safeParse(jsonIn(text));
  if (!success) return { damaged: wanted, writtenAt: null, isUnrecovered: false };
  const { isBehind, writtenAt, isUnrecovered, arePausesKnown } = data;
  const isClockBehind = clock.now() < Date.parse(writtenAt ?? '') - maxClockErrorMs;
  const times = { isBehind, isClockBehind, monotonic: clock.monotonic() };
  const damaged = wanted.filter((name) => !kept[name].read(data[name], times));
  if (wanted.includes('pauses') && !damaged.includes('pauses')) kept.pauses.isKnown = arePausesKnown;
  return { damaged, writtenAt, isUnrecovered };
}

/** All sections in the form of the file. `isBehind`: this run may read more water than it writes now. */
export function storedSections(
  kept: Kept,
  about: Pick<z.infer<typeof file>, 'isBehind' | 'isUnrecovered'>,
  clock: Clock,
) {
  const times = { isBehind: about.isBehind, isClockBehind: false, monotonic: clock.monotonic() };
  const stored = Object.entries(kept).map(([name, map]) => [name, map.write(times)] as const);
  const writtenAt = new Date(clock.now()).toISOString();
  return { ...Object.fromEntries(stored), ...about, writtenAt, arePausesKnown: kept.pauses.isKnown };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether a record shows other water than before. Then it is written soon. */
function isNews(record: UsageRecord | undefined, before: UsageRecord | undefined): boolean {
  return (['changedAt', 'frozenThrough', 'timezone'] as const).some((key) => record?.[key] !== before?.[key]);
}

/**
 * The settings that may be kept. The address of our own webhook comes here with its secret hidden. If the secret
 * changed, the kept address would still look like the right one. So it is not kept, but sent to the cloud once in each
 * run.
 */
function withoutSecrets({ webhook_url, ...others }: AcceptedSettings): AcceptedSettings {
  return webhook_url === undefined || webhook_url.includes('[hidden]') ? others : { ...others, webhook_url };
}
