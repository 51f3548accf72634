import { createTask, type ScheduledTask } from 'node-cron';
import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Schedule } from '../base/schedule.ts';

const retryBackoff: Backoff = { firstMs: 5_000, longestMs: 300_000 };

/** The longest timer, in ms. Timers stop while the machine sleeps, and a run that became due should begin soon after. */
const lookEveryMs = 10_000;

/** If the process was held up, seconds of a cron expression that passed longer ago than this are skipped, in ms. */
const maxLateMs = 5_000;

/** The wall clock was set if it differs by more than this, in ms, from the time that has passed. */
const maxClockErrorMs = 1_500;

export type PollSchedule = ReturnType<typeof pollSchedule>;

/**
 * Runs a poll by its schedule, one run at a time. After a failed run it tries again sooner than scheduled, with growing
 * waits. `runNow` during a run leads to one more run, because the current one may have read too early.
 */
export function pollSchedule(schedule: Schedule, timezone: string, clock: Clock, random: Random) {
  const cron = schedule.kind === 'cron' ? createTask(schedule.expression, () => {}, { timezone }) : null;
  let task: ((isRetry: boolean) => Promise<boolean>) | null = null;
  /** When the last run that was no retry began, in ms of the monotonic clock. */
  let startedAt = 0;
  let longestPeriodMs = 0;
  let cancelTimer = () => {};
  let cancelTick = () => {};
  /** Whether the next run comes before its time, because the last one failed. */
  let isNextRetry = false;
  let isStopped = false;
  let failures = 0;

  const run = coalesce(async () => {
    if (isStopped || task === null) return;
    cancelTimer();
    const isRetry = isNextRetry;
    if (!isRetry) startedAt = clock.monotonic();
    failures = (await task(isRetry)) ? 0 : failures + 1;
    if (!isStopped) setTimer();
  });

  /**
   * Runs the task at once, resolves after that run, and then continues by the schedule. The task resolves to whether it
   * succeeded, and never rejects. Its argument says whether the run is only a retry of a failed one. Such a run delays no
   * other.
   */
  async function start(newTask: (isRetry: boolean) => Promise<boolean>): Promise<void> {
    if (isStopped) return;
    task = newTask;
    if (cron) tick(cron, clock.now(), clock.monotonic());
    await runNow();
  }

  /** Runs as soon as no other run is in progress; resolves when that run has ended. Does nothing before `start`. */
  function runNow(): Promise<void> {
    isNextRetry = false;
    return run();
  }

  /** Starts no more runs; a run in progress ends by itself. */
  async function stop(): Promise<void> {
    isStopped = true;
    cancelTimer();
    cancelTick();
    await cron?.destroy();
  }

  /** When the next scheduled run is due, in ms of the monotonic clock. A cron expression counts from now. */
  function dueAfter(at: number): number {
    if (schedule.kind === 'every') return at + schedule.everyMs;
    const [next] = cron?.getNextRuns(1) ?? [];
    return clock.monotonic() + Math.max(0, (next?.getTime() ?? 0) - clock.now());
  }

  function setTimer(): void {
    const never = Number.POSITIVE_INFINITY;
    const now = clock.monotonic();
    const retryAt = failures > 0 ? now + backoffMs(retryBackoff, failures, random) : never;
    const dueAt = schedule.kind === 'every' ? startedAt + schedule.everyMs : never;
    if (Math.min(retryAt, dueAt) < never) runAt(Math.max(now, Math.min(retryAt, dueAt)), retryAt < dueAt);
  }

  function runAt(dueAt: number, isRetry: boolean): void {
    const leftMs = dueAt - clock.monotonic();
    cancelTimer = clock.after(Math.min(leftMs, lookEveryMs), () => {
      if (leftMs > lookEveryMs && clock.monotonic() < dueAt) return runAt(dueAt, isRetry);
      isNextRetry = isRetry;
      void run();
    });
  }

  /**
   * Compares the clock with the cron expression each second. node-cron's own timers are not used for two reasons. If
   * the wall clock jumps forward, as on a Raspberry Pi at boot, they repeat all runs of the years in between. When
   * clocks are put back in autumn, they skip the second of the two equal hours.
   */
  function tick(cron: ScheduledTask, lastAt: number, lastMonotonicAt: number): void {
    cancelTick = clock.after(1_000 - (clock.now() % 1_000), () => {
      const [now, monotonic] = [clock.now(), clock.monotonic()];
      const isClockSet = Math.abs(now - lastAt - (monotonic - lastMonotonicAt)) > maxClockErrorMs;
      const since = isClockSet ? now - 1_000 : Math.max(lastAt, now - maxLateMs);
      if (matchesBetween(cron, since, now)) void runNow();
      tick(cron, now, monotonic);
    });
  }

  return {
    start,
    runNow,
    stop,
    dueAfter,
    /** The longest time between two runs so far, in ms: a cron expression only gives the next run. */
    get periodMs(): number {
      const now = clock.monotonic();
      longestPeriodMs = Math.max(longestPeriodMs, dueAfter(now) - now);
      return longestPeriodMs;
    },
  };
}

/** Whether the cron expression names a second after `since`, up to `until`; both in ms since 1970. */
function matchesBetween(cron: ScheduledTask, since: number, until: number): boolean {
  for (let at = Math.floor(until / 1_000) * 1_000; at > since; at -= 1_000) {
    if (cron.match(new Date(at))) return true;
  }
  return false;
}
