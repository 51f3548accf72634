/** What became of the requests so far, for whoever watches the bridge. */
export interface RequestTally {
  /** How many were answered by statuses that begin so, as in `2xx`; `none` were not answered. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** From sending them to their answers or ends, in all. */
  readonly ms: number;
}

/** Counts requests by what became of them. */
export class RequestCount {
  readonly #byStatus = new Map<string, number>();
  #ms = 0;

  /** Notes one that took so many ms; null, it was not answered. */
  add(status: number | null, ms: number): void {
    const word = status === null ? 'none' : `${Math.floor(status / 100)}xx`;
    this.#byStatus.set(word, (this.#byStatus.get(word) ?? 0) + 1);
    this.#ms += ms;
  }

  get tally(): RequestTally {
    return { byStatus: Object.fromEntries(this.#byStatus), ms: this.#ms };
  }
}
