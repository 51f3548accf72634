import type { OperationName } from '../cloud/operations.ts';

/** A request as it was judged. */
export interface JudgedRequest {
  /** Ms since 1970. */
  readonly at: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Null where the path or its method is unknown. */
  readonly operation: OperationName | null;
  /** Null where no answer was given. */
  readonly status: number | null;
  /** The request's body: JSON that was read, else its text; null without one. */
  readonly body: unknown;
}

const mostEntries = 2_000;

/** The newest requests, and how many there were in all. */
export class RequestLog {
  #entries: JudgedRequest[] = [];
  readonly #counts = new Map<OperationName, number>();
  #total = 0;

  /** Oldest first, at least the newest 2,000 of them. */
  get entries(): readonly JudgedRequest[] {
    return this.#entries;
  }

  add(request: JudgedRequest): void {
    this.#entries.push(request);
    if (this.#entries.length > 2 * mostEntries) this.#entries = this.#entries.slice(-mostEntries);
    this.#total++;
    if (request.operation) this.#counts.set(request.operation, this.count(request.operation) + 1);
  }

  /** How many requests came, for one operation or in all; forgotten ones count too. */
  count(operation?: OperationName): number {
    return operation ? (this.#counts.get(operation) ?? 0) : this.#total;
  }

  /** Starts again with nothing. */
  clear(): void {
    this.#entries = [];
    this.#counts.clear();
    this.#total = 0;
  }
}
