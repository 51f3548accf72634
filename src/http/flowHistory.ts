import type { Clock } from '../base/clock.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Store } from '../store/store.ts';

// The flow of the last day, for the small charts of the status page. The bridge keeps it in memory while it runs,
// because the cloud only has figures of whole days. A bar of a chart first stands for one minute, so that there is
// something to see soon. When there are too many bars, each stands for a longer time. At most 48 numbers are kept for a
// valve: 400 kB for a thousand valves.

const maxBars = 48;

const minuteMs = 60_000;

/** The possible lengths of a bar. Each is a multiple of the one before, so that whole bars can be merged. */
const barLengthsMs = [1, 5, 15, 30].map((minutes) => minutes * minuteMs);

/** How often the flow is recorded, in ms. A valve measures about once a minute. */
const lookMs = minuteMs;

/** With more valves there are no charts, because they would take too much memory. */
const maxValves = 2_000;

/** The flow of a valve during a day at most. */
export interface FlowDay {
  /** When the first bar begins, in ms since 1970. */
  readonly from: number;
  /** The length of a bar, in ms. */
  readonly barMs: number;
  /** By bar: the highest measured flow, in L/min; null if nothing was measured. The last bar is the current one. */
  readonly peaks: readonly (number | null)[];
}

/** Keeps the flow of the last 24 hours. */
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

  /** Records the current flow of all valves. */
  record(): void {
    const ids = this.#store.ids('sonic');
    const kept = new Set(ids.length > maxValves ? [] : ids);
    for (const id of this.#days.keys()) if (!kept.has(id)) this.#days.delete(id);
    for (const id of kept) {
      const telemetry = this.#store.sonicView(id)?.telemetry;
      const flow = telemetry ? measurementOf(telemetry).flowLMin : null;
      if (flow === null) continue;
      const day = this.#dayOf(id) ?? emptyDay(this.#clock.now());
      this.#days.set(id, { ...day, peaks: day.peaks.with(-1, higher(day.peaks.at(-1) ?? null, flow)) });
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

function emptyDay(now: number): FlowDay {
  return { from: barStartOf(now, minuteMs), barMs: minuteMs, peaks: [null] };
}

/** The flow up to now. If the clock was set back, some bars are in the future, and the whole flow is forgotten. */
function untilNow(day: FlowDay, now: number): FlowDay | null {
  const { from, barMs, peaks } = day;
  const bars = (barStartOf(now, barMs) - from) / barMs + 1;
  if (bars < peaks.length) return null;
  const longer = barLengthsMs.find((each) => each > barMs);
  if (bars > maxBars && longer) return untilNow(merged(day, longer), now);
  const missing = Math.min(bars - peaks.length, maxBars);
  const last = [...peaks, ...Array<null>(missing).fill(null)].slice(-maxBars);
  const first = last.findIndex((flow) => flow !== null);
  if (first === -1) return null;
  return {
    from: barStartOf(now, barMs) - (last.length - 1 - first) * barMs,
    barMs,
    peaks: last.slice(first),
  };
}

/** The same flow with longer bars. */
function merged({ from, barMs, peaks }: FlowDay, longerMs: number): FlowDay {
  const start = barStartOf(from, longerMs);
  const bars: (number | null)[] = [];
  for (const [index, flow] of peaks.entries()) {
    const bar = Math.floor((from + index * barMs - start) / longerMs);
    bars[bar] = higher(bars[bar] ?? null, flow);
  }
  return { from: start, barMs: longerMs, peaks: bars };
}

function higher(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function barStartOf(ms: number, barMs: number): number {
  return Math.floor(ms / barMs) * barMs;
}
