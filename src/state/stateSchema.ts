import { z } from 'zod';
import { maxPauseMinutes, minPauseMinutes } from '../model/pause.ts';
import { commandStatuses, movers } from '../model/valveCommand.ts';

/** A month, YYYY-MM. */
const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/);
const millilitres = z.int().nonnegative();

/** See `UsageRecord`. */
const usageRecord = z
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

/** See `ValveRecord`. */
const valveRecord = z.object({
  command: z
    .object({ ...asked, action: asked.action.nullable(), topic: z.string() })
    .readonly()
    .nullable(),
  failed: z
    .object({
      ...asked,
      waited_s: z.number().nullable(),
      may_have_moved: z.boolean().default(true),
      at: z.number(),
    })
    .readonly()
    .nullable(),
  movement: z
    .object({
      valve: z.enum(['open', 'closed']),
      at: z.iso.datetime().nullable(),
      by: z.enum(movers).nullable(),
      topic: z.string().nullable(),
      incident_id: z.string().nullable(),
    })
    .readonly()
    .nullable(),
});

/**
 * The data that survives the process, section by section. If a section is missing, the version that wrote the file did
 * not have it.
 */
const schema = z.object({
  /** The session of one account. A bridge with another account never uses it. */
  session: z
    .object({ baseUrl: z.string(), email: z.string(), token: z.string(), since: z.number() })
    .nullable()
    .default(null),
  /** Ids of open incidents that were announced. */
  announced: z.array(z.string()).default([]),
  /** Ids of open incidents that were published at `bridge/event`, but not yet announced at their device. */
  waiting: z.array(z.string()).default([]),
  /** By the property's id: the last settings that the cloud accepted but does not show. */
  accepted: z
    .record(
      z.string(),
      z.object({
        leak_protection_enabled: z.boolean().optional(),
        push_enabled: z.boolean().optional(),
        webhook_url: z.string().optional(),
      }),
    )
    .default({}),
  /** By the sonic's id: its water usage. */
  usage: z.record(z.string(), usageRecord.readonly()).readonly().default({}),
  /** By the sonic's id: when it last measured that no water runs, in Unix seconds. */
  rested: z.record(z.string(), z.number()).default({}),
  /** By the sonic's id: its last commands and its last movement. */
  valves: z.record(z.string(), valveRecord.readonly()).default({}),
  /** Devices that may have messages on the broker, as `kind/id`. */
  devices: z.array(z.string()).default([]),
  /** Base topics under which a bridge with this file has published. */
  baseTopics: z.array(z.string()).default([]),
  /** Discovery prefixes under which a bridge with this file has published. */
  discoveryPrefixes: z.array(z.string()).default([]),
  /** The settings that the cloud has shown, as `settings/id` and `notifications/id` of their properties. */
  shownSettings: z.array(z.string()).default([]),
  /**
   * By the property's id: see `Pause`. `leftMs` is how long the pause could still last when the file was written, in
   * ms. It is kept because the monotonic clock starts again with each process.
   */
  pauses: z
    .record(
      z.string(),
      z.object({ until: z.number(), leftMs: z.number().nonnegative(), isOver: z.boolean() }),
    )
    .default({}),
  /** By the property's id: how long a pause lasts if the command names no time, in minutes. */
  pauseMinutes: z.record(z.string(), z.int().min(minPauseMinutes).max(maxPauseMinutes)).default({}),
  /** Ids of the sonics without a hub in the cloud's last list. */
  wifiSonics: z.array(z.string()).default([]),
  /**
   * Whether more water may have been read and shown than this file has. False only if everything was written at a stop.
   */
  isBehind: z.boolean().default(false),
  /** ISO 8601 in UTC. */
  writtenAt: z.string().nullable().default(null),
});

export type State = z.infer<typeof schema>;

/** The content of a file, and the sections that could not be read. These sections are empty. */
export interface ReadState {
  readonly state: State;
  readonly damaged: readonly (keyof State)[];
}

/** The names of all sections. */
export const sections: readonly (keyof State)[] = schema.keyof().options;

/** Reads the text of a state file, or of the `ledger.json` of version 0.1.0, which has the same sections. */
export function readState(text: string): ReadState {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // The text is no JSON. Null fails the schema, so all sections count as damaged.
  }
  const read = schema.safeParse(value);
  if (read.success) return { state: read.data, damaged: [] };
  const named = new Set(read.error.issues.map(({ path }) => path[0]));
  const damaged = sections.filter((section) => named.has(section));
  if (damaged.length === 0) return { state: schema.parse({}), damaged: sections };
  const rest = Object.entries(Object(value)).filter(([section]) => !named.has(section));
  return { state: schema.parse(Object.fromEntries(rest)), damaged };
}
