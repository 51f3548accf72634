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

/**
 * Runs a poll by its schedule, one run at a time. After a failed run it tries again sooner than scheduled, with growing
 * waits. `runNow` during a run leads to one more run, because the current one may have read too early.
 */
export class PollSchedule {
  readonly #schedule: Schedule;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cron: ScheduledTask | null;
  #task: ((isRetry: boolean) => Promise<boolean>) | null = null;
  /** When the last run that was no retry began, in ms of the monotonic clock. */
  #startedAt = 0;
  #longestPeriodMs = 0;
  #cancelTimer: () => void = () => {};
  #cancelTick: () => void = () => {};
  /** Whether the next run comes before its time, because the last one failed. */
  #isRetry = false;
  #isStopped = false;
  #failures = 0;
  readonly #run = coalesce(async () => {
    if (this.#isStopped || this.#task === null) return;
    this.#cancelTimer();
    const isRetry = this.#isRetry;
    if (!isRetry) this.#startedAt = this.#clock.monotonic();
    this.#failures = (await this.#task(isRetry)) ? 0 : this.#failures + 1;
    if (!this.#isStopped) this.#setTimer();
  });

  constructor(schedule: Schedule, timezone: string, clock: Clock, random: Random) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.#random = random;
    this.#cron = schedule.kind === 'cron' ? createTask(schedule.expression, () => {}, { timezone }) : null;
  }

  /**
   * Runs the task at once, resolves after that run, and then continues by the schedule. The task resolves to whether it
   * succeeded, and never rejects. Its argument says whether the run is only a retry of a failed one. Such a run delays no
   * other.
   */
  async start(task: (isRetry: boolean) => Promise<boolean>): Promise<void> {
    if (this.#isStopped) return;
    this.#task = task;
    if (this.#cron) this.#tick(this.#cron, this.#clock.now(), this.#clock.monotonic());
    await this.runNow();
  }

  /** Runs as soon as no other run is in progress; resolves when that run has ended. Does nothing before `start`. */
  runNow(): Promise<void> {
    this.#isRetry = false;
    return this.#run();
  }

  /** Starts no more runs; a run in progress ends by itself. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#cancelTick();
    await this.#cron?.destroy();
  }

  /** When the next scheduled run is due, in ms of the monotonic clock. A cron expression counts from now. */
  dueAfter(startedAt: number): number {
    if (this.#schedule.kind === 'every') return startedAt + this.#schedule.everyMs;
    const [next] = this.#cron?.getNextRuns(1) ?? [];
    return this.#clock.monotonic() + Math.max(0, (next?.getTime() ?? 0) - this.#clock.now());
  }

  /** The longest time between two runs so far, in ms: a cron expression only gives the next run. */
  get periodMs(): number {
    const now = this.#clock.monotonic();
    this.#longestPeriodMs = Math.max(this.#longestPeriodMs, this.dueAfter(now) - now);
    return this.#longestPeriodMs;
  }

  #setTimer(): void {
    const never = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    const retryAt = this.#failures > 0 ? now + backoffMs(retryBackoff, this.#failures, this.#random) : never;
    const dueAt = this.#schedule.kind === 'every' ? this.#startedAt + this.#schedule.everyMs : never;
    if (Math.min(retryAt, dueAt) < never)
      this.#runAt(Math.max(now, Math.min(retryAt, dueAt)), retryAt < dueAt);
  }

  #runAt(dueAt: number, isRetry: boolean): void {
    const leftMs = dueAt - this.#clock.monotonic();
    this.#cancelTimer = this.#clock.after(Math.min(leftMs, lookEveryMs), () => {
      if (leftMs > lookEveryMs && this.#clock.monotonic() < dueAt) return this.#runAt(dueAt, isRetry);
      this.#isRetry = isRetry;
      void this.#run();
    });
  }

  /**
   * Compares the clock with the cron expression each second. node-cron's own timers are not used for two reasons. If
   * the wall clock jumps forward, as on a Raspberry Pi at boot, they repeat all runs of the years in between. When
   * clocks are put back in autumn, they skip the second of the two equal hours.
   */
  #tick(cron: ScheduledTask, lastAt: number, lastMonotonicAt: number): void {
    this.#cancelTick = this.#clock.after(1_000 - (this.#clock.now() % 1_000), () => {
      const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()];
      const isClockSet = Math.abs(now - lastAt - (monotonic - lastMonotonicAt)) > maxClockErrorMs;
      const since = isClockSet ? now - 1_000 : Math.max(lastAt, now - maxLateMs);
      if (matchesBetween(cron, since, now)) void this.runNow();
      this.#tick(cron, now, monotonic);
    });
  }
}

/** Whether the cron expression names a second after `since`, up to `until`; both in ms since 1970. */
function matchesBetween(cron: ScheduledTask, since: number, until: number): boolean {
  for (let at = Math.floor(until / 1_000) * 1_000; at > since; at -= 1_000) {
    if (cron.match(new Date(at))) return true;
  }
  return false;
}
