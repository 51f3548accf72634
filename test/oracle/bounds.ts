import type { configSchema } from '../../src/config/schema.ts';

type Config = ReturnType<(typeof configSchema)['parse']>;

/** The schedule by which a fact is read: a list, or details that are read device by device. */
export type Source = keyof Config['schedules'] & string extends infer Name
  ? Exclude<Name, 'timezone'>
  : never;

/** Limits that follow from the configuration of a bridge. The judges measure its promises by them. */
export interface Bounds {
  /** A shown value must have been true in the cloud at most this long ago, by schedule. */
  readonly maxAgeMs: Readonly<Record<Source, number>>;
  /** The longest time between two reads of a vital list. A vital list tells of leaks or of valves. */
  readonly maxGapMs: Readonly<Record<'incidents' | 'sonics', number>>;
  readonly requestTimeoutMs: number;
  readonly confirmTimeoutMs: number;
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
}

const minuteMs = 60_000;

/** The longest time between two runs of a cron expression in the tests. */
const longestCronMs = 24 * 60 * minuteMs;

/**
 * Time from the end of `maxAgeMs` until the broker must have a newer message. It covers the timeout of a
 * request, its retries, a slow broker, and one and a half keepalives of a link that is silently dead.
 */
export const slackMs = 150_000;

/** The limits of a bridge with this configuration. */
export function boundsOf({ schedules, stale_after, cloud, valve, filters }: Config): Bounds {
  const period = (source: Source): number => {
    const schedule = schedules[source];
    return schedule.kind === 'every' ? schedule.everyMs : longestCronMs;
  };
  const maxAge = (source: Source) => Math.max(stale_after, 2 * period(source)) + slackMs;
  return {
    maxAgeMs: {
      incidents: maxAge('incidents'),
      sonics: maxAge('sonics'),
      telemetry: maxAge('telemetry'),
      signals: maxAge('signals'),
      usage: maxAge('usage'),
      pressure_tests: maxAge('pressure_tests'),
      properties: maxAge('properties'),
    },
    maxGapMs: {
      incidents: Math.max(period('incidents'), minuteMs),
      sonics: Math.max(period('sonics'), minuteMs),
    },
    requestTimeoutMs: cloud.request_timeout,
    confirmTimeoutMs: valve.confirm_timeout,
    selection: filters.properties,
  };
}

/** The limits for several bridges that work side by side: of each limit the longer one. */
export function loosest(one: Bounds, other: Bounds): Bounds {
  const longer = <Name extends string>(left: Record<Name, number>, right: Record<Name, number>) =>
    Object.fromEntries(
      Object.entries<number>(left).map(([name, ms]) => [name, Math.max(ms, right[name as Name])]),
    ) as Record<Name, number>;
  return {
    maxAgeMs: longer(one.maxAgeMs, other.maxAgeMs),
    maxGapMs: longer(one.maxGapMs, other.maxGapMs),
    requestTimeoutMs: Math.max(one.requestTimeoutMs, other.requestTimeoutMs),
    confirmTimeoutMs: Math.max(one.confirmTimeoutMs, other.confirmTimeoutMs),
    selection:
      one.selection.length > 0 && other.selection.length > 0 ? [...one.selection, ...other.selection] : [],
  };
}
