import { parsed } from './eyes.ts';

/** What the judge is told by those who look at other things. */
export interface TotalCircumstances {
  counted(check: string): void;
  violated(words: string): void;
}

/** Litres come in thousandths, and a sum of them may be a little off. */
const toleranceL = 0.001;

/**
 * No litre is lost: the running total of a sonic's water falls only as far as the cloud has taken litres back from days that
 * it had told of before. Neither a restart nor midnight makes it fall.
 */
export class TotalJudge {
  readonly #circumstances: TotalCircumstances;
  /** What the cloud told last of each day, by sonic and date. */
  readonly #days = new Map<string, number>();
  /** How many litres it has taken back of each sonic, and of them by its last answer. */
  readonly #takenBack = new Map<string, { readonly all: number; readonly last: number }>();
  /** The highest total that was shown, by topic, with what had been taken back of it by then. */
  readonly #shown = new Map<string, { readonly total: number; readonly takenBack: number }>();

  constructor(circumstances: TotalCircumstances) {
    this.#circumstances = circumstances;
  }

  /** A bridge begins, which knows of each total what the broker has, or its disk. */
  runBegan(retained: ReadonlyMap<string, string>): void {
    for (const topic of this.#shown.keys()) if (!retained.has(topic)) this.#shown.delete(topic);
  }

  /** The bridge has heard of the water of some days. */
  heard(id: string, text: string): void {
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

  /** The broker has none there any more, or more than one bridge shows it. */
  forget(topic: string): void {
    this.#shown.delete(topic);
  }

  /** A total is shown. */
  show(topic: string, id: string, total: number): void {
    const { counted, violated } = this.#circumstances;
    const { all: takenBack, last } = this.#takenBack.get(id) ?? { all: 0, last: 0 };
    const highest = this.#shown.get(topic);
    counted('a total falls by corrections alone');
    const least = highest ? highest.total - (takenBack - highest.takenBack) - toleranceL : 0;
    // It may have been on its way while the last answer came.
    if (!highest || total > highest.total) this.#shown.set(topic, { total, takenBack: takenBack - last });
    else if (total < least) {
      violated(`${topic} shows a total of ${total} L after ${highest.total} L`);
      this.#shown.set(topic, { total, takenBack });
    }
  }
}
