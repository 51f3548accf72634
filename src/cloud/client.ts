import type { Dispatcher } from 'undici';
import type { Random } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { Secrets } from '../base/secrets.ts';
import { CloudClock } from './cloudClock.ts';
import { crawl, type ListResult, type PageWatcher } from './crawl.ts';
import { type DataProblem, DataProblems, type ProblemCollector } from './dataProblems.ts';
import { Deadline, GivenUp, orAborted } from './deadline.ts';
import type { SessionReply } from './decoders.ts';
import { CloudError } from './errors.ts';
import { Http, type HttpResponse } from './http.ts';
import { MissingRoutes } from './missingRoutes.ts';
import { NetworkError } from './networkErrors.ts';
import {
  type Call,
  type ChangeName,
  isAccountList,
  isVitalList,
  type ListName,
  type OperationName,
  operationRow,
  type RecordOf,
} from './operations.ts';
import { Pauses } from './pauses.ts';
import { encodeCall, type HttpRequest, type RouteOverrides, routeOf } from './request.ts';
import { RequestCounter, type RequestTotals } from './requestCounter.ts';
import { type Priority, RequestQueue } from './requestQueue.ts';
import { checkStatus, type GoodAnswer, type Page, readAnswer, retryAfterOf } from './response.ts';
import { maxWaitForRetryMs, retryWaitMs } from './retry.ts';
import { Session, type SessionMemory, type SessionState } from './session.ts';

export interface CloudClientOptions {
  readonly baseUrl: string;
  readonly email: string;
  /** Read at each sign-in, and again and again after a rejection; may throw. */
  readonly password: () => string;
  readonly requestTimeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
  /** The proxy on the way to the cloud; none unless given. */
  readonly proxy?: URL | null | undefined;
  readonly routes: RouteOverrides;
  readonly memory: SessionMemory;
  /** Whether the session in memory is somebody else's: then it is used as it is. */
  readonly isSessionFixed?: boolean;
  readonly clock: Clock;
  readonly random?: Random;
  readonly log: Log;
  readonly secrets: Secrets;
  /** Told once a changed password may be tried, so that a poll can try it at once. */
  readonly onPasswordChange?: () => void;
  /** The way to the cloud; a pool of sockets unless given. */
  readonly dispatcher?: Dispatcher | undefined;
}

export interface CallOptions {
  /** Who it goes before; a poll unless given, but for what changes something, which is at least a `command`. */
  readonly priority?: 'valve' | 'command';
  readonly signal?: AbortSignal;
  /**
   * Told true when it has passed the gate: from then on the cloud may have it. Told false when that attempt has ended;
   * what is done with the signal then keeps it from being sent again.
   */
  readonly onFlight?: (isInFlight: boolean) => void;
  /** How long it may take from now, in ms. Unless given, a command has the request timeout, and a poll has it from when it is sent. */
  readonly timeoutMs?: number;
  /** Told the status of the answer that counts, good or bad. */
  readonly onAnswer?: (status: number) => void;
}

export interface ListOptions extends CallOptions {
  readonly onPage?: PageWatcher;
  /**
   * Whether records of the list are known from before, be it from the last run: then one 404 does not mean that the cloud
   * has no such list, and it is asked for again.
   */
  readonly isExpected?: boolean;
}

/** What the cloud answered a call: for the bridge to work with, and as it was sent. */
export interface Answered<Name extends OperationName> {
  readonly reply: ReplyOf<Name>;
  /** JSON, without a key that the cloud did not send. */
  readonly sent: unknown;
}

/** What a call answers: a record, a page of records, or null where a change was done and nothing said of it. */
export type ReplyOf<Name extends OperationName> = Name extends ListName
  ? Page<RecordOf<Name>>
  : Name extends ChangeName
    ? RecordOf<Name> | null
    : RecordOf<Name>;

/** `unavailable`: the cloud has shown that it has no such route; `off`: `cloud.routes` switches it off. */
export type OperationState = 'available' | 'unavailable' | 'off';

/** What goes out, and what keeps it waiting. */
export interface Traffic {
  readonly requestsLastHour: number;
  /** Wall-clock ms until which the cloud asked to wait, for each operation that has to. */
  readonly pausedUntil: ReadonlyMap<OperationName, number>;
  /** The latest of these; null where there is none. */
  readonly limitedUntil: number | null;
  /** How long a vital list, of valves or of incidents, has waited for its turn, in ms; 0 while none does. */
  readonly vitalWaitMs: number;
  /** How long the budget keeps the next poll waiting, in ms; a vital list waits a minute at most. */
  readonly pollWaitMs: number;
  /** Whether commands have used the budget up too, so that one that can wait should. */
  readonly isUsedUp: boolean;
}

/** A call, before it is checked. */
interface OwnCall<Name extends OperationName> {
  readonly operation: Name;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
}

/** A request to be made. */
interface Order {
  readonly name: OperationName;
  readonly params: Readonly<Record<string, string>>;
  readonly request: HttpRequest;
  readonly options: CallOptions & Pick<ListOptions, 'isExpected'>;
  readonly problems: ProblemCollector;
  /** Of a page of a vital list: it may wait for its turn so many ms, and longer only if it was asked for within a minute. */
  readonly maxWaitMs?: number;
}

/** One request on its way through the queue, the session and the network. */
interface Job extends Order {
  readonly priority: Priority;
  readonly deadline: Deadline;
  /** Whether its time runs from the beginning. If not, each attempt has the request timeout from when it is sent. */
  readonly hasTime: boolean;
  /** Whether it was given back the time of a sign-in: that is done once. */
  hasWaited: boolean;
}

/** Whatever the budget, each page of a vital list is asked for once in so many ms: the first at once, to see that it is. */
const vitalPeriodMs = 60_000;

/** The other pages wait for their turn so long, in ms: a list of a thousand has to keep to the budget somehow. */
const maxPageWaitMs = 10_000;

/** With less of its time left a change is not sent: given up at once, nobody would know what became of it. */
const minShareOfTime = 0.1;

// Where a 429 does not say how long to wait.
const unaskedPauseMs = 2_000;

// A cloud that asks for it again and again is not worth a line each time.
const sayPauseEveryMs = 3_600_000;

/**
 * The cloud, as the rest of the program knows it; every failure is a `CloudError`. A call is checked and encoded by its
 * row, and then goes down these steps: `#request` gives it its deadline, `#withRetry` repeats what may be repeated,
 * `#sendOnce` sees to the session, `#transmit` waits for its turn and for a connection, `#gate` is the last look before
 * the bytes, `#readResponse` judges the answer.
 */
export class CloudClient {
  readonly #options: CloudClientOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #queue: RequestQueue;
  readonly #http: Http;
  readonly #session: Session;
  readonly #problems: DataProblems;
  readonly #counter: RequestCounter;
  readonly #cloudClock: CloudClock;
  readonly #closing = new AbortController();
  readonly #missingRoutes = new MissingRoutes();
  readonly #pauses: Pauses;
  /** When each page of the vital lists was last asked for, in ms of the monotonic clock. */
  readonly #vitalSentAt = new Map<string, number>();
  #saidPauseAt = Number.NEGATIVE_INFINITY;

  constructor(options: CloudClientOptions) {
    const { clock, email, password, memory, log, secrets } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = options.random ?? Math.random;
    this.#queue = new RequestQueue(options);
    this.#http = new Http({
      ...options,
      maxConnections: options.maxConcurrency,
      connectTimeoutMs: options.requestTimeoutMs,
    });
    this.#session = new Session({
      email,
      password,
      memory,
      isFixed: options.isSessionFixed,
      clock,
      random: this.#random,
      log,
      secrets,
      send: (call, token) => this.#sendForSession(call, token),
      onPasswordChange: options.onPasswordChange,
    });
    this.#problems = new DataProblems(log);
    this.#counter = new RequestCounter(clock);
    this.#cloudClock = new CloudClock(clock);
    this.#pauses = new Pauses(clock);
  }

  /** Takes up the session of the last run; ends everything when the bridge stops. */
  start(stopping: AbortSignal): void {
    this.#session.start();
    if (stopping.aborted) void this.close();
    else stopping.addEventListener('abort', () => void this.close(), { once: true });
  }

  /** Ends everything that is under way, within milliseconds; stays signed in. */
  async close(): Promise<void> {
    this.#session.stop();
    this.#closing.abort(new GivenUp('the client is closed', false));
    await this.#http.close();
  }

  /** Does one operation; the answer is read tolerantly, the call is checked strictly. */
  async call<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions = {},
  ): Promise<ReplyOf<Name>> {
    const { reply } = await this.callRaw(call, options);
    return reply;
  }

  /** The same for somebody who is shown what the cloud sent. */
  async callRaw<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions = {},
  ): Promise<Answered<Name>> {
    const { operation: name, params = {} } = call as OwnCall<Name>;
    const problems = this.#problems.collect(name, params);
    const request = encodeCall(call, this.#options.routes);
    const answer = await this.#request({ name, params, request, options, problems });
    problems.end();
    return answer as Answered<Name>;
  }

  /** Reads a whole list; throws only where not even its first page can be read. */
  readList<Name extends ListName>(
    call: Call<Name>,
    options: ListOptions = {},
  ): Promise<ListResult<RecordOf<Name>>> {
    return this.#readWhole(call, options, ({ reply }) => reply as Page<RecordOf<Name> & { id: string }>);
  }

  /** The same for somebody who is shown what the cloud sent: no record has a key more. */
  readListRaw<Name extends ListName>(
    call: Call<Name>,
    options: ListOptions = {},
  ): Promise<ListResult<{ readonly id: string }>> {
    return this.#readWhole(call, options, ({ reply, sent }) => {
      const { data } = sent as { readonly data: readonly { readonly id: string }[] };
      return { ...(reply as Page<unknown>), records: data };
    });
  }

  /** Whether an operation can be called, and if not why, as `bridge/info` shows it. */
  operationState(name: OperationName): OperationState {
    if (this.#options.routes[name] === null) return 'off';
    return this.#missingRoutes.has(name) ? 'unavailable' : 'available';
  }

  /** Whether an operation can be called. */
  isOffered(name: OperationName): boolean {
    return this.operationState(name) === 'available';
  }

  /** Whether a 404 or 405 may mean that the cloud has no such route: nobody has published it, and it has never worked. */
  isInDoubt(name: OperationName): boolean {
    return this.#missingRoutes.isInDoubt(name);
  }

  /** How many requests are in flight at most: who makes many needs no more than that at a time. */
  get maxConcurrency(): number {
    return this.#options.maxConcurrency;
  }

  traffic(): Traffic {
    const now = this.#clock.now();
    const pausedUntil = new Map([...this.#pauses.all].map(([name, ms]) => [name, now + ms]));
    return {
      requestsLastHour: this.#counter.lastHour,
      pausedUntil,
      limitedUntil: pausedUntil.size > 0 ? Math.max(...pausedUntil.values()) : null,
      vitalWaitMs: this.#queue.limitedWaitMs(),
      pollWaitMs: this.#queue.pollWaitMs(),
      isUsedUp: this.#queue.isUsedUp(),
    };
  }

  /** What became of the requests so far. */
  get requestTotals(): RequestTotals {
    return this.#counter.totals;
  }

  /** How far the clock of this machine is ahead of the cloud's, in ms, by the last answer's; 0 if not by a minute. */
  get clockAheadMs(): number {
    return this.#cloudClock.aheadMs;
  }

  /** What the cloud's clock shows, in ms since 1970; what this machine's does until an answer has told. */
  get cloudNow(): number {
    return this.#cloudClock.now;
  }

  sessionState(): SessionState {
    return this.#session.state;
  }

  /** What is odd in the cloud's latest answers. */
  problems(): readonly DataProblem[] {
    return this.#problems.latest();
  }

  /**
   * Somebody asks for everything now: no poll waits any longer because the cloud has asked it to, and after a rejected
   * password the next call signs in at once, within the hard limits.
   */
  refresh(): void {
    this.#pauses.clear();
    this.#session.signInNow();
  }

  async #readWhole<Name extends ListName, Listed extends { readonly id: string }>(
    call: Call<Name>,
    options: ListOptions,
    pageOf: (answer: GoodAnswer) => Page<Listed>,
  ): Promise<ListResult<Listed>> {
    const { operation: name, query, params = {} } = call as OwnCall<Name>;
    const problems = this.#problems.collect(name, params);
    const { page: _, ...otherQuery } = query ?? {};
    const request = encodeCall({ operation: name, params, query: otherQuery }, this.#options.routes);
    const joint = request.path.includes('?') ? '&' : '?';
    const list = await crawl<Listed>({
      operation: name,
      concurrency: this.#options.maxConcurrency,
      onPage: options.onPage,
      onWrongTotals: (message) => problems.report('info', message),
      readPage: async (number) => {
        const paged = { ...request, path: `${request.path}${joint}page=${number}` };
        const order = { name, params, request: paged, options, problems };
        const maxWaitMs = number === 1 ? 0 : maxPageWaitMs;
        return pageOf(await this.#request({ ...order, ...(isVitalList(name) && { maxWaitMs }) }));
      },
    });
    if (options.signal?.aborted || this.#closing.signal.aborted) {
      throw new CloudError('unavailable', name, 'given up by its caller', { mayHaveActed: false });
    }
    if (list.complete) {
      problems.end();
      this.#missingRoutes.recordList(name, list.records);
    }
    return list;
  }

  /** Makes a request within one deadline, which its caller, its time and the end of the client bring about. */
  async #request(order: Order): Promise<GoodAnswer> {
    const { name, request, options } = order;
    if (this.#missingRoutes.has(name)) {
      throw new CloudError('unsupported', name, `the cloud does not offer ${name}`, { mayHaveActed: false });
    }
    const { signal, timeoutMs } = options;
    const priority = options.priority ?? priorityOf(name, request);
    const callers = signal ? [signal, this.#closing.signal] : [this.#closing.signal];
    const deadline = new Deadline(this.#clock, callers);
    // Unless told otherwise, a poll waits for its turn as long as it takes.
    const ownMs = timeoutMs ?? (isPoll(priority) ? null : this.#options.requestTimeoutMs);
    if (ownMs !== null) deadline.set(ownMs);
    try {
      return await this.#withRetry(newJob(order, priority, deadline, ownMs !== null));
    } catch (error) {
      throw toCloudError(name, error);
    } finally {
      deadline.dispose();
    }
  }

  /** Sends it until it succeeds or the row's rule of retrying says no. */
  async #withRetry(job: Job): Promise<GoodAnswer> {
    const { name, deadline } = job;
    let last: CloudError | null = null;
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#sendOnce(job);
      } catch (cause) {
        const error = toCloudError(name, cause);
        if (!(error instanceof CloudError)) throw error;
        // Where time ran out before another attempt was sent, the one before it tells more.
        if (last && error.timedOut && !error.mayHaveActed) throw last;
        last = error;
        const { retry } = operationRow(name);
        const remainingMs = deadline.remainingMs();
        const waitMs = retryWaitMs({ retry, attempts, error, remainingMs }, this.#random);
        if (waitMs === null) throw error;
        await sleep(this.#clock, waitMs, deadline.signal).catch(() => {});
        if (deadline.signal.aborted) throw error;
      }
    }
  }

  /** Sends it with a session that is valid: where the cloud refuses the token, with a new one once more. */
  async #sendOnce(job: Job): Promise<GoodAnswer> {
    const { name, options } = job;
    if (name === 'sign_in') return this.#readResponse(job, await this.#transmit(job, () => null));

    let used: string | null = null;
    const token = () => {
      used = this.#session.token;
      if (used === null) throw tokenGone;
      return used;
    };
    let response: HttpResponse | null = null;
    for (let isRenewed = false; response === null; ) {
      const renewal = this.#session.renewalDue(!isPoll(job.priority));
      if (renewal !== null) await this.#waitForSession(renewal, job);
      response = await this.#transmit(job, token).catch((error: unknown) => {
        if (error === tokenGone) return null;
        throw error;
      });
      if (response?.status !== 401) continue;
      if (isRenewed) this.#session.noteRefusal(name);
      else if (await this.#waitForSession(this.#session.replace(used, name), job)) {
        isRenewed = true;
        response = null;
      }
    }
    if (response.status < 300) this.#session.noteSuccess(name, used);
    options.onAnswer?.(response.status);
    const good = this.#readResponse(job, response);
    if (name === 'refresh_token') this.#session.adopt(good.reply as SessionReply);
    if (name === 'sign_out') this.#session.forget();
    return good;
  }

  /**
   * Waits for a new session. The call is given back the time that this took, once, and never more than one request may
   * take: the machine may sleep meanwhile.
   */
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

  /** Sends it when its turn comes; the token is looked up then. */
  async #transmit(job: Job, token: () => string | null): Promise<HttpResponse> {
    const { name, request, priority, deadline, options } = job;
    const { requestTimeoutMs, log } = this.#options;
    if (isPoll(priority)) await this.#waitAsAsked(name, deadline);
    const send = async () => {
      if (!job.hasTime) deadline.set(requestTimeoutMs);
      const startedAt = this.#clock.monotonic();
      let isInFlight = false;
      let response: HttpResponse | null = null;
      // What is too late already needs no connection.
      this.#gate(job);
      deadline.signal.throwIfAborted();
      try {
        response = await this.#http.send(request, token(), deadline.signal, () => {
          this.#gate(job);
          if (deadline.signal.aborted) return;
          isInFlight = true;
          this.#counter.recordSent();
          if (isVitalList(name)) this.#vitalSentAt.set(request.path, this.#clock.monotonic());
          options.onFlight?.(true);
        });
        // What was read before the machine slept is not the present; what was changed before was changed.
        if (!request.isChange && deadline.remainingMs() === 0 && !deadline.signal.aborted) throw lateAnswer;
      } finally {
        if (isInFlight)
          this.#counter.recordEnded(response?.status ?? null, this.#clock.monotonic() - startedAt);
        if (!job.hasTime) deadline.clear();
        if (isInFlight) options.onFlight?.(false);
      }
      const ms = Math.round(this.#clock.monotonic() - startedAt);
      log.debug({ operation: name, status: response.status, ms }, `Cloud request ${name}`);
      this.#cloudClock.record(response.header('date'));
      this.#pauseAsAsked(name, response);
      return response;
    };
    return this.#queue.run(priority, deadline.signal, send, this.#maxWaitMs(job));
  }

  /** How long it may wait for its turn: nothing keeps a page of a vital list from being asked for once a minute. */
  #maxWaitMs({ request, maxWaitMs }: Job): number {
    if (maxWaitMs === undefined) return Number.POSITIVE_INFINITY;
    const sentAt = this.#vitalSentAt.get(request.path) ?? Number.NEGATIVE_INFINITY;
    return Math.max(maxWaitMs, sentAt + vitalPeriodMs - this.#clock.monotonic());
  }

  /**
   * The last look at a request, when its connection is open and nothing is written yet: whether it still has its time, by
   * a clock that goes on while the machine sleeps. That it is overtaken, or that the bridge stops, has ended it before.
   */
  #gate({ deadline, request }: Job): void {
    deadline.check(request.isChange ? this.#options.requestTimeoutMs * minShareOfTime : 0);
  }

  /** Waits as long as the cloud asked for with this operation; throws where that is too long for its caller. */
  async #waitAsAsked(name: OperationName, deadline: Deadline): Promise<void> {
    const waitMs = this.#pauses.leftMs(name);
    if (waitMs > Math.min(maxWaitForRetryMs, deadline.remainingMs())) {
      const until = new Date(this.#clock.now() + waitMs).toISOString().slice(0, 16).replace('T', ' ');
      throw new CloudError('rateLimited', name, `the cloud requests a wait until ${until} UTC`, {
        key: 'the cloud requests a wait',
        retryAfterMs: waitMs,
        mayHaveActed: false,
      });
    }
    if (waitMs > 0) await sleep(this.#clock, waitMs, deadline.signal);
  }

  /** Keeps polls by this operation waiting as long as the cloud asks for it. */
  #pauseAsAsked(operation: OperationName, response: HttpResponse): void {
    const askedMs = retryAfterOf(response, this.#clock.now());
    const pauseMs = askedMs ?? (response.status === 429 ? unaskedPauseMs : 0);
    if (pauseMs <= 0) return;
    const now = this.#clock.monotonic();
    if (this.#pauses.leftMs(operation) === 0) {
      const isNews = now - this.#saidPauseAt >= sayPauseEveryMs;
      this.#options.log[isNews ? 'warn' : 'debug'](
        { operation },
        `The cloud limits requests. Waiting ${describeDuration(pauseMs)}`,
      );
      if (isNews) this.#saidPauseAt = now;
    }
    this.#pauses.record(operation, pauseMs);
  }

  async #sendForSession(
    call: Call<'sign_in' | 'refresh_token'>,
    token: string | null,
  ): Promise<SessionReply> {
    const name = call.operation;
    const deadline = new Deadline(this.#clock, [this.#closing.signal]);
    deadline.set(this.#options.requestTimeoutMs);
    const request = encodeCall(call, this.#options.routes);
    const problems = this.#problems.collect(name, {});
    const job = newJob({ name, params: {}, request, options: {}, problems }, 'valve', deadline, true);
    try {
      const { reply } = this.#readResponse(job, await this.#transmit(job, () => token));
      return reply as SessionReply;
    } catch (error) {
      throw toCloudError(name, error);
    } finally {
      deadline.dispose();
    }
  }

  /** What a response says; throws the error that its status means. */
  #readResponse(job: Job, response: HttpResponse): GoodAnswer {
    const { name, params, problems, options } = job;
    const { secrets } = this.#options;
    const hide = (text: string) => secrets.hide(text);
    const error = checkStatus(name, response, this.#clock.now(), hide);
    if (error) {
      const { status, message } = error;
      const wasMissing = this.#missingRoutes.has(name);
      if (options.isExpected || !this.#missingRoutes.recordError(name, params, status)) throw error;
      if (!wasMissing) this.#logMissing(name, status);
      throw new CloudError('unsupported', name, message, { status, mayHaveActed: false });
    }
    this.#missingRoutes.recordWorked(name);
    return readAnswer(name, response, (level, notice) => problems.report(level, hide(notice)), secrets);
  }

  #logMissing(name: OperationName, status: number | undefined): void {
    const { method, path } = routeOf(name, this.#options.routes);
    this.#options.log.info(
      { operation: name },
      `The cloud does not offer ${name} (${status} for ${method} ${path}). It is not used until the next start. If the path differs, set cloud.routes.${name}`,
    );
  }
}

function newJob(order: Order, priority: Priority, deadline: Deadline, hasTime: boolean): Job {
  return { ...order, priority, deadline, hasTime, hasWaited: false };
}

/** The priority of a call without one of its own. Lists come before single devices: one answer covers all valves or leaks. */
function priorityOf(name: OperationName, { isChange }: HttpRequest): Priority {
  if (isChange) return 'command';
  return isAccountList(name) ? 'list' : 'device';
}

/** Whether it waits for the budget, and for as long as that takes. */
function isPoll(priority: Priority): boolean {
  return priority === 'list' || priority === 'device';
}

/** While it waited for its turn, the token was refused to somebody else. */
const tokenGone = new Error();

const lateAnswer = new NetworkError('timeout: the answer came too late', {
  mayHaveActed: true,
  timedOut: true,
});

/** The one error family, whatever ended the call; anything else is a mistake of ours and is left as it is. */
function toCloudError(name: OperationName, error: unknown): unknown {
  if (error instanceof NetworkError) {
    const { kind, message, mayHaveActed, timedOut, key } = error;
    return new CloudError(kind, name, message, { mayHaveActed, timedOut, key, cause: error });
  }
  if (error instanceof GivenUp) {
    const { timedOut } = error;
    const message = timedOut ? 'timed out before the request was sent' : error.message;
    return new CloudError('unavailable', name, message, { timedOut, mayHaveActed: false, cause: error });
  }
  return error;
}
