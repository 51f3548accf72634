import { parsed } from './discoveredEntities.ts';

/** What the oracle tells this judge. */
export interface TotalContext {
  countCheck(check: string): void;
  reportViolation(words: string): void;
}

/** Litres have three decimals, and a sum of them may have a rounding error. */
const toleranceL = 0.001;

/**
 * The promise "no litre is lost": the total of a sonic's water falls only as far as the cloud has reduced
 * days that it had reported before. Neither a restart nor midnight makes the total fall.
 */
export class TotalJudge {
  readonly #context: TotalContext;
  /** The last litres that the cloud reported, by sonic and date. */
  readonly #days = new Map<string, number>();
  /** How many litres the cloud has taken back, by sonic: in total, and with its last answer. */
  readonly #takenBack = new Map<string, { readonly all: number; readonly last: number }>();
  /** The highest total that was shown, by topic, and how much had been taken back by then. */
  readonly #shown = new Map<string, { readonly total: number; readonly takenBack: number }>();

  constructor(context: TotalContext) {
    this.#context = context;
  }

  /** A new run of the bridge begins. It knows a total only from the broker or from its disk. */
  runBegan(retained: ReadonlyMap<string, string>): void {
    for (const topic of this.#shown.keys()) if (!retained.has(topic)) this.#shown.delete(topic);
  }

  /** The bridge received the daily usage of a sonic. */
  usageRead(id: string, text: string): void {
    const { daily } = parsed(text);
    let taken = 0;
    for (const { date, liters } of Array.isArray(daily) ? daily : []) {
      if (typeof liters !== 'number') continue;
      const key = `${id} ${date}`;
      const before = this.#days.get(key) ?? 0;
      taken += Math.max(0, before - liters);
      this.#days.set(key, liters);
    }
    if (taken > 0) this.#takenBack.set(id, { all: (this.#takenBack.get(id)?.all ?? 0) + taken, last: taken });
  }

  /** The topic was deleted, or several bridges write it. */
  forget(topic: string): void {
    this.#shown.delete(topic);
  }

  show(topic: string, id: string, total: number): void {
    const { countCheck, reportViolation } = this.#context;
    const { all: takenBack, last } = this.#takenBack.get(id) ?? { all: 0, last: 0 };
    const highest = this.#shown.get(topic);
    countCheck('a total falls only by corrections');
    const least = highest ? highest.total - (takenBack - highest.takenBack) - toleranceL : 0;
    // The message may have been on its way while the last answer arrived.
    if (!highest || total > highest.total) this.#shown.set(topic, { total, takenBack: takenBack - last });
    else if (total < least) {
      reportViolation(`${topic} shows a total of ${total} L after ${highest.total} L`);
      this.#shown.set(topic, { total, takenBack });
    }
  }
}
