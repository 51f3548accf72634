import type { Clock } from '../base/clock.ts';
import { minuteMs } from '../base/duration.ts';
import { isPermanent } from '../cloud/errors.ts';
import { byPoll, type PollName, pollNames, vitalPolls } from '../model/polls.ts';
import { isAnswered, type PollFailure } from './pollProblem.ts';
import type { PollSchedule } from './pollSchedule.ts';

/** All that is remembered of a poll. Times are ms of the monotonic clock, unless said otherwise. */
export interface PollStatus {
  /** When the run in progress began; null between two runs. */
  readonly runningSince: number | null;
  /** How much the run in progress has read so far. */
  readonly read: number;
  /** Of how much; null if it is not known yet. */
  readonly total: number | null;
  /** When it last began, read a page or ended; null before the first run. */
  readonly heardAt: number | null;
  /** When it last read a page, or ended with an answer; null before that. */
  readonly readAt: number | null;
  /** Whether its data is still to be read for the first time. */
  readonly isUnread: boolean;
  /** When the last run began that the cloud answered, at least in part. */
  readonly answeredAt: number;
  /** When that run ended, in ms since 1970; null before it. */
  readonly lastSuccessAt: number | null;
  /** Until when what it read counts as fresh. */
  readonly freshUntil: number;
  /** When the next run after it is due; null before it. */
  readonly dueAt: number | null;
  /** When the last run began that read everything; if there was none, when the first run ended. */
  readonly wholeAt: number | null;
  /** Why the last run has failed; null if it has not. */
  readonly failure: PollFailure | null;
  readonly consecutiveFailures: number;
  /** How many runs in a row have begun later than scheduled, although the one before each had read everything. */
  readonly lateStarts: number;
  /** The longest time between the starts of these runs, in ms. */
  readonly lateEveryMs: number;
  /** How many runs have read everything, a part, or nothing. */
  readonly counts: Readonly<Record<'success' | 'incomplete' | 'failure', number>>;
}

export type StatusByPoll = Readonly<Record<PollName, PollStatus>>;

/** The times that decide, in ms. */
export interface PollTimes {
  readonly schedule: Pick<PollSchedule, 'dueAfter' | 'periodMs'>;
  readonly staleAfterMs: number;
  readonly requestTimeoutMs: number;
}

/** How much of a poll's first run is done. */
export type PollProgress = Pick<PollStatus, 'read' | 'total'> & { readonly poll: PollName };

/** The answer to a vital list may come this much later than the request timeout, in ms, before it is overdue. */
const overdueMarginMs = 5_000;

export const neverPolled: PollStatus = {
  ...{ runningSince: null, read: 0, total: null, heardAt: null, readAt: null, isUnread: true },
  ...{ answeredAt: Number.NEGATIVE_INFINITY, lastSuccessAt: null, freshUntil: Number.NEGATIVE_INFINITY },
  ...{ dueAt: null, wholeAt: null, failure: null, consecutiveFailures: 0 },
  ...{ lateStarts: 0, lateEveryMs: 0 },
  counts: { success: 0, incomplete: 0, failure: 0 },
};

/** So many late starts in a row are no coincidence, such as a computer that slept. */
const maxLateStarts = 3;

export function begun(
  status: PollStatus,
  { schedule, requestTimeoutMs }: PollTimes,
  now: number,
): PollStatus {
  const { answeredAt, failure, lateStarts, lateEveryMs } = status;
  const everyMs = now - answeredAt;
  const isLate =
    failure === null &&
    answeredAt > Number.NEGATIVE_INFINITY &&
    everyMs > schedule.periodMs + requestTimeoutMs;
  const late = isLate
    ? { lateStarts: lateStarts + 1, lateEveryMs: Math.max(lateEveryMs, everyMs) }
    : { lateStarts: 0, lateEveryMs: 0 };
  return { ...status, ...late, runningSince: now, heardAt: now, read: 0, total: null };
}

/** The status after the end of a run. `failure` is null if it read everything; `now` is monotonic, `at` is not. */
export function ended(
  status: PollStatus,
  failure: PollFailure | null,
  times: PollTimes,
  now: number,
  at: number,
): PollStatus {
  const { schedule, staleAfterMs, requestTimeoutMs } = times;
  const startedAt = status.runningSince ?? now;
  const isMoving = isOnlyMoving(status, failure, times, now);
  const shown = isMoving ? null : failure;
  const outcome = failure === null ? 'success' : isAnswered(failure) ? 'incomplete' : 'failure';
  return {
    ...status,
    runningSince: null,
    heardAt: now,
    ...(isAnswered(failure) && {
      readAt: now,
      isUnread: status.isUnread && isMoving,
      answeredAt: startedAt,
      lastSuccessAt: at,
      // It is never earlier than the end of the next scheduled run.
      freshUntil: Math.max(now + staleAfterMs, schedule.dueAfter(startedAt) + requestTimeoutMs),
      dueAt: schedule.dueAfter(now),
    }),
    wholeAt: failure === null ? startedAt : (status.wholeAt ?? now),
    failure: shown,
    consecutiveFailures: shown === null ? 0 : status.consecutiveFailures + 1,
    counts: { ...status.counts, [outcome]: status.counts[outcome] + 1 },
  };
}

/**
 * Whether a list only changed while it was read: the account is busy, and the list is read again soon. That is a failure
 * once the last complete run is too long ago, and at once if the list was incomplete before.
 */
function isOnlyMoving(
  { wholeAt, failure: before }: PollStatus,
  failure: PollFailure | null,
  times: PollTimes,
  now: number,
): boolean {
  const isInTime = now < (wholeAt ?? now) + maxAgeMs(times);
  return failure?.isInconsistent === true && before?.kind !== 'incomplete' && isInTime;
}

/** How old the data of a poll may be, in ms. It is at least two periods, so that one failed run makes nothing stale. */
function maxAgeMs({ schedule, staleAfterMs }: PollTimes): number {
  return Math.max(staleAfterMs, 2 * schedule.periodMs);
}

/** How often a poll runs that again and again begins later than scheduled, in ms; null if it keeps its schedule. */
export function lateEveryMs({ lateStarts, lateEveryMs }: PollStatus): number | null {
  return lateStarts < maxLateStarts ? null : lateEveryMs;
}

/** Whether the poll has run, successfully or not. */
export function wasPolled({ lastSuccessAt, failure }: PollStatus): boolean {
  return lastSuccessAt !== null || failure !== null;
}

/** Sonics, or incidents if the cloud refuses the list of sonics; null if it refuses both. */
export function decidingPoll(records: StatusByPoll): PollName | null {
  return vitalPolls.find((poll) => !isPermanent(records[poll].failure)) ?? null;
}

/** Until when the cloud's data as a whole counts as fresh, in ms of the monotonic clock. */
export function cloudFreshUntil(records: StatusByPoll): number {
  const deciding = decidingPoll(records);
  return deciding === null ? Number.NEGATIVE_INFINITY : records[deciding].freshUntil;
}

/**
 * When the run began in which the cloud last answered the poll that decides about freshness, in ms of the monotonic
 * clock. Minus infinity if the cloud does not answer it now, infinity if no poll decides. Records age until that poll
 * is due again. They do not age while the cloud is unreachable: then everything is unavailable, and no value changes.
 */
export function cloudAnsweredAt(records: StatusByPoll): number {
  const deciding = decidingPoll(records);
  if (deciding === null) return Number.POSITIVE_INFINITY;
  const { failure, answeredAt } = records[deciding];
  return isAnswered(failure) ? answeredAt : Number.NEGATIVE_INFINITY;
}

/** The statuses of all polls, and what follows from them now. */
export class PollStatuses {
  readonly #records = byPoll(() => neverPolled);
  readonly #times: Readonly<Record<PollName, PollTimes>>;
  readonly #clock: Clock;
  readonly #createdAt: number;

  constructor(
    schedules: Readonly<Record<PollName, PollTimes['schedule']>>,
    { staleAfterMs, requestTimeoutMs }: Omit<PollTimes, 'schedule'>,
    clock: Clock,
  ) {
    this.#times = byPoll((poll) => ({ schedule: schedules[poll], staleAfterMs, requestTimeoutMs }));
    this.#clock = clock;
    this.#createdAt = clock.monotonic();
  }

  get records(): StatusByPoll {
    return this.#records;
  }

  begin(poll: PollName): void {
    this.#records[poll] = begun(this.#records[poll], this.#times[poll], this.#clock.monotonic());
  }

  /** Records how much a run has read so far. */
  recordProgress(poll: PollName, read: number, total: number | null): void {
    const now = this.#clock.monotonic();
    this.#records[poll] = { ...this.#records[poll], heardAt: now, readAt: now, read, total };
  }

  /** Records the end of a run. `failure` is null if it read everything. */
  end(poll: PollName, failure: PollFailure | null): void {
    const [now, at] = [this.#clock.monotonic(), this.#clock.now()];
    this.#records[poll] = ended(this.#records[poll], failure, this.#times[poll], now, at);
  }

  /** The progress of the polls whose data is still to be read for the first time. */
  get progress(): readonly PollProgress[] {
    return pollNames
      .filter((poll) => this.#records[poll].isUnread)
      .map((poll) => ({ poll, read: this.#records[poll].read, total: this.#records[poll].total }));
  }

  /** How old the data of a poll may be, in ms. */
  maxAgeMs(poll: PollName): number {
    return maxAgeMs(this.#times[poll]);
  }

  /**
   * Records of the poll that were read before the returned time are stale at `at`, in ms of the monotonic clock.
   * Records do not age during a run of their poll, which takes long in a large account: the run is about to read them
   * again.
   */
  staleBefore(poll: PollName, at: number): number {
    const periodMs = this.#times[decidingPoll(this.#records) ?? poll].schedule.periodMs;
    const agesUntil = cloudAnsweredAt(this.#records) + periodMs;
    return Math.min(at, this.#records[poll].runningSince ?? at, agesUntil) - this.maxAgeMs(poll);
  }

  /** Whether the cloud answers. False while the poll that decides about this is in progress. */
  get isCloudAnswering(): boolean {
    const deciding = decidingPoll(this.#records);
    const isRunning = deciding !== null && this.#records[deciding].runningSince !== null;
    return !isRunning && cloudAnsweredAt(this.#records) > Number.NEGATIVE_INFINITY;
  }

  /**
   * The polls that have read nothing for too long. A vital list may take a minute or, if that is longer, the time of
   * its schedule. Measurements may take until they are too old. A poll that fails may do so while its data is fresh.
   */
  get overdue(): PollName[] {
    return [...vitalPolls, 'telemetry' as const].filter((poll) => {
      const { failure, dueAt, readAt, freshUntil } = this.#records[poll];
      if (poll === 'telemetry' && isPermanent(failure)) return false;
      if (failure !== null && this.#clock.monotonic() > freshUntil) return true;
      const { schedule, requestTimeoutMs } = this.#times[poll];
      const since = this.#listableAt;
      // A vital list may wait a minute for its turn, however often it is polled.
      const limitAt = Math.max(dueAt ?? since + schedule.periodMs, (readAt ?? since) + minuteMs);
      const marginMs = poll === 'telemetry' ? this.maxAgeMs(poll) : requestTimeoutMs + overdueMarginMs;
      return this.#clock.monotonic() > limitAt + marginMs;
    });
  }

  /** When the first list could be read: it may wait for the properties, which may take hours. */
  get #listableAt(): number {
    return this.#records.properties.heardAt ?? this.#createdAt;
  }
}
