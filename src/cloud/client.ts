import type { Dispatcher } from 'undici';
import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Secrets } from '../base/secrets.ts';
import { type DataProblem, DataProblems, type Hearing } from './dataProblems.ts';
import { type Deadline, endingOf, firstOf, GivenUp, orGivenUp, pause } from './deadline.ts';
import type { SessionReply } from './decoders.ts';
import { CloudError } from './errors.ts';
import { type ListResult, listAll, type PageWatcher, type Whole } from './listAll.ts';
import { NetworkError } from './networkErrors.ts';
import {
  type Call,
  type ChangeName,
  type ListName,
  type OperationName,
  operationRow,
  type RecordOf,
} from './operations.ts';
import { PageMemory } from './pageMemory.ts';
import { encodeCall, type HttpRequest, type RouteOverrides, routeOf, type UncheckedCall } from './request.ts';
import type { Priority } from './requestQueue.ts';
import type { RequestTally } from './requestTally.ts';
import {
  type GoodAnswer,
  isAboutRecords,
  isRouteGone,
  judgeStatus,
  type Page,
  readAnswer,
} from './response.ts';
import { retryWaitMs } from './retry.ts';
import { Sender, type Sending, type Traffic } from './sender.ts';
import { Session, type SessionMemory, type SessionState } from './session.ts';
import type { Received } from './transport.ts';

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
  /** `poll` unless given; what changes something is at least a `command`, so that it is never done late. */
  readonly priority?: Priority;
  readonly signal?: AbortSignal;
  /** Aborts when it is not to be sent any more, be it again: what was sent stays sent. */
  readonly sendSignal?: AbortSignal;
  /** The same is asked for many records: a 404 or 405 is about this one, and not about the route. */
  readonly isOneOfMany?: boolean;
  /** How long it may take, in ms: a command has the request timeout unless given, a poll as long as it needs. */
  readonly timeoutMs?: number;
  /** Told the status of the answer that counts, good or bad. */
  readonly onAnswer?: (status: number) => void;
}

export interface ListOptions extends CallOptions {
  readonly onPage?: PageWatcher;
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

/** Whether an operation can be asked for: `unavailable` once the cloud has shown that it has no such route. */
export type Availability = 'available' | 'unavailable' | 'off';

/** One call on its way. */
interface Errand extends Sending {
  /** Whether the answer is wanted as it was sent, too: what is remembered of a page is no more than its records. */
  readonly isSentWanted: boolean;
  readonly isOneOfMany: boolean;
  readonly hearing: Hearing;
  readonly onAnswer: (status: number) => void;
  /** Whether it has waited for a session: the time of one sign-in more is given once. */
  hasWaited: boolean;
  /** Whether it came by a new session after a 401: that is done once. */
  hasRenewed: boolean;
}

const untried = { hasWaited: false, hasRenewed: false };

/** The cloud, as the rest of the program knows it; every failure is a `CloudError`. */
export class CloudClient {
  readonly #options: CloudClientOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #sender: Sender;
  readonly #session: Session;
  readonly #problems: DataProblems;
  readonly #pages: PageMemory;
  readonly #worked = new Set<OperationName>();
  readonly #gone = new Set<OperationName>();

  constructor(options: CloudClientOptions) {
    const { clock, email, password, memory, log, secrets } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = options.random ?? Math.random;
    this.#sender = new Sender(options);
    this.#session = new Session({
      email,
      password,
      memory,
      clock,
      log,
      secrets,
      send: (call, token) => this.#sendForSession(call, token),
      onPasswordChange: options.onPasswordChange,
    });
    this.#problems = new DataProblems(clock, log);
    this.#pages = new PageMemory(secrets);
  }

  /** Takes up the session of the last run; ends everything when the signal aborts. */
  start(signal: AbortSignal): void {
    this.#session.start();
    if (signal.aborted) void this.close();
    else signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  /** Does one operation; the answer is read tolerantly, the call is checked strictly. */
  async call<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions = {},
  ): Promise<ReplyOf<Name>> {
    const { reply } = await this.#answer(call, options, false);
    return reply;
  }

  /** The same for somebody who is shown what the cloud sent. */
  callRaw<Name extends OperationName>(call: Call<Name>, options: CallOptions = {}): Promise<Answered<Name>> {
    return this.#answer(call, options, true);
  }

  /** Reads a whole list; throws only where not even its first page can be read. */
  listAll<Name extends ListName>(
    call: Call<Name>,
    options: ListOptions = {},
  ): Promise<ListResult<RecordOf<Name>>> {
    return this.#readList<Name, RecordOf<Name> & { id: string }>(call, options, false);
  }

  /** The same for somebody who is shown what the cloud sent: no record has a key more. */
  listAllRaw<Name extends ListName>(
    call: Call<Name>,
    options: ListOptions = {},
  ): Promise<ListResult<{ readonly id: string }>> {
    return this.#readList(call, options, true);
  }
  availability(name: OperationName): Availability {
    if (this.#options.routes[name] === null) return 'off';
    return this.#gone.has(name) ? 'unavailable' : 'available';
  }

  /** Whether a 404 or 405 may be about the route itself: it is published nowhere, and has never answered. */
  isInDoubt(name: OperationName): boolean {
    return isRouteGone(operationRow(name), 404, this.#worked.has(name));
  }

  /** Gives a route up that had this status for records that are there; one that is not in doubt is kept. */
  giveUp(name: OperationName, status: number | undefined): void {
    if (this.isInDoubt(name)) this.#noteGone(name, status);
  }

  traffic(): Traffic {
    return this.#sender.traffic();
  }

  /** What became of the requests so far. */
  get requestTally(): RequestTally {
    return this.#sender.tally;
  }

  /** How far the clock of this machine is ahead of the cloud's, in ms, by the last answer's; 0 if not by a minute. */
  get clockAheadMs(): number {
    return this.#sender.clockAheadMs;
  }

  /** What the cloud's clock shows, in ms since 1970; what this machine's does until an answer has told. */
  get cloudNow(): number {
    return this.#sender.cloudNow;
  }

  sessionState(): SessionState {
    return this.#session.state;
  }

  /** What is odd in the cloud's latest answers. */
  problems(): readonly DataProblem[] {
    return this.#problems.latest();
  }

  /** After a rejected password: lets the next call sign in at once, within the hard limits. */
  signInNow(): void {
    this.#session.signInNow();
  }

  /** Ends everything that is under way, within milliseconds; stays signed in. */
  async close(): Promise<void> {
    this.#session.stop();
    await this.#sender.close();
  }

  async #answer<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions,
    isSentWanted: boolean,
  ): Promise<Answered<Name>> {
    const hearing = this.#problems.listen(call.operation, (call as UncheckedCall).params);
    const request = encodeCall(call, this.#options.routes);
    const answer = await this.#sender.withDeadline(options.signal && endingOf(options.signal), (deadline) =>
      this.#do(call.operation, request, options, deadline, hearing, isSentWanted),
    );
    hearing.end();
    return answer as Answered<Name>;
  }

  async #readList<Name extends ListName, Listed extends { readonly id: string }>(
    call: Call<Name>,
    options: ListOptions,
    isSentWanted: boolean,
  ): Promise<ListResult<Listed>> {
    const { operation, query, params } = call as UncheckedCall & { operation: Name };
    const hearing = this.#problems.listen(operation, params);
    const { page: _, ...otherQuery } = (query ?? {}) as Record<string, unknown>;
    const request = encodeCall({ operation, params, query: otherQuery }, this.#options.routes);
    const joint = request.path.includes('?') ? '&' : '?';
    let startedAt: number | undefined;
    const onSend = () => {
      startedAt ??= this.#clock.now();
    };
    const { records, problem, gist, notice, isInDoubt, whole } = await this.#sender.withDeadline(
      options.signal && endingOf(options.signal),
      (deadline) =>
        listAll<Listed>({
          operation,
          workers: this.#options.maxConcurrency,
          ...(options.onPage && { onPage: options.onPage }),
          before: isSentWanted ? null : (this.#pages.recallList(request.path) as Whole<Listed> | null),
          readPage: async (number) => {
            const paged = { ...request, path: `${request.path}${joint}page=${number}` };
            const answer = await this.#do(operation, paged, options, deadline, hearing, isSentWanted, onSend);
            const page = answer.reply as Page<Listed>;
            if (!isSentWanted) return page;
            return { ...page, records: (answer.sent as { readonly data: readonly Listed[] }).data };
          },
        }),
    );
    if (whole && !isSentWanted) this.#pages.keepList(request.path, whole);
    if (options.signal?.aborted || this.#sender.isClosed) {
      throw new CloudError('unavailable', operation, 'given up by its caller', { mayHaveActed: false });
    }
    if (notice !== null) hearing.report('info', notice);
    if (problem === null) hearing.end();
    return {
      records,
      complete: problem === null,
      problem,
      gist,
      isInDoubt,
      startedAt: startedAt ?? this.#clock.now(),
    };
  }

  async #do(
    name: OperationName,
    request: HttpRequest,
    options: CallOptions,
    caller: Deadline,
    hearing: Hearing,
    isSentWanted: boolean,
    onSend = () => {},
  ): Promise<GoodAnswer> {
    if (this.#gone.has(name)) {
      throw new CloudError('unsupported', name, `the cloud does not offer ${name}`, { mayHaveActed: false });
    }
    const { priority: wanted = 'poll', sendSignal } = options;
    const priority: Priority = request.isChange && wanted === 'poll' ? 'command' : wanted;
    const { onAnswer = () => {}, isOneOfMany = false } = options;
    // Unless told otherwise, a poll waits for its turn as long as it takes; its time starts when it is sent.
    const { timeoutMs = priority === 'poll' ? null : this.#options.requestTimeoutMs } = options;
    const persist = (deadline: Deadline) =>
      this.#persist({
        name,
        request,
        priority,
        deadline,
        patience: sendSignal ? firstOf(deadline, endingOf(sendSignal)) : deadline,
        hearing,
        onSend,
        onAnswer,
        isOneOfMany,
        isSentWanted,
        ...untried,
      });
    try {
      // Without a time of its own it ends with its caller.
      if (timeoutMs === null) return await persist(caller);
      return await this.#sender.withDeadline(caller, (deadline) => {
        deadline.set(timeoutMs);
        return persist(deadline);
      });
    } catch (error) {
      throw toCloudError(name, error);
    }
  }

  /** Attempts the errand until it succeeds or the row's rule of retrying says no. */
  async #persist(errand: Errand): Promise<GoodAnswer> {
    const { name, deadline, patience } = errand;
    let last: CloudError | null = null;
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#attempt(errand);
      } catch (cause) {
        const error = toCloudError(name, cause);
        if (!(error instanceof CloudError)) throw error;
        // Where time ran out before another attempt was sent, the one before it tells more.
        if (last && error.timedOut && !error.mayHaveActed) throw last;
        last = error;
        const { retry } = operationRow(name);
        const remainingMs = deadline.remainingMs();
        const waitMs = retryWaitMs({ retry, attempts, error, remainingMs }, this.#random);
        if (waitMs === null || patience.reason) throw error;
        await pause(this.#clock, waitMs, patience);
        if (patience.reason) throw error;
      }
    }
  }

  async #attempt(errand: Errand): Promise<GoodAnswer> {
    const { name } = errand;
    if (name === 'sign_in') return this.#read(errand, await this.#sender.send(errand, () => null));

    const renewal = this.#session.renewalDue(errand.priority !== 'poll');
    if (renewal !== null) await this.#waitFor(renewal, errand);
    let used: string | null = null;
    const token = () => {
      used = this.#session.token;
      if (used === null) throw new CloudError('auth', name, 'there is no session', { mayHaveActed: false });
      return used;
    };
    let answer = await this.#sender.send(errand, token);
    if (answer.status === 401 && !errand.hasRenewed) {
      await this.#waitFor(this.#session.replace(used), errand);
      errand.hasRenewed = true;
      answer = await this.#sender.send(errand, token);
      if (answer.status === 401) this.#session.noteFutileRenewal();
    }
    errand.onAnswer(answer.status);
    const good = this.#read(errand, answer);
    if (name === 'refresh_token') this.#session.adopt(good.reply as SessionReply);
    if (name === 'sign_out') this.#session.forget();
    return good;
  }

  /** Waits for a new session; a command is given the time of one sign-in more. */
  async #waitFor(renewal: Promise<void>, errand: Errand): Promise<void> {
    const { priority, deadline, patience } = errand;
    if (priority !== 'poll' && !errand.hasWaited) deadline.extend(this.#options.requestTimeoutMs);
    errand.hasWaited = true;
    await orGivenUp(renewal, patience);
  }

  async #sendForSession(
    call: Call<'sign_in' | 'refresh_token'>,
    token: string | null,
  ): Promise<SessionReply> {
    const name = call.operation;
    const request = encodeCall(call, this.#options.routes);
    const hearing = this.#problems.listen(name, {});
    try {
      return await this.#sender.withDeadline(undefined, async (deadline) => {
        deadline.set(this.#options.requestTimeoutMs);
        const errand: Errand = {
          name,
          request,
          priority: 'urgent',
          deadline,
          patience: deadline,
          hearing,
          onSend: () => {},
          onAnswer: () => {},
          isOneOfMany: false,
          isSentWanted: false,
          ...untried,
        };
        const { reply } = this.#read(errand, await this.#sender.send(errand, () => token));
        return reply as SessionReply;
      });
    } catch (error) {
      throw toCloudError(name, error);
    }
  }

  #read(errand: Errand, answer: Received): GoodAnswer {
    const { name, request, priority, hearing, isOneOfMany, isSentWanted } = errand;
    const { secrets } = this.#options;
    const hide = (text: string) => secrets.hide(text);
    const error = judgeStatus(name, answer, this.#clock.now(), hide);
    if (error) {
      const row = operationRow(name);
      const isAboutRecord = isAboutRecords(row) && (isOneOfMany || this.#worked.has(name));
      if (!isRouteGone(row, error.status, isAboutRecord)) throw error;
      this.#noteGone(name, error.status);
      throw new CloudError('unsupported', name, error.message, { status: error.status, mayHaveActed: false });
    }
    this.#worked.add(name);
    const isPage = operationRow(name).reply.kind === 'page' && !answer.bodyProblem;
    const isPolledPage = priority === 'poll' && isPage && !isSentWanted;
    const known = isPolledPage && this.#pages.recall(request.path, answer.bytes);
    if (known) return { reply: known, sent: null };
    let isOdd = false;
    const good = readAnswer(
      name,
      answer,
      (level, notice) => {
        isOdd = true;
        hearing.report(level, hide(notice));
      },
      secrets,
    );
    // What is odd is told each time.
    if (isPolledPage && !isOdd) this.#pages.keep(request.path, answer.bytes, good.reply as Page<unknown>);
    return good;
  }

  #noteGone(name: OperationName, status: number | undefined): void {
    if (this.#gone.has(name)) return;
    this.#gone.add(name);
    const { method, path } = routeOf(name, this.#options.routes);
    this.#options.log.info(
      { operation: name },
      `The cloud does not offer ${name}: ${status} for ${method} ${path}. It is not asked again until the next start; if your cloud has it elsewhere, say so in cloud.routes.${name}`,
    );
  }
}

/** The one error family, whatever ended the call; anything else is a mistake of ours and is left as it is. */
function toCloudError(name: OperationName, error: unknown): unknown {
  if (error instanceof NetworkError) {
    const { kind, message, mayHaveActed, timedOut, gist } = error;
    return new CloudError(kind, name, message, { mayHaveActed, timedOut, gist, cause: error });
  }
  if (error instanceof GivenUp) {
    const { timedOut } = error;
    const words = timedOut ? 'timed out before the cloud could be asked' : error.message;
    return new CloudError('unavailable', name, words, { timedOut, mayHaveActed: false, cause: error });
  }
  return error;
}
