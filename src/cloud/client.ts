import type { Random } from '../base/backoff.ts';
import { crawl, type ListResult, type PageWatcher } from './crawl.ts';
import type { DataProblem } from './dataProblems.ts';
import { CloudError } from './errors.ts';
import {
  type Call,
  type ChangeName,
  isVitalList,
  type ListName,
  type OperationName,
  type RecordOf,
} from './operations.ts';
import { encodeCall } from './request.ts';
import type { RequestTotals } from './requestCounter.ts';
import { type CallOptions, type PipelineOptions, RequestPipeline } from './requestPipeline.ts';
import type { GoodAnswer, Page } from './response.ts';
import type { SessionState } from './session.ts';

export interface CloudClientOptions extends Omit<PipelineOptions, 'random'> {
  readonly random?: Random;
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

/** The other pages wait for their turn so long, in ms: a list of a thousand has to keep to the budget somehow. */
const maxPageWaitMs = 10_000;

/**
 * The cloud, as the rest of the program knows it; every failure is a `CloudError`. A call is checked and encoded by its row
 * in `catalogue.ts`, and goes through the pipeline, which has the session, the limits and the connections. A list is read
 * page by page (`crawl.ts`), each page a request of its own. Here is also what the program may ask about the cloud: what it
 * offers, what keeps requests waiting, and what is odd in its answers.
 */
export class CloudClient {
  readonly #options: CloudClientOptions;
  readonly #pipeline: RequestPipeline;

  constructor(options: CloudClientOptions) {
    this.#options = options;
    this.#pipeline = new RequestPipeline({ ...options, random: options.random ?? Math.random });
  }

  /** Takes up the session of the last run; ends everything when the bridge stops. */
  start(stopping: AbortSignal): void {
    this.#pipeline.session.start();
    if (stopping.aborted) void this.close();
    else stopping.addEventListener('abort', () => void this.close(), { once: true });
  }

  /** Ends everything that is under way, within milliseconds; stays signed in. */
  close(): Promise<void> {
    return this.#pipeline.close();
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
    const problems = this.#pipeline.problems.collect(name, params);
    const request = encodeCall(call, this.#options.routes);
    const answer = await this.#pipeline.request({ name, params, request, options, problems });
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
    return this.#pipeline.missingRoutes.has(name) ? 'unavailable' : 'available';
  }

  /** Whether an operation can be called. */
  isOffered(name: OperationName): boolean {
    return this.operationState(name) === 'available';
  }

  /** Whether a 404 or 405 may mean that the cloud has no such route: nobody has published it, and it has never worked. */
  isInDoubt(name: OperationName): boolean {
    return this.#pipeline.missingRoutes.isInDoubt(name);
  }

  /** How many requests are in flight at most: who makes many needs no more than that at a time. */
  get maxConcurrency(): number {
    return this.#options.maxConcurrency;
  }

  traffic(): Traffic {
    const { counter, pauses, queue } = this.#pipeline;
    const now = this.#options.clock.now();
    const pausedUntil = new Map([...pauses.all].map(([name, ms]) => [name, now + ms]));
    return {
      requestsLastHour: counter.lastHour,
      pausedUntil,
      limitedUntil: pausedUntil.size > 0 ? Math.max(...pausedUntil.values()) : null,
      vitalWaitMs: queue.limitedWaitMs(),
      pollWaitMs: queue.pollWaitMs(),
      isUsedUp: queue.isUsedUp(),
    };
  }

  /** What became of the requests so far. */
  get requestTotals(): RequestTotals {
    return this.#pipeline.counter.totals;
  }

  /** How far the clock of this machine is ahead of the cloud's, in ms, by the last answer's; 0 if not by a minute. */
  get clockAheadMs(): number {
    return this.#pipeline.cloudClock.aheadMs;
  }

  /** What the cloud's clock shows, in ms since 1970; what this machine's does until an answer has told. */
  get cloudNow(): number {
    return this.#pipeline.cloudClock.now;
  }

  sessionState(): SessionState {
    return this.#pipeline.session.state;
  }

  /** What is odd in the cloud's latest answers. */
  problems(): readonly DataProblem[] {
    return this.#pipeline.problems.latest();
  }

  /**
   * Somebody asks for everything now: no poll waits any longer because the cloud has asked it to, and after a rejected
   * password the next call signs in at once, within the hard limits.
   */
  refresh(): void {
    this.#pipeline.pauses.clear();
    this.#pipeline.session.signInNow();
  }

  async #readWhole<Name extends ListName, Listed extends { readonly id: string }>(
    call: Call<Name>,
    options: ListOptions,
    pageOf: (answer: GoodAnswer) => Page<Listed>,
  ): Promise<ListResult<Listed>> {
    const { operation: name, query, params = {} } = call as OwnCall<Name>;
    const problems = this.#pipeline.problems.collect(name, params);
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
        const prepared = { name, params, request: paged, options, problems };
        const maxWaitMs = number === 1 ? 0 : maxPageWaitMs;
        return pageOf(await this.#pipeline.request({ ...prepared, ...(isVitalList(name) && { maxWaitMs }) }));
      },
    });
    if (options.signal?.aborted || this.#pipeline.isClosing) {
      throw new CloudError('unavailable', name, 'given up by its caller', { mayHaveActed: false });
    }
    if (list.complete) {
      problems.end();
      this.#pipeline.missingRoutes.recordList(name, list.records);
    }
    return list;
  }
}
