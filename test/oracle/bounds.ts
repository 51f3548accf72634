import type { configSchema } from '../../src/config/schema.ts';

type Config = ReturnType<(typeof configSchema)['parse']>;

/** What a fact is read with: a list, or the details that are asked for one by one. */
export type Source = keyof Config['schedules'] & string extends infer Name
  ? Exclude<Name, 'timezone'>
  : never;

/** What the promises are measured by, in ms. */
export interface Bounds {
  /** How long ago a thing may have been so that is shown. */
  readonly windowMs: Readonly<Record<Source, number>>;
  /** How long a vital list may go without being asked for. */
  readonly floorMs: Readonly<Record<'incidents' | 'sonics', number>>;
  readonly requestTimeoutMs: number;
  readonly confirmTimeoutMs: number;
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
}

const minuteMs = 60_000;

/** How rarely a cron expression of the tests may be due, at most. */
const longestCronMs = 24 * 60 * minuteMs;

/**
 * From the end of what may be shown to the broker's having another message: a request's time, its retries, a broker that
 * is slow, and one and a half times the keepalive for a link that is silently dead.
 */
export const slackMs = 150_000;

/** The bounds of a bridge by its configuration. */
export function boundsOf({ schedules, stale_after, cloud, valve, filters }: Config): Bounds {
  const period = (source: Source): number => {
    const schedule = schedules[source];
    return schedule.kind === 'every' ? schedule.everyMs : longestCronMs;
  };
  const window = (source: Source) => Math.max(stale_after, 2 * period(source)) + slackMs;
  return {
    windowMs: {
      incidents: window('incidents'),
      sonics: window('sonics'),
      telemetry: window('telemetry'),
      signals: window('signals'),
      usage: window('usage'),
      pressure_tests: window('pressure_tests'),
      properties: window('properties'),
    },
    floorMs: {
      incidents: Math.max(period('incidents'), minuteMs),
      sonics: Math.max(period('sonics'), minuteMs),
    },
    requestTimeoutMs: cloud.request_timeout,
    confirmTimeoutMs: valve.confirm_timeout,
    selection: filters.properties,
  };
}

/** Where several bridges work side by side, what the most patient of them may do. */
export function widest(one: Bounds, other: Bounds): Bounds {
  const longer = <Name extends string>(left: Record<Name, number>, right: Record<Name, number>) =>
    Object.fromEntries(
      Object.entries<number>(left).map(([name, ms]) => [name, Math.max(ms, right[name as Name])]),
    ) as Record<Name, number>;
  return {
    windowMs: longer(one.windowMs, other.windowMs),
    floorMs: longer(one.floorMs, other.floorMs),
    requestTimeoutMs: Math.max(one.requestTimeoutMs, other.requestTimeoutMs),
    confirmTimeoutMs: Math.max(one.confirmTimeoutMs, other.confirmTimeoutMs),
    selection:
      one.selection.length > 0 && other.selection.length > 0 ? [...one.selection, ...other.selection] : [],
  };
}
