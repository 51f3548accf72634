import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import { Deadline, type Ending, GivenUp } from './deadline.ts';
import { HourCount } from './hourCount.ts';
import { isPastSendWindow } from './lateness.ts';
import { isAccountList, type OperationName, operationRow } from './operations.ts';
import type { HttpRequest } from './request.ts';
import { Limiter, type Priority } from './requestQueue.ts';
import { RequestCount, type RequestTally } from './requestTally.ts';
import { retryAfterOf } from './response.ts';
import { type Received, Transport } from './transport.ts';

export interface SenderOptions {
  readonly baseUrl: string;
  readonly requestTimeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
  /** The proxy on the way to the cloud; none unless given. */
  readonly proxy?: URL | null | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** The way to the cloud; a pool of sockets unless given. */
  readonly dispatcher?: Dispatcher | undefined;
}

/** One request and what it may take. */
export interface Sending {
  readonly name: OperationName;
  readonly request: HttpRequest;
  readonly priority: Priority;
  readonly deadline: Deadline;
  /** Ends no later than the deadline: before it is sent, it is not worth waiting any longer. */
  readonly patience: Ending;
  /** Told when the request is about to be sent. */
  readonly onSend: () => void;
}

/** What goes out, and how much of it. */
export interface Traffic {
  readonly requestsLastHour: number;
  /** Wall-clock ms until which the cloud asked to wait; null while it does not. */
  readonly limitedUntil: number | null;
  /** How long the budget or the cloud's wish keeps the next poll waiting, in ms. */
  readonly pollWaitMs: number;
  /** Whether commands have used the budget up too, so that one that can wait should. */
  readonly isUsedUp: boolean;
}

// Where a 429 does not say how long to wait.
const unaskedPauseMs = 2_000;

// A cloud that asks for it again and again is not worth a line each time.
const sayPauseEveryMs = 3_600_000;

/** A smaller difference of two clocks may only be the time that an answer took, and is no matter. */
const leastAheadMs = 60_000;

/** Sends requests one by one as the limiter lets them, each within its deadline. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #clock: Clock;
  readonly #limiter: Limiter;
  readonly #transport: Transport;
  readonly #requests: HourCount;
  readonly #count = new RequestCount();
  readonly #deadlines = new Set<Deadline>();
  #isClosed = false;
  #saidPauseAt = Number.NEGATIVE_INFINITY;
  /** What the cloud's clock shows less what the monotonic one does, in ms; null until an answer has told. */
  #cloudOffsetMs: number | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limiter = new Limiter(options);
    this.#requests = new HourCount(options.clock);
    this.#transport = new Transport({
      baseUrl: options.baseUrl,
      connections: options.maxConcurrency,
      connectTimeoutMs: options.requestTimeoutMs,
      proxy: options.proxy,
      clock: options.clock,
      dispatcher: options.dispatcher,
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  traffic(): Traffic {
    const pausedMs = this.#limiter.pausedMs();
    return {
      requestsLastHour: this.#requests.total(),
      limitedUntil: pausedMs > 0 ? this.#clock.now() + pausedMs : null,
      pollWaitMs: this.#limiter.pollWaitMs(),
      isUsedUp: this.#limiter.isUsedUp(),
    };
  }

  get tally(): RequestTally {
    return this.#count.tally;
  }

  /** How far the clock of this machine is ahead of the cloud's, in ms, by the last answer's; 0 if not by a minute. */
  get clockAheadMs(): number {
    if (this.#cloudOffsetMs === null) return 0;
    const aheadMs = this.#clock.now() - this.#clock.monotonic() - this.#cloudOffsetMs;
    return Math.abs(aheadMs) < leastAheadMs ? 0 : aheadMs;
  }

  /** What the cloud's clock shows, in ms since 1970; what this machine's does until an answer has told. */
  get cloudNow(): number {
    return this.#cloudOffsetMs === null ? this.#clock.now() : this.#clock.monotonic() + this.#cloudOffsetMs;
  }

  /** Ends everything that is under way, within milliseconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const deadline of this.#deadlines) deadline.stop(closed());
    await this.#transport.close();
  }

  /** Sends the request when its turn comes; the token is looked up at the last moment. */
  send(sending: Sending, token: () => string | null): Promise<Received> {
    const { name, priority, deadline, patience } = sending;
    const turn = { priority, lane: name, isForList: isAccountList(name), ending: deadline, patience };
    return this.#limiter.run(turn, () => {
      if (priority !== 'poll') return this.#exchange(sending, token(), deadline);
      return this.withDeadline(deadline, (own) => {
        own.set(this.#options.requestTimeoutMs);
        return this.#exchange(sending, token(), own);
      });
    });
  }

  async #exchange(
    { name, request, deadline, onSend }: Sending,
    token: string | null,
    ending: Ending,
  ): Promise<Received> {
    const { log, requestTimeoutMs } = this.#options;
    const isLate = isPastSendWindow(deadline.remainingMs(), requestTimeoutMs);
    if (isLate && operationRow(name).retry === 'never') throw new GivenUp('timed out', true);
    const startedAt = this.#clock.monotonic();
    onSend();
    this.#requests.add();
    let status: number | null = null;
    let answer: Received;
    try {
      answer = await this.#transport.send(request, token, ending);
      ({ status } = answer);
    } finally {
      this.#count.add(status, this.#clock.monotonic() - startedAt);
    }
    const ms = Math.round(this.#clock.monotonic() - startedAt);
    log.debug({ operation: name, status, ms }, `Cloud request ${name}`);
    const toldAt = Date.parse(answer.header('date') ?? '');
    if (!Number.isNaN(toldAt)) this.#cloudOffsetMs = toldAt - this.#clock.monotonic();
    const askedMs = retryAfterOf(answer, this.#clock.now());
    const pauseMs = askedMs ?? (answer.status === 429 ? unaskedPauseMs : 0);
    if (pauseMs > 0) {
      if (this.#limiter.pausedMs() === 0) this.#sayPause(pauseMs);
      this.#limiter.pausePolls(pauseMs);
    }
    return answer;
  }

  #sayPause(pauseMs: number): void {
    const now = this.#clock.monotonic();
    const isNews = now - this.#saidPauseAt >= sayPauseEveryMs;
    this.#options.log[isNews ? 'warn' : 'debug'](`The cloud asks to wait ${describeDuration(pauseMs)}`);
    if (isNews) this.#saidPauseAt = now;
  }

  /** Runs the task with a deadline that also ends when the caller aborts, and when this is closed. */
  async withDeadline<T>(caller: Ending | undefined, task: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#clock, caller);
    this.#deadlines.add(deadline);
    if (this.#isClosed) deadline.stop(closed());
    try {
      return await task(deadline);
    } finally {
      this.#deadlines.delete(deadline);
      deadline.dispose();
    }
  }
}

function closed(): GivenUp {
  return new GivenUp('the client is closed', false);
}
