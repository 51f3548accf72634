import type { Clock } from '../base/clock.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Store } from '../store/store.ts';

// The flow of the last day, for the small charts of the status page. The bridge keeps it in memory while it runs,
// because the cloud only has figures of whole days.

/** The length of a bar of a chart, in ms. */
const barMs = 30 * 60_000;

const maxBars = 48;

/** How often the flow is recorded, in ms. A valve measures about once a minute. */
const lookMs = 60_000;

/** With more valves there are no charts, because they would take too much memory. */
const maxValves = 2_000;

export interface FlowDay {
  /** When the first bar begins, in ms since 1970. */
  readonly from: number;
  /** By half an hour: the highest measured flow, in L/min; null if nothing was measured. The last bar is the current one. */
  readonly peaks: readonly (number | null)[];
}

export class FlowHistory {
  readonly #store: Pick<Store, 'ids' | 'sonicView'>;
  readonly #clock: Clock;
  /** By sonic. */
  readonly #days = new Map<string, FlowDay>();

  constructor(store: Pick<Store, 'ids' | 'sonicView'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Records the flow every minute, until the signal aborts. */
  start(stopping: AbortSignal): void {
    const lookAgain = () => {
      if (stopping.aborted) return;
      this.record();
      cancel = this.#clock.after(lookMs, lookAgain);
    };
    let cancel = this.#clock.after(lookMs, lookAgain);
    stopping.addEventListener('abort', () => cancel());
  }

  record(): void {
    const ids = this.#store.ids('sonic');
    const kept = new Set(ids.length > maxValves ? [] : ids);
    for (const id of this.#days.keys()) if (!kept.has(id)) this.#days.delete(id);
    for (const id of kept) {
      const telemetry = this.#store.sonicView(id)?.telemetry;
      const flow = telemetry ? measurementOf(telemetry).flowLMin : null;
      if (flow === null) continue;
      const day = this.#dayOf(id) ?? { from: barStartOf(this.#clock.now()), peaks: [null] };
      const peak = Math.max(day.peaks.at(-1) ?? flow, flow);
      this.#days.set(id, { ...day, peaks: day.peaks.with(-1, peak) });
    }
  }

  /** The flow from the first bar with a measurement until now; null if nothing was measured. */
  of(sonicId: string): FlowDay | null {
    const day = this.#dayOf(sonicId);
    const rounded = (flow: number | null) => (flow === null ? null : Math.round(flow * 10) / 10);
    return day && { ...day, peaks: day.peaks.map(rounded) };
  }

  /** The part of the flow within the last 24 hours, up to now; null if there is none. */
  #dayOf(sonicId: string): FlowDay | null {
    const kept = this.#days.get(sonicId);
    return kept ? untilNow(kept, this.#clock.now()) : null;
  }
}

/** The flow up to now. If the clock was set back, some bars are in the future, and the whole flow is forgotten. */
function untilNow({ from, peaks }: FlowDay, now: number): FlowDay | null {
  const last = barStartOf(now);
  const missing = (last - from) / barMs + 1 - peaks.length;
  if (missing < 0) return null;
  const bars = [...peaks, ...Array<null>(Math.min(missing, maxBars)).fill(null)].slice(-maxBars);
  const first = bars.findIndex((flow) => flow !== null);
  if (first === -1) return null;
  return { from: last - (bars.length - 1 - first) * barMs, peaks: bars.slice(first) };
}

function barStartOf(ms: number): number {
  return Math.floor(ms / barMs) * barMs;
}
