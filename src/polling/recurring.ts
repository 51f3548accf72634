import { createTask, parse, type ScheduledTask } from 'node-cron';
import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Schedule } from '../base/schedule.ts';

const retry: Backoff = { firstMs: 5_000, longestMs: 300_000 };
const clockJumpMs = 1_500;

/** What a cron expression has named longer ago, while the process was held up, is not made up for. */
const mostLateMs = 5_000;

/** By so much clocks are put back. */
const putBackMs = 3_600_000;

/**
 * Runs a task by its schedule, one run at a time. After a failure it runs again sooner than scheduled, with growing
 * waits. Asking for an early run coalesces; asked during a run, it runs once more, as that run may have read too soon.
 */
export class Recurring {
  readonly #task: () => Promise<boolean>;
  readonly #schedule: Schedule;
  readonly #timezone: string;
  readonly #clock: Clock;
  readonly #random: Random;
  #startedAt = 0;
  #cron: ScheduledTask | null = null;
  /** What the cron expression names next, seen from any time since `from`; both in ms since 1970. */
  #next = { from: 0, at: 0 };
  #cancelTimer: () => void = () => {};
  #cancelClockCheck: () => void = () => {};
  #isRunning = false;
  #isWanted = false;
  #isStopped = false;
  #failures = 0;
  #idle: Promise<void> = Promise.resolve();

  /** The task says whether it went well, and never rejects. */
  constructor(
    task: () => Promise<boolean>,
    schedule: Schedule,
    timezone: string,
    clock: Clock,
    random: Random,
  ) {
    this.#task = task;
    this.#schedule = schedule;
    this.#timezone = timezone;
    this.#clock = clock;
    this.#random = random;
  }

  /** Runs at once, resolving after that first run, and from then on by the schedule. */
  async start(): Promise<void> {
    if (this.#isStopped) return;
    if (this.#schedule.kind === 'cron') {
      this.#cron = createTask(this.#schedule.expression, () => {}, { timezone: this.#timezone });
      this.#watchClock(this.#clock.now(), this.#clock.monotonic());
    }
    await this.run();
  }

  /** Runs as soon as it can, resolving after that. */
  async run(): Promise<void> {
    this.request();
    await this.#idle;
  }

  /** Runs as soon as it can. */
  request(): void {
    if (this.#isStopped) return;
    this.#isWanted = true;
    if (!this.#isRunning) this.#idle = this.#run();
  }

  /** Runs no more; a run that is under way ends by itself. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#cancelClockCheck();
    await this.#cron?.destroy();
  }

  /** Until when it is expected to have run again, in ms of the monotonic clock, after a run begun at that time. */
  dueAfter(startedAt: number): number {
    if (this.#schedule.kind === 'every') return startedAt + this.#schedule.everyMs;
    const now = this.#clock.now();
    return startedAt + Math.max(0, this.#nextNamed(now) - now);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    let isGood = true;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      this.#cancelTimer();
      this.#startedAt = this.#clock.monotonic();
      isGood = await this.#task();
    }
    this.#isRunning = false;
    this.#failures = isGood ? 0 : this.#failures + 1;
    if (!this.#isStopped) this.#arm(isGood);
  }

  #arm(isGood: boolean): void {
    const retryMs = isGood ? Number.POSITIVE_INFINITY : backoffMs(retry, this.#failures, this.#random);
    const scheduledMs =
      this.#schedule.kind === 'every'
        ? this.#startedAt + this.#schedule.everyMs - this.#clock.monotonic()
        : Number.POSITIVE_INFINITY;
    const waitMs = Math.max(0, Math.min(scheduledMs, retryMs));
    if (waitMs < Number.POSITIVE_INFINITY) {
      this.#cancelTimer = this.#clock.after(waitMs, () => this.request());
    }
  }

  /**
   * Looks at the clock each second, and leaves the timers of node-cron alone: when a wall clock jumps, as that of a
   * Raspberry Pi does at boot, they would go through all the runs of years, for hours; and of the hour that comes twice
   * when a clock is put back they know only one. Told is when it was looked at last, by either clock.
   */
  #watchClock(lookedAt: number, lookedAtMonotonic: number): void {
    const toNextMs = 1_000 - (this.#clock.now() % 1_000);
    this.#cancelClockCheck = this.#clock.after(toNextMs, () => {
      const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()];
      const passedMs = monotonic - lookedAtMonotonic;
      const hasJumped = Math.abs(now - lookedAt - passedMs) > clockJumpMs;
      const since = hasJumped ? now - passedMs : lookedAt;
      if (this.#isNamed(Math.max(since, now - mostLateMs), now)) this.request();
      this.#watchClock(hasJumped ? now : Math.max(lookedAt, now), monotonic);
    });
  }

  /** The next second that the cron expression names after that one; both in ms since 1970. */
  #nextNamed(now: number): number {
    if (now < this.#next.from || now >= this.#next.at) this.#next = { from: now, at: this.#findNext(now) };
    return this.#next.at;
  }

  /** Of an hour that comes twice node-cron knows only one, and passes over what is to come in the other. */
  #findNext(now: number): number {
    const cron = this.#cron;
    const [known] = cron?.getNextRuns(1) ?? [];
    if (!cron || !known) return now;
    const next = known.getTime();
    const { second: seconds } = parse(cron.getPattern());
    for (let minute = now - (now % 60_000); minute < Math.min(next, now + putBackMs); minute += 60_000) {
      const named = seconds.map((second) => minute + second * 1_000);
      const first = named.find((at) => at > now && cron.match(new Date(at)));
      if (first !== undefined) return first;
    }
    const before = next - putBackMs;
    return before > now && cron.match(new Date(before)) ? before : next;
  }

  /** Whether the cron expression names a second after the one time, up to the other; both in ms since 1970. */
  #isNamed(since: number, until: number): boolean {
    for (let at = Math.floor(until / 1_000) * 1_000; at > since; at -= 1_000) {
      if (this.#cron?.match(new Date(at))) return true;
    }
    return false;
  }
}
