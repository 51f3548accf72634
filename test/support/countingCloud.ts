import type { CloudClient } from '../../src/cloud/client.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import { readList } from '../../src/cloud/readList.ts';
import type { UncheckedCall } from '../../src/cloud/request.ts';
import type { Page } from '../../src/cloud/response.ts';

const pageSize = 10;

/** What the cloud has: records by list, and answers by operation; what is in neither it does not offer. */
export interface Offer {
  readonly lists: Readonly<Partial<Record<OperationName, readonly { readonly id: string }[]>>>;
  readonly answers: Readonly<Partial<Record<OperationName, (call: UncheckedCall) => unknown>>>;
}

/** Stands in for the client of a cloud that answers at once, and counts what would be requests. */
export class CountingCloud {
  readonly #offer: Offer;
  readonly #now: () => number;
  #requests = 0;
  readonly #asked: string[] = [];
  /** How long the budget keeps polls waiting, in ms. */
  pollWaitMs = 0;

  /** `now` is what the cloud's clock shows, in ms since 1970. */
  constructor(offer: Offer, now: () => number = Date.now) {
    this.#offer = offer;
    this.#now = now;
  }

  /** How many there were until now. */
  get requests(): number {
    return this.#requests;
  }

  /** What was asked since the last time that this was read: operations with their parameters, each list once. */
  takeAsked(): readonly string[] {
    return this.#asked.splice(0);
  }

  /** As those take it that ask. */
  get client(): CloudClient {
    const now = this.#now;
    const client = {
      get cloudNow() {
        return now();
      },
      isOffered: (name: OperationName) => this.#offers(name),
      traffic: () => ({
        requestsLastHour: 0,
        limitedUntil: null,
        pollWaitMs: this.pollWaitMs,
        isUsedUp: false,
      }),
      sessionState: () => ({ status: 'signedIn' }),
      isInDoubt: () => false,
      call: async (call: UncheckedCall) => {
        const answer = this.#offer.answers[this.#ask(call)];
        if (!answer) throw new Error(`nobody said what ${call.operation} answers`);
        return answer(call);
      },
      readList: async (call: UncheckedCall) => {
        const operation = this.#ask(call);
        this.#requests -= 1;
        const records = this.#offer.lists[operation] ?? [];
        const crawl = await readList({
          operation,
          concurrency: 4,
          readPage: async (page) => {
            this.#requests += 1;
            return pageOf(records, page);
          },
        });
        return { ...crawl, complete: crawl.problem === null, startedAt: 0 };
      },
    };
    return client as unknown as CloudClient;
  }

  #offers(name: OperationName): boolean {
    return name in this.#offer.lists || name in this.#offer.answers;
  }

  /** The client itself knows what the cloud does not offer, and sends nothing. */
  #ask({ operation, params }: UncheckedCall): OperationName {
    const name = operation as OperationName;
    if (!this.#offers(name)) {
      throw new CloudError('unsupported', name, `the cloud does not offer ${name}`, { mayHaveActed: false });
    }
    this.#requests += 1;
    this.#asked.push([name, ...Object.values(params ?? {})].join(' '));
    return name;
  }
}

function pageOf<T>(records: readonly T[], page: number): Page<T> {
  return {
    records: records.slice((page - 1) * pageSize, page * pageSize),
    dropped: 0,
    nameless: 0,
    pageNumber: page,
    pageSize,
    totalEntries: records.length,
    totalPages: Math.ceil(records.length / pageSize),
  };
}
