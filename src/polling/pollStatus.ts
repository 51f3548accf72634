import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { ListResult } from '../cloud/crawl.ts';
import { CloudError, type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import { byPoll, type PollName, pollNames, vitalPolls } from '../model/polls.ts';
import type { PollSchedule } from './pollSchedule.ts';

/** Why something, or a part of it, could not be read. */
export interface PollProblem {
  readonly message: string;
  /** The message without its variable parts. The log reports a problem again only if the key changes. */
  readonly key: string;
  /** The pages of a list did not fit together. Reading the list again may be enough. */
  readonly isInconsistent?: true;
}

/** A problem, with its kind: the poll failed, or was only incomplete. */
export interface PollFailure extends PollProblem {
  readonly kind: CloudErrorKind | 'incomplete';
}

/** Describes an error as a problem. */
export function toProblem(error: unknown): PollProblem {
  const message = errorMessage(error);
  return { message, key: error instanceof CloudError ? error.key : message };
}

/** The key of a list that was read without an error, but whose pages do not add up. */
export const incompleteKey = 'incomplete';

/** The problem with a list that was not read completely; null for a complete list. */
export function listProblem({
  problem,
  key,
  isInconsistent,
}: Pick<ListResult<unknown>, 'problem' | 'key' | 'isInconsistent'>): PollProblem | null {
  if (problem === null) return null;
  return { message: problem, key: key ?? incompleteKey, ...(isInconsistent && { isInconsistent }) };
}

/**
 * Merges the problems of a poll; null if there are none. The key is that of the first problem, so that one outage of
 * the cloud is one problem.
 */
export function mergeProblems(problems: readonly (PollProblem | null)[]): PollProblem | null {
  const present = problems.filter((problem) => problem !== null);
  const [first] = present;
  if (!first) return null;
  return {
    message: joinSentences([...new Set(present.map(({ message }) => message))]),
    key: first.key,
    ...(present.every(({ isInconsistent }) => isInconsistent) && { isInconsistent: true }),
  };
}

/** The failure of a poll that has stored a part of its data; null if it has read everything. */
export function incomplete(problem: PollProblem | null): PollFailure | null {
  return problem && { kind: 'incomplete', ...problem };
}

/** How the runs of a poll have ended so far. */
export interface PollStatus {
  /** Wall-clock ms; null before the first success. */
  readonly lastSuccessAt: number | null;
  /** Until when the last success counts as fresh, in ms of the monotonic clock. */
  readonly freshUntil: number;
  /** When the last run that the cloud answered has started, in ms of the monotonic clock. */
  readonly answeredAt: number;
  readonly failure: PollFailure | null;
  readonly consecutiveFailures: number;
}

/** The status of each poll. */
export type StatusByPoll = Readonly<Record<PollName, PollStatus>>;

/** The status before the first run. */
export const neverPolled: PollStatus = {
  lastSuccessAt: null,
  freshUntil: Number.NEGATIVE_INFINITY,
  answeredAt: Number.NEGATIVE_INFINITY,
  failure: null,
  consecutiveFailures: 0,
};

/** Whether the poll has run, successfully or not. */
export function wasPolled({ lastSuccessAt, failure }: PollStatus): boolean {
  return lastSuccessAt !== null || failure !== null;
}

/**
 * The poll that decides whether the cloud's data is fresh: sonics, or incidents if the cloud refuses the list of
 * sonics; null if it refuses both.
 */
function decidingPoll(records: StatusByPoll): PollName | null {
  return vitalPolls.find((poll) => !isPermanent(records[poll].failure)) ?? null;
}

/** Whether the poll that decides about freshness has run. True if no poll decides. */
export function isJudged(records: StatusByPoll): boolean {
  const deciding = decidingPoll(records);
  return deciding === null || wasPolled(records[deciding]);
}

/** Until when the cloud's data as a whole counts as fresh, in ms of the monotonic clock. */
export function cloudFreshUntil(records: StatusByPoll): number {
  const deciding = decidingPoll(records);
  return deciding === null ? Number.NEGATIVE_INFINITY : records[deciding].freshUntil;
}

/**
 * Why the poll that decides about freshness reads nothing; null if it has not failed, for example because its requests
 * still wait.
 */
export function staleCause(records: StatusByPoll): string | null {
  const { failure } = records[decidingPoll(records) ?? 'sonics'];
  return failure === null || failure.kind === 'incomplete' ? null : failure.message;
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
  const isAnswering = failure === null || failure.kind === 'incomplete';
  return isAnswering ? answeredAt : Number.NEGATIVE_INFINITY;
}

/** How much of a poll's first run is done. */
export interface PollProgress {
  readonly poll: PollName;
  readonly read: number;
  /** Null if it is not known yet. */
  readonly total: number | null;
}

/** How many runs of a poll have read everything, a part, or nothing. */
interface PollCounts {
  readonly success: number;
  readonly incomplete: number;
  readonly failure: number;
}

/**
 * If a poll neither ends nor reads another page for this long, in ms, it hangs, because each request has a time limit.
 */
const maxSilenceMs = 600_000;

/**
 * How long a vital list may wait for its turn, however often it is polled, in ms. In the next constant: how much later
 * than the request timeout its answer may come.
 */
const maxListWaitMs = 60_000;
const overdueMarginMs = 5_000;

/** How all polls went: when they last succeeded, why they failed, and how long their data counts. */
export class PollStatuses {
  readonly #schedules: Readonly<Record<PollName, PollSchedule>>;
  readonly #staleAfterMs: number;
  readonly #requestTimeoutMs: number;
  readonly #clock: Clock;
  /**
   * Whether another bridge uses the same topics by mistake. Its `bridge/cloud` may say that the data is fresh, which
   * also makes the data of this bridge available.
   */
  isSharingTopics = false;
  readonly #records = byPoll(() => neverPolled);
  /** When each run in progress began, in ms of the monotonic clock. */
  readonly #running = new Map<PollName, number>();
  /** The polls whose last run was too slow. A run that takes a little longer than its interval changes nothing. */
  readonly #late = new Set<PollName>();
  readonly #counts = new Map<PollName, PollCounts>();
  readonly #pending = new Map<PollName, PollProgress>(
    pollNames.map((poll) => [poll, { poll, read: 0, total: null }]),
  );
  /** When a poll last began, read a page or ended, in ms of the monotonic clock. */
  readonly #heardAt = new Map<PollName, number>();
  /** When a poll last read a page or ended without failing, in ms of the monotonic clock. */
  readonly #readAt = new Map<PollName, number>();
  /**
   * When the last complete run of a poll began; if there was none, when its first run ended. In ms of the monotonic
   * clock.
   */
  readonly #certainAt = new Map<PollName, number>();
  /**
   * Polls whose last pages did not fit together, and from when on this counts as a failure, in ms of the monotonic
   * clock.
   */
  readonly #inconsistent = new Map<PollName, { readonly failure: PollFailure; readonly shownAt: number }>();

  constructor(
    schedules: Readonly<Record<PollName, PollSchedule>>,
    { staleAfterMs, requestTimeoutMs }: { readonly staleAfterMs: number; readonly requestTimeoutMs: number },
    clock: Clock,
  ) {
    this.#schedules = schedules;
    this.#staleAfterMs = staleAfterMs;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#clock = clock;
    this.#hear('properties');
  }

  /** The status of each poll. */
  get records(): StatusByPoll {
    for (const [poll, { failure, shownAt }] of this.#inconsistent) {
      // The run in progress may find that the pages fit together. In a large account it takes long.
      if ((this.#running.get(poll) ?? this.#clock.monotonic()) < shownAt) continue;
      this.#inconsistent.delete(poll);
      this.#records[poll] = { ...this.#records[poll], failure, consecutiveFailures: 1 };
    }
    return this.#records;
  }

  /** The progress of the polls that have not finished their first run. */
  get progress(): readonly PollProgress[] {
    return [...this.#pending.values()];
  }

  /** How many runs of a poll have ended in each way. */
  counts(poll: PollName): PollCounts {
    return this.#counts.get(poll) ?? { success: 0, incomplete: 0, failure: 0 };
  }

  /**
   * How old the data of a poll may be, in ms. It is at least two periods, so that one failed run never makes data
   * stale.
   */
  maxAgeMs(poll: PollName): number {
    return Math.max(this.#staleAfterMs, 2 * this.#schedules[poll].periodMs);
  }

  /**
   * Records of the poll that were read before the returned time are stale at `at`, in ms of the monotonic clock.
   * Records do not age during a run of their poll, which takes long in a large account: the run is about to read them
   * again.
   */
  staleBefore(poll: PollName, at: number): number {
    const deciding = decidingPoll(this.#records);
    const periodMs = deciding === null ? 0 : this.#schedules[deciding].periodMs;
    const agesUntil = this.isSharingTopics ? at : cloudAnsweredAt(this.#records) + periodMs;
    return Math.min(at, this.#running.get(poll) ?? at, agesUntil) - this.maxAgeMs(poll);
  }

  /**
   * Whether a vital poll is due but neither succeeds nor fails. Its first run may wait for the properties, which a slow
   * cloud may take hours to answer.
   */
  get areRunsMissing(): boolean {
    const now = this.#clock.monotonic();
    return vitalPolls.some((poll) => {
      const silentMs = now - (this.#heardAt.get(poll) ?? this.#heardAt.get('properties') ?? now);
      return silentMs > this.#schedules[poll].periodMs + maxSilenceMs;
    });
  }

  /**
   * The polls that have read nothing for too long. A vital list may take a minute or, if that is longer, the time of
   * its schedule. Measurements may take until they are too old. The first run may also wait for the properties.
   */
  get overdue(): PollName[] {
    const now = this.#clock.monotonic();
    return [...vitalPolls, 'telemetry' as const].filter((poll) => {
      if (isPermanent(this.#records[poll].failure)) return false;
      const readAt = this.#readAt.get(poll) ?? this.#heardAt.get('properties') ?? now;
      const dueAt = Math.max(this.#schedules[poll].dueAfter(readAt), readAt + maxListWaitMs);
      const waitMs = poll === 'telemetry' ? this.maxAgeMs(poll) : this.#requestTimeoutMs + overdueMarginMs;
      return now > dueAt + waitMs;
    });
  }

  /** The time between two runs of a poll, in ms. */
  intervalMs(poll: PollName): number {
    return this.#schedules[poll].intervalMs;
  }

  /** Whether a run takes longer than its schedule allows, or the last one did. */
  get isLate(): boolean {
    const now = this.#clock.monotonic();
    const isSlow = ([poll, startedAt]: readonly [PollName, number]) => this.#isSlow(poll, now - startedAt);
    return this.#late.size > 0 || [...this.#running].some(isSlow);
  }

  #isSlow(poll: PollName, tookMs: number): boolean {
    return tookMs > this.intervalMs(poll) + this.#requestTimeoutMs;
  }

  /** Records how much a run has read so far. */
  recordProgress(poll: PollName, read: number, total: number | null): void {
    this.#hear(poll);
    this.#readAt.set(poll, this.#clock.monotonic());
    if (this.#pending.has(poll)) this.#pending.set(poll, { poll, read, total });
  }

  /** Records that a run begins. */
  begin(poll: PollName): void {
    this.#running.set(poll, this.#clock.monotonic());
    this.#hear(poll);
  }

  /** Whether the cloud answers. False while a poll that decides about this is in progress. */
  get isCloudAnswering(): boolean {
    const isDeciding = vitalPolls.some((poll) => this.#running.has(poll));
    return !isDeciding && cloudAnsweredAt(this.#records) > Number.NEGATIVE_INFINITY;
  }

  /**
   * Records the end of a run that began at `startedAt`, in ms of the monotonic clock. `failure` is null if it read
   * everything.
   */
  end(poll: PollName, startedAt: number, failure: PollFailure | null): void {
    this.#running.delete(poll);
    const tookMs = this.#clock.monotonic() - startedAt;
    if (this.#isSlow(poll, tookMs)) this.#late.add(poll);
    else if (tookMs <= this.intervalMs(poll)) this.#late.delete(poll);
    this.#hear(poll);
    const before = this.records[poll];
    const isRead = failure === null || failure.kind === 'incomplete';
    const shownAt = this.#failedFrom(poll, startedAt, failure);
    const isChanging = failure !== null && shownAt > this.#clock.monotonic();
    const shown = isChanging ? null : failure;
    if (isChanging) this.#inconsistent.set(poll, { failure, shownAt });
    else this.#inconsistent.delete(poll);
    if (isRead) this.#readAt.set(poll, this.#clock.monotonic());
    if (isRead && !isChanging) this.#pending.delete(poll);
    this.#records[poll] = {
      lastSuccessAt: isRead ? this.#clock.now() : before.lastSuccessAt,
      freshUntil: isRead ? this.#freshnessLimit(poll, startedAt) : before.freshUntil,
      answeredAt: isRead ? startedAt : before.answeredAt,
      failure: shown,
      consecutiveFailures: shown === null ? 0 : before.consecutiveFailures + 1,
    };
    const outcome = failure === null ? 'success' : isRead ? 'incomplete' : 'failure';
    const counts = this.counts(poll);
    this.#counts.set(poll, { ...counts, [outcome]: counts[outcome] + 1 });
  }

  /**
   * From when on a failure counts, in ms of the monotonic clock. If a list changes while it is read, the account is
   * busy, and the list is read again soon. This becomes a failure when the last complete run is too long ago, or at
   * once if the list was incomplete before.
   */
  #failedFrom(poll: PollName, startedAt: number, failure: PollFailure | null): number {
    const lastAt = this.#certainAt.get(poll) ?? this.#clock.monotonic();
    const certainAt = failure === null ? startedAt : lastAt;
    this.#certainAt.set(poll, certainAt);
    const wasIncomplete = this.#records[poll].failure?.kind === 'incomplete';
    return failure?.isInconsistent && !wasIncomplete ? certainAt + this.maxAgeMs(poll) : startedAt;
  }

  #hear(poll: PollName): void {
    this.#heardAt.set(poll, this.#clock.monotonic());
  }

  /**
   * Until when data is fresh, in ms of the monotonic clock. It is never earlier than the end of the next scheduled run.
   */
  #freshnessLimit(poll: PollName, startedAt: number): number {
    const renewedAt = this.#schedules[poll].dueAfter(startedAt) + this.#requestTimeoutMs;
    return Math.max(this.#clock.monotonic() + this.#staleAfterMs, renewedAt);
  }
}
