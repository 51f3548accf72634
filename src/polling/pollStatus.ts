import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { ListResult } from '../cloud/crawl.ts';
import { CloudError, type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import { byPoll, type PollName, pollNames, vitalPolls } from '../model/polls.ts';
import type { PollSchedule } from './pollSchedule.ts';

/** Why something could not be read, or not all of it. */
export interface PollProblem {
  readonly message: string;
  /** The message without its variable parts: the log reports a problem again only if this changes. */
  readonly key: string;
  /** Reading again may be all that it takes: the pages of a list did not fit together. */
  readonly isInconsistent?: true;
}

/** A problem, and whether the poll failed or was only incomplete. */
export interface PollFailure extends PollProblem {
  readonly kind: CloudErrorKind | 'incomplete';
}

/** The problem that an error means. */
export function toProblem(error: unknown): PollProblem {
  const message = errorMessage(error);
  return { message, key: error instanceof CloudError ? error.key : message };
}

/** The key of a list that was read without an error, and whose pages do not add up. */
export const incompleteKey = 'incomplete';

/** The problem with a list that was not read completely; null for a complete one. */
export function listProblem({
  problem,
  key,
  isInconsistent,
}: Pick<ListResult<unknown>, 'problem' | 'key' | 'isInconsistent'>): PollProblem | null {
  if (problem === null) return null;
  return { message: problem, key: key ?? incompleteKey, ...(isInconsistent && { isInconsistent }) };
}

/** Several problems of a poll as one; null for none. The first gives the key, so that one outage of the cloud is one problem. */
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

/** A poll that stored what it could read; null if it read everything. */
export function incomplete(problem: PollProblem | null): PollFailure | null {
  return problem && { kind: 'incomplete', ...problem };
}

/** How the runs of a poll went. */
export interface PollStatus {
  /** Wall clock, ms; null before the first. */
  readonly lastSuccessAt: number | null;
  /** Monotonic clock, ms; until then the last success counts as fresh. */
  readonly freshUntil: number;
  /** Monotonic clock, ms; when the last run started that the cloud answered. */
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

/** The poll that decides whether the cloud's data is fresh: sonics, or incidents if the cloud refuses to list sonics. */
function decidingPoll(records: StatusByPoll): PollName | null {
  return vitalPolls.find((poll) => !isPermanent(records[poll].failure)) ?? null;
}

/** Whether the poll that decides about freshness has run. */
export function isJudged(records: StatusByPoll): boolean {
  const deciding = decidingPoll(records);
  return deciding === null || wasPolled(records[deciding]);
}

/** Until when the cloud's data as a whole counts as fresh, in ms of the monotonic clock. */
export function cloudFreshUntil(records: StatusByPoll): number {
  const deciding = decidingPoll(records);
  return deciding === null ? Number.NEGATIVE_INFINITY : records[deciding].freshUntil;
}

/** Why the poll that decides about freshness reads nothing; null if it has not failed, for example while its requests wait. */
export function staleCause(records: StatusByPoll): string | null {
  const { failure } = records[decidingPoll(records) ?? 'sonics'];
  return failure === null || failure.kind === 'incomplete' ? null : failure.message;
}

/**
 * When the cloud answered the poll that decides about freshness, in ms of the monotonic clock; minus infinity while it
 * does not answer, infinity where no poll decides. Records age until that poll is due again: while the cloud is
 * unreachable everything is unavailable, and no value changes.
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
  /** Null while it is unknown. */
  readonly total: number | null;
}

/** How many runs of a poll read everything, a part, or nothing. */
interface PollCounts {
  readonly success: number;
  readonly incomplete: number;
  readonly failure: number;
}

/** A poll that neither ends nor reads another page for so long, in ms, hangs: each request has its time limit. */
const maxSilenceMs = 600_000;

/** How long a vital list may wait, however often it is polled, and how much later its answer may come, in ms. */
const maxListWaitMs = 60_000;
const overdueMarginMs = 5_000;

/** How all polls went: when they last succeeded, why they failed, and how long their data counts. */
export class PollStatuses {
  readonly #schedules: Readonly<Record<PollName, PollSchedule>>;
  readonly #staleAfterMs: number;
  readonly #requestTimeoutMs: number;
  readonly #clock: Clock;
  /** Whether another bridge uses the same topics by mistake: its `bridge/cloud` vouches for what this bridge has read. */
  isSharingTopics = false;
  readonly #records = byPoll(() => neverPolled);
  /** When each run in progress has begun, in ms of the monotonic clock. */
  readonly #running = new Map<PollName, number>();
  readonly #counts = new Map<PollName, PollCounts>();
  readonly #pending = new Map<PollName, PollProgress>(
    pollNames.map((poll) => [poll, { poll, read: 0, total: null }]),
  );
  /** When a poll was last active: began, read a page or ended. In ms of the monotonic clock. */
  readonly #heardAt = new Map<PollName, number>();
  /** When a poll last read a page, or ended well, in ms of the monotonic clock. */
  readonly #readAt = new Map<PollName, number>();
  /** When the last run began whose pages fitted together; without one, when the first run ended. In ms of the monotonic clock. */
  readonly #certainAt = new Map<PollName, number>();
  /** Polls whose last pages did not fit together, and when that becomes a failure, in ms of the monotonic clock. */
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
      // A run in progress may end this. In a large account it takes long.
      if ((this.#running.get(poll) ?? this.#clock.monotonic()) < shownAt) continue;
      this.#inconsistent.delete(poll);
      this.#records[poll] = { ...this.#records[poll], failure, consecutiveFailures: 1 };
    }
    return this.#records;
  }

  /** The polls that have not finished their first run. */
  get progress(): readonly PollProgress[] {
    return [...this.#pending.values()];
  }

  /** How many runs of a poll ended how. */
  counts(poll: PollName): PollCounts {
    return this.#counts.get(poll) ?? { success: 0, incomplete: 0, failure: 0 };
  }

  /** How old the data of a poll may be, in ms: one failed run makes nothing stale, however rare the runs are. */
  maxAgeMs(poll: PollName): number {
    return Math.max(this.#staleAfterMs, 2 * this.#schedules[poll].periodMs);
  }

  /**
   * Records that the poll read before the returned time are stale at the given one, in ms of the monotonic clock. During a
   * run, which takes long in a large account, they do not age: it is about to read them again.
   */
  staleBefore(poll: PollName, at: number): number {
    const deciding = decidingPoll(this.#records);
    const periodMs = deciding === null ? 0 : this.#schedules[deciding].periodMs;
    const agesUntil = this.isSharingTopics ? at : cloudAnsweredAt(this.#records) + periodMs;
    return Math.min(at, this.#running.get(poll) ?? at, agesUntil) - this.maxAgeMs(poll);
  }

  /**
   * Whether a vital poll is due and neither succeeds nor fails. Its first run may wait for the properties, which can take
   * a slow cloud hours.
   */
  get areRunsMissing(): boolean {
    const now = this.#clock.monotonic();
    return vitalPolls.some((poll) => {
      const silentMs = now - (this.#heardAt.get(poll) ?? this.#heardAt.get('properties') ?? now);
      return silentMs > this.#schedules[poll].periodMs + maxSilenceMs;
    });
  }

  /**
   * The polls that have read nothing for longer than they may wait: a vital list a minute or, if that is longer, the time
   * of its schedule; measurements until they are too old. The first run may wait for the properties.
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

  /** Records the progress of a run. */
  recordProgress(poll: PollName, read: number, total: number | null): void {
    this.#hear(poll);
    this.#readAt.set(poll, this.#clock.monotonic());
    if (this.#pending.has(poll)) this.#pending.set(poll, { poll, read, total });
  }

  /** A run begins. */
  begin(poll: PollName): void {
    this.#running.set(poll, this.#clock.monotonic());
    this.#hear(poll);
  }

  /** Whether the cloud answers, as far as is known; not while a poll is in progress that decides about it. */
  get isCloudAnswering(): boolean {
    const isDeciding = vitalPolls.some((poll) => this.#running.has(poll));
    return !isDeciding && cloudAnsweredAt(this.#records) > Number.NEGATIVE_INFINITY;
  }

  /** A run has ended that began at that time, in ms of the monotonic clock; `failure` is null if all was read. */
  end(poll: PollName, startedAt: number, failure: PollFailure | null): void {
    this.#running.delete(poll);
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
   * From when on a failure counts. A list that changes while it is read belongs to a busy account and is read again soon.
   * It becomes a failure when the last certain reading is too old, or at once if the list was incomplete already.
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

  /** Until when data is fresh. The schedule always gets the chance to renew it before. */
  #freshnessLimit(poll: PollName, startedAt: number): number {
    const renewedAt = this.#schedules[poll].dueAfter(startedAt) + this.#requestTimeoutMs;
    return Math.max(this.#clock.monotonic() + this.#staleAfterMs, renewedAt);
  }
}
