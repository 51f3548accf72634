/** Keeps over a restart when each sonic last measured that no water runs, in Unix seconds. */
export interface RestMemory {
  /** Null if no time is kept. */
  readonly restedAt: (sonicId: string) => number | null;
  readonly recordRest: (sonicId: string, at: number) => void;
  readonly forgetRest: (sonicId: string) => void;
}

/** By sonic: when it last measured that no water runs, in Unix seconds. */
export class RestTimes {
  readonly #memory: RestMemory | undefined;
  readonly #rested = new Map<string, number>();

  constructor(memory: RestMemory | undefined) {
    this.#memory = memory;
  }

  /** In Unix seconds; null if no time is known. */
  of(sonicId: string): number | null {
    return this.#rested.get(sonicId) ?? this.#memory?.restedAt(sonicId) ?? null;
  }

  /** Records that no water ran at this time. Returns whether this is later than the last time. */
  record(sonicId: string, at: number): boolean {
    if (at <= (this.of(sonicId) ?? 0)) return false;
    this.#rested.set(sonicId, at);
    this.#memory?.recordRest(sonicId, at);
    return true;
  }

  /** Forgets a sonic that is no longer shown. */
  forget(sonicId: string): void {
    this.#rested.delete(sonicId);
    this.#memory?.forgetRest(sonicId);
  }
}
