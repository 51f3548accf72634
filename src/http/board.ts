import type { Clock } from '../base/clock.ts';
import type { StatusSnapshot } from '../health/statusSnapshot.ts';
import { pageNearest, statusOf } from './status.ts';

/** What was gathered serves everybody who looks within this time. */
const keptMs = 900;

/** The documents of the page, written when somebody looks: nothing is kept or counted for nobody. */
export class Board {
  readonly #gather: () => StatusSnapshot;
  readonly #hide: (text: string) => string;
  readonly #clock: Clock;
  #overview: StatusSnapshot | null = null;
  readonly #texts = new Map<number, string>();

  constructor(gather: () => StatusSnapshot, hide: (text: string) => string, clock: Clock) {
    this.#gather = gather;
    this.#hide = hide;
    this.#clock = clock;
  }

  /** One page of it as JSON: of the pages that there are, whatever is asked for. */
  text(wantedPage: number): string {
    const overview = this.#look();
    const { number } = pageNearest(overview, wantedPage);
    const text = this.#texts.get(number) ?? JSON.stringify(statusOf(overview, this.#hide, number));
    this.#texts.set(number, text);
    return text;
  }

  /** The same with the time, by which a browser whose clock is wrong tells how old things are. */
  withTime(text: string): string {
    return `{"now":${this.#clock.now()},"status":${text}}`;
  }

  #look(): StatusSnapshot {
    if (this.#overview) return this.#overview;
    this.#overview = this.#gather();
    this.#clock.after(keptMs, () => {
      this.#overview = null;
      this.#texts.clear();
    });
    return this.#overview;
  }
}
