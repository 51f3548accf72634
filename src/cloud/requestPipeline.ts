import { type Clock, sleep } from '../base/clock.ts';
import { minuteMs } from '../base/duration.ts';
import type { Moves } from './catalogue.ts';
import { DataProblems, type ProblemCollector } from './dataProblems.ts';
import { Deadline, GivenUp, orAborted } from './deadline.ts';
import type { SessionReply } from './decoders.ts';
import { CloudError } from './errors.ts';
import { Http, type HttpOptions, type HttpResponse } from './http.ts';
import { type KnownPages, readUnlessKnown } from './knownPages.ts';
import { MissingRoutes } from './missingRoutes.ts';
import { noAnswer } from './networkErrors.ts';
import { type Call, isAccountList, isVitalList, type OperationName, operationRow } from './operations.ts';
import { RateLimits } from './rateLimits.ts';
import { encodeCall, type HttpRequest, type RouteOverrides, routeOf } from './request.ts';
import { RequestCounter } from './requestCounter.ts';
import { type Priority, RequestQueue } from './requestQueue.ts';
import { checkStatus, type GoodAnswer, type Report, readAnswer } from './response.ts';
import { isHeldBack, retryWaitMs } from './retry.ts';
import { Session, type SessionOptions } from './session.ts';

export interface PipelineOptions extends Omit<SessionOptions, 'send'>, HttpOptions {
  readonly maxRequestsPerMinute: number;
  readonly routes: RouteOverrides;
}

export interface CallOptions {
  /** If it is not given, a change is a `command` and any other call is a poll. A `list` goes before other polls. */
  readonly priority?: Exclude<Priority, 'device'>;
  readonly signal?: AbortSignal;
  /**
   * Called with true when the request has passed the gate: from then on the cloud may have it. Called with false when
   * that attempt has ended. If the caller aborts the signal then, the request is not sent again.
   */
  readonly onFlight?: (isInFlight: boolean) => void;
  /**
   * Asked when the first byte is about to be written. A call that may move a valve (`movesOf`) is refused if this says no, or is
   * missing.
   */
  readonly mayMove?: () => boolean;
  /** In ms. The default is the request timeout: for a command from now, for a poll from when it is sent. */
  readonly timeoutMs?: number;
  readonly onAnswer?: (status: number) => void;
}

interface PreparedCall {
  readonly name: OperationName;
  readonly params: Readonly<Record<string, string>>;
  readonly request: HttpRequest;
  /** By `movesOf`. */
  readonly moves: Moves | null;
  readonly options: CallOptions & { readonly isExpected?: () => boolean };
  readonly problems: ProblemCollector;
  /** For a page of which only the records are wanted, not the text. */
  readonly pages?: KnownPages | undefined;
  /** For a page of a vital list: how long it may wait for its turn, in ms, if it was not sent within a minute. */
  readonly maxWaitMs?: number | undefined;
}

interface Job extends PreparedCall {
  readonly priority: Priority;
  readonly deadline: Deadline;
  /** If not, each attempt gets the request timeout when it is sent. */
  readonly hasTime: boolean;
  /** For a new session. The deadline moves only once. */
  hasWaited: boolean;
}

/** A change with a smaller share of its time left is not sent. It would time out at once, with an unknown outcome. */
const minShareOfTime = 0.1;

/**
 * The way of a request, step by step. `request` sets the deadline. `#withRetry` repeats the request if it may be repeated.
 * `#sendOnce` gets a valid session. `#transmit` waits for a turn and for a connection. `#gate` is the last check before
 * the first byte. `#readResponse` judges the answer. Every failure is a `CloudError`.
 */
export class RequestPipeline {
  readonly queue: RequestQueue;
  readonly session: Session;
  readonly rateLimits: RateLimits;
  readonly counter: RequestCounter;
  readonly missingRoutes = new MissingRoutes();
  readonly problems: DataProblems;
  readonly #options: PipelineOptions;
  readonly #clock: Clock;
  readonly #http: Http;
  readonly #closing = new AbortController();
  /** When each page of the vital lists was last requested, in ms of the monotonic clock. */
  readonly #vitalSentAt = new Map<string, number>();

  constructor(options: PipelineOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#clock = clock;
    this.queue = new RequestQueue(options);
    this.#http = new Http(options);
    this.session = new Session({ ...options, send: (call, token) => this.#sendForSession(call, token) });
    this.rateLimits = new RateLimits(clock, log);
    this.counter = new RequestCounter(clock);
    this.problems = new DataProblems(log);
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  async close(): Promise<void> {
    this.session.stop();
    this.#closing.abort(new GivenUp('the client is closed', false));
    await this.#http.close();
  }

  async request(call: PreparedCall): Promise<GoodAnswer> {
    const { name, request, options } = call;
    if (this.missingRoutes.has(name)) {
      throw new CloudError('unsupported', name, `the cloud does not offer ${name}`);
    }
    const { signal, timeoutMs } = options;
    // Lists come before single devices, because one answer covers all valves or leaks.
    const ofRead = isAccountList(name) ? 'list' : 'device';
    const priority = options.priority ?? (request.isChange ? 'command' : ofRead);
    // A poll without a time of its own waits for its turn as long as necessary.
    const ownMs = timeoutMs ?? (isPoll(priority) ? null : this.#options.requestTimeoutMs);
    return this.#within(ownMs, signal ? [signal] : [], name, (deadline) =>
      this.#withRetry({ ...call, priority, deadline, hasTime: ownMs !== null, hasWaited: false }),
    );
  }

  async #within<T>(
    ms: number | null,
    callers: readonly AbortSignal[],
    name: OperationName,
    run: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const deadline = new Deadline(this.#clock, [...callers, this.#closing.signal]);
    if (ms !== null) deadline.set(ms);
    try {
      return await run(deadline);
    } catch (error) {
      throw toCloudError(name, error);
    } finally {
      deadline.dispose();
    }
  }

  async #withRetry(job: Job): Promise<GoodAnswer> {
    const { name, deadline } = job;
    let last: CloudError | null = null;
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#sendOnce(job);
      } catch (cause) {
        const error = toCloudError(name, cause);
        if (!(error instanceof CloudError)) throw error;
        // If this attempt was not sent, the error of the previous attempt explains more.
        if (last && (isHeldBack(error) || (error.timedOut && !error.mayHaveActed))) throw last;
        last = error;
        const { retry } = operationRow(name);
        const remainingMs = deadline.remainingMs();
        const waitMs = retryWaitMs({ retry, attempts, error, remainingMs }, this.#options.random);
        if (waitMs === null) throw error;
        await sleep(this.#clock, waitMs, deadline.signal).catch(() => {});
        if (deadline.signal.aborted) throw error;
      }
    }
  }

  /** If the cloud refuses the token, the request is sent once more with a new one. */
  async #sendOnce(job: Job): Promise<GoodAnswer> {
    const { name, options } = job;
    if (name === 'sign_in') return this.#readResponse(job, await this.#transmit(job, () => null));

    let used: string | null = null;
    const token = () => {
      used = this.session.token;
      if (used === null) throw tokenGone;
      return used;
    };
    for (let isRenewed = false; ; ) {
      const renewal = this.session.renewalDue(!isPoll(job.priority));
      if (renewal !== null) await this.#waitForSession(renewal, job);
      const response = await this.#transmit(job, token).catch((error: unknown) => {
        if (error === tokenGone) return null;
        throw error;
      });
      if (response === null) continue;
      const { status } = response;
      if (status === 401 && !isRenewed) {
        isRenewed = await this.#waitForSession(this.session.replace(used, name), job);
        if (isRenewed) continue;
      } else this.session.noteAnswer(name, status, used);
      options.onAnswer?.(status);
      const good = this.#readResponse(job, response);
      if (name === 'refresh_token') this.session.adopt(good.reply as SessionReply);
      if (name === 'sign_out') this.session.forget();
      return good;
    }
  }

  /** The deadline moves by the time that this takes, but only once, and by one request timeout at most: the machine may sleep. */
  async #waitForSession<T>(renewal: Promise<T>, job: Job): Promise<T> {
    const { deadline } = job;
    const mostMs = job.hasWaited ? 0 : this.#options.requestTimeoutMs;
    job.hasWaited = true;
    const startedAt = this.#clock.monotonic();
    deadline.extend(mostMs);
    try {
      return await orAborted(renewal, deadline.signal);
    } finally {
      deadline.extend(Math.min(this.#clock.monotonic() - startedAt, mostMs) - mostMs);
    }
  }

  /** The token is looked up only when the turn has come, because it may change during the wait. */
  async #transmit(job: Job, token: () => string | null): Promise<HttpResponse> {
    const { name, request, priority, deadline, options } = job;
    const { requestTimeoutMs, log } = this.#options;
    const waitForLimit = () => (priority === 'valve' ? null : this.rateLimits.wait(name, deadline));
    await waitForLimit();
    if (priority === 'command' && !this.queue.takeCommand()) {
      const words = 'cloud.max_requests_per_minute is used up. Try again later';
      throw new CloudError('rateLimited', name, words, { mayHaveActed: false });
    }
    const send = async () => {
      // The cloud may have requested a wait since this request began to wait for its turn.
      if (priority !== 'valve' && this.rateLimits.leftMs(name) > 0) return null;
      if (!job.hasTime) deadline.set(requestTimeoutMs);
      const startedAt = this.#clock.monotonic();
      let isInFlight = false;
      let response: HttpResponse | null = null;
      // If it is too late already, no connection is opened.
      this.#gate(job);
      deadline.signal.throwIfAborted();
      try {
        response = await this.#http.send(request, token(), deadline.signal, () => {
          this.#gate(job);
          if (deadline.signal.aborted) return;
          isInFlight = true;
          this.counter.recordSent();
          if (isVitalList(name)) this.#vitalSentAt.set(request.path, this.#clock.monotonic());
          options.onFlight?.(true);
        });
        // If the machine slept before the answer came, the answer shows an old state. For a change it is still the
        // right outcome.
        if (!request.isChange && deadline.remainingMs() === 0 && !deadline.signal.aborted) {
          const details = { timedOut: true, key: noAnswer };
          throw new CloudError('unavailable', name, 'timeout: the answer came too late', details);
        }
      } finally {
        const ms = this.#clock.monotonic() - startedAt;
        const status = response?.status ?? null;
        if (isInFlight) this.counter.recordEnded(status, ms);
        if (response) log.debug({ operation: name, status, ms: Math.round(ms) }, `Cloud request ${name}`);
        if (!job.hasTime) deadline.set(Number.POSITIVE_INFINITY);
        if (isInFlight) options.onFlight?.(false);
      }
      this.counter.recordDate(response.header('date'));
      this.rateLimits.record(name, response);
      return response;
    };
    for (;;) {
      const sent = await this.queue.run(priority, deadline.signal, send, this.#maxWaitMs(job));
      if (sent !== null) return sent;
      await waitForLimit();
    }
  }

  /** A page of a vital list is requested once a minute, whatever is in the queue. */
  #maxWaitMs({ request, maxWaitMs }: Job): number | undefined {
    if (maxWaitMs === undefined) return undefined;
    const sentAt = this.#vitalSentAt.get(request.path) ?? Number.NEGATIVE_INFINITY;
    return Math.max(maxWaitMs, sentAt + minuteMs - this.#clock.monotonic());
  }

  /**
   * The last check of a request, when its connection is open and nothing is written yet: does it still have enough
   * time? The clock for this goes on while the machine sleeps. Other reasons not to send it, a newer command or the end
   * of the bridge, have aborted the signal before. What may move a valve also needs the permission of its sender.
   */
  #gate({ name, deadline, request, moves, options }: Job): void {
    deadline.check(request.isChange ? this.#options.requestTimeoutMs * minShareOfTime : 0);
    if (moves === null || deadline.signal.aborted || options.mayMove?.()) return;
    throw new CloudError('invalid', name, 'nobody has asked to move a valve', { mayHaveActed: false });
  }

  #sendForSession(call: Call<'sign_in' | 'refresh_token'>, token: string | null): Promise<SessionReply> {
    const name = call.operation;
    const request = encodeCall(call, this.#options.routes);
    const problems = this.problems.collect(name, {});
    return this.#within(this.#options.requestTimeoutMs, [], name, async (deadline) => {
      const prepared = { name, params: {}, request, moves: null, options: {}, problems };
      const job: Job = { ...prepared, priority: 'valve', deadline, hasTime: true, hasWaited: true };
      return this.#readResponse(job, await this.#transmit(job, () => token)).reply as SessionReply;
    });
  }

  #readResponse(job: Job, response: HttpResponse): GoodAnswer {
    const { name, params, request, problems, pages, options } = job;
    const { secrets, routes, log } = this.#options;
    const hide = (text: string) => secrets.hide(text);
    const error = checkStatus(name, response, this.#clock.now(), hide);
    if (error) {
      const { status, message } = error;
      const wasMissing = this.missingRoutes.has(name);
      if (options.isExpected?.() || !this.missingRoutes.recordError(name, params, status)) throw error;
      if (!wasMissing) {
        const { method, path } = routeOf(name, routes);
        log.info(
          { operation: name },
          `The cloud does not offer ${name} (${status} for ${method} ${path}). It is not used until the next start. If the path differs, set cloud.routes.${name}`,
        );
      }
      throw new CloudError('unsupported', name, message, { status });
    }
    this.missingRoutes.recordWorked(name);
    const report: Report = (level, notice) => problems.report(level, hide(notice));
    const read = (to: Report) => readAnswer(name, response, to, secrets);
    if (!pages || response.bodyProblem) return read(report);
    return readUnlessKnown(pages, request.path, response.body, secrets.changes, report, read);
  }
}

/** A poll waits for the budget, however long that takes. */
function isPoll(priority: Priority): boolean {
  return priority === 'list' || priority === 'device';
}

/** Another request was answered 401 while this one waited for its turn. */
const tokenGone = new Error();

/** Any other error than these is a bug of ours. */
function toCloudError(name: OperationName, error: unknown): unknown {
  if (!(error instanceof GivenUp)) return error;
  const { timedOut } = error;
  const message = timedOut ? 'timed out before the request was sent' : error.message;
  return new CloudError('unavailable', name, message, { timedOut, mayHaveActed: false, cause: error });
}
