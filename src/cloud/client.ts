import type { Random } from '../base/backoff.ts';
import { crawl, type HowFar, type ListResult, twinsIn } from './crawl.ts';
import type { DataProblem } from './dataProblems.ts';
import { CloudError } from './errors.ts';
import type { KnownPages } from './knownPages.ts';
import {
  type Call,
  type ChangeName,
  isVitalList,
  type ListName,
  movesOf,
  type OperationName,
  type RecordOf,
} from './operations.ts';
import { encodeCall } from './request.ts';
import { type CallOptions, type PipelineOptions, RequestPipeline } from './requestPipeline.ts';
import type { GoodAnswer, Page } from './response.ts';

/*
 * How the cloud is called. A call is checked and encoded by its row in `catalogue.ts` (`request.ts`), and goes through the
 * pipeline (`requestPipeline.ts`). `requestQueue.ts` decides which request is sent next, and `session.ts` has the one
 * token. A list is complete only if its pages add up (`crawl.ts`), or if it is the same twice in a row. Every failure is
 * a `CloudError`.
 */

export interface CloudClientOptions extends Omit<PipelineOptions, 'random'> {
  readonly random?: Random;
}

export interface ListOptions extends CallOptions {
  readonly onPage?: (records: HowFar) => void;
  /** Whether records of this list are known, from this run or the last one. Then a 404 does not mean that it has no route. */
  readonly isExpected?: () => boolean;
}

export interface Answered<Name extends OperationName> extends GoodAnswer {
  readonly reply: ReplyOf<Name>;
}

/** Null if a change was done and the answer has no record. */
type ReplyOf<Name extends OperationName> = Name extends ListName
  ? Page<RecordOf<Name>>
  : Name extends ChangeName
    ? RecordOf<Name> | null
    : RecordOf<Name>;

/** `unavailable`: the cloud has shown that it has no such route; `off`: `cloud.routes` switches it off. */
type OperationState = 'available' | 'unavailable' | 'off';

interface OwnCall<Name extends OperationName> {
  readonly operation: Name;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
}

/** How long a later page of a vital list may wait, in ms: a list of a thousand pages must keep to the budget. */
const maxPageWaitMs = 10_000;

export class CloudClient {
  readonly session: RequestPipeline['session'];
  readonly counter: RequestPipeline['counter'];
  readonly #options: CloudClientOptions;
  readonly #pipeline: RequestPipeline;
  readonly #pages: KnownPages = new Map();
  /** By path: the ids of the last reading of a list, if its pages did not add up. */
  readonly #unsure = new Map<string, ReadonlySet<string>>();

  constructor(options: CloudClientOptions) {
    this.#options = options;
    this.#pipeline = new RequestPipeline({ ...options, random: options.random ?? Math.random });
    this.session = this.#pipeline.session;
    this.counter = this.#pipeline.counter;
  }

  /** Ends everything when the bridge stops. */
  start(stopping: AbortSignal): void {
    this.session.start();
    if (stopping.aborted) void this.close();
    else stopping.addEventListener('abort', () => void this.close(), { once: true });
  }

  /** Ends everything that is under way, within milliseconds; stays signed in. */
  close(): Promise<void> {
    return this.#pipeline.close();
  }

  async call<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions = {},
  ): Promise<ReplyOf<Name>> {
    return (await this.callRaw(call, options)).reply;
  }

  async callRaw<Name extends OperationName>(
    call: Call<Name>,
    options: CallOptions = {},
  ): Promise<Answered<Name>> {
    const { operation: name, params = {} } = call as OwnCall<Name>;
    const problems = this.#pipeline.problems.collect(name, params);
    const request = encodeCall(call, this.#options.routes);
    const moves = movesOf(call);
    const answer = await this.#pipeline.request({ name, params, request, moves, options, problems });
    problems.end();
    return answer as Answered<Name>;
  }

  /** Throws only if not even the first page can be read. */
  async readList<Name extends ListName>(
    call: Call<Name>,
    options: ListOptions = {},
  ): Promise<ListResult<RecordOf<Name>>> {
    const { operation: name, query, params = {} } = call as OwnCall<Name>;
    const problems = this.#pipeline.problems.collect(name, params);
    const { page: _, ...otherQuery } = query ?? {};
    const request = encodeCall({ operation: name, params, query: otherQuery }, this.#options.routes);
    const joint = request.path.includes('?') ? '&' : '?';
    const found = await crawl<RecordOf<Name> & { id: string }>({
      operation: name,
      concurrency: this.#options.maxConcurrency,
      onPage: options.onPage,
      readPage: async (number) => {
        const paged = { ...request, path: `${request.path}${joint}page=${number}` };
        const prepared = { name, params, request: paged, moves: null, options, problems, pages: this.#pages };
        const vitalWaitMs = number === 1 ? 0 : maxPageWaitMs;
        const maxWaitMs = isVitalList(name) ? vitalWaitMs : undefined;
        const { reply } = await this.#pipeline.request({ ...prepared, maxWaitMs });
        return reply as Page<RecordOf<Name> & { id: string }>;
      },
    });
    if (options.signal?.aborted || this.#pipeline.isClosing) {
      throw new CloudError('unavailable', name, 'given up by its caller', { mayHaveActed: false });
    }
    const isWhole = this.#isSameAgain(request.path, found);
    if (isWhole) problems.report('info', `the list's totals are wrong: ${found.problem}`);
    const twins = twinsIn(found.records);
    for (const { id } of twins)
      problems.report('warn', `a record was skipped: its id differs from another only in case: "${id}"`);
    const records = found.records.filter((record) => !twins.includes(record));
    let list: typeof found = { ...found, records };
    if (isWhole) list = { ...list, complete: true, problem: null, isInconsistent: false };
    // No leak is left out.
    if (twins.length > 0 && name === 'list_incidents') {
      const problem = list.problem ?? `records without a usable id: ${twins.length}`;
      list = { ...list, complete: false, problem, isInconsistent: false };
    }
    if (list.complete) {
      problems.end();
      this.#pipeline.missingRoutes.recordList(name, list.records);
    }
    return list;
  }

  /** Whether the same records come twice in a row, in pages that do not add up: then only the totals are wrong. */
  #isSameAgain(path: string, list: ListResult<{ readonly id: string }>): boolean {
    const before = this.#unsure.get(path);
    this.#unsure.delete(path);
    if (!list.isInconsistent) return false;
    const ids = new Set(list.records.map(({ id }) => id));
    this.#unsure.set(path, ids);
    return list.mayBeWhole && before?.size === ids.size && [...ids].every((id) => before.has(id));
  }

  operationState(name: OperationName): OperationState {
    if (this.#options.routes[name] === null) return 'off';
    return this.#pipeline.missingRoutes.has(name) ? 'unavailable' : 'available';
  }

  isOffered(name: OperationName): boolean {
    return this.operationState(name) === 'available';
  }

  /** Whether a 404 or 405 may mean that the cloud has no such route: it is not published, and it has never worked. */
  mayBeMissing(name: OperationName): boolean {
    return this.#pipeline.missingRoutes.mayBeMissing(name);
  }

  get maxConcurrency(): number {
    return this.#options.maxConcurrency;
  }

  traffic() {
    const { rateLimits, queue } = this.#pipeline;
    const limitedMs = rateLimits.longestMs;
    return {
      requestsLastHour: this.counter.lastHour,
      /** Until when an operation must wait because the cloud limits it, in wall-clock ms; null if none must. */
      limitedUntil: limitedMs > 0 ? this.#options.clock.now() + limitedMs : null,
      /** How long the budget keeps the next poll waiting, in ms; a vital list waits a minute at most. */
      pollWaitMs: queue.pollWaitMs(),
    };
  }

  /** How far this machine's clock is ahead of the cloud's, in ms; 0 if by less than a minute. */
  get clockAheadMs(): number {
    return this.counter.aheadMs;
  }

  problems(): readonly DataProblem[] {
    return this.#pipeline.problems.latest();
  }
}
