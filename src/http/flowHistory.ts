import type { Clock } from '../base/clock.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Store } from '../store/store.ts';

// The flow of the last day, for the small charts of the status page. It is kept in memory while the bridge runs, since
// the cloud has figures of whole days only. 48 numbers a valve: 200 kB for a thousand of them.

const intervalMs = 30 * 60_000;
const intervals = 48;

/** How often the flow is looked at; a valve measures about once a minute. */
const lookMs = 60_000;

/** With more valves than that nobody looks at small charts, and the memory is better saved. */
const maxValves = 2_000;

/** The highest flow that was measured in each half hour, L/min; null where none was measured. */
export interface FlowDay {
  /** When the first half hour began, in ms. */
  readonly from: number;
  readonly peaks: readonly (number | null)[];
}

/** Keeps the flow of the last 24 hours. */
export class FlowHistory {
  readonly #store: Pick<Store, 'ids' | 'sonicView'>;
  readonly #clock: Clock;
  /** By sonic, a ring of half hours; NaN where nothing was measured. */
  readonly #rings = new Map<string, Float32Array>();
  /** The present half hour, counted since 1970. */
  #interval = 0;

  constructor(store: Pick<Store, 'ids' | 'sonicView'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Looks at the flow every minute, until it is stopped. */
  start(signal: AbortSignal): void {
    const lookAgain = () => {
      if (signal.aborted) return;
      this.record();
      cancel = this.#clock.after(lookMs, lookAgain);
    };
    let cancel = this.#clock.after(lookMs, lookAgain);
    signal.addEventListener('abort', () => cancel());
  }

  /** Takes in the flow of this moment. */
  record(): void {
    this.#advance();
    const ids = this.#store.ids('sonic');
    const kept = new Set(ids.length > maxValves ? [] : ids);
    for (const id of this.#rings.keys()) if (!kept.has(id)) this.#rings.delete(id);
    for (const id of kept) {
      const telemetry = this.#store.sonicView(id)?.telemetry;
      const flow = telemetry ? measurementOf(telemetry).flowLMin : null;
      if (flow === null) continue;
      const ring = this.#rings.get(id) ?? new Float32Array(intervals).fill(Number.NaN);
      this.#rings.set(id, ring);
      const index = this.#interval % intervals;
      const before = ring[index] ?? Number.NaN;
      ring[index] = Number.isNaN(before) ? flow : Math.max(before, flow);
    }
  }

  /** From the first half hour with a measurement until now; null without any. */
  of(sonicId: string): FlowDay | null {
    this.#advance();
    const ring = this.#rings.get(sonicId);
    if (!ring) return null;
    const oldest = this.#interval - intervals + 1;
    const peaks = Array.from({ length: intervals }, (_, index) => {
      const flow = ring[(oldest + index) % intervals] ?? Number.NaN;
      return Number.isNaN(flow) ? null : Math.round(flow * 10) / 10;
    });
    const first = peaks.findIndex((flow) => flow !== null);
    if (first === -1) return null;
    return { from: (oldest + first) * intervalMs, peaks: peaks.slice(first) };
  }

  /** Forgets what is older than a day. A clock that is set back leaves half hours that are still to come: all goes. */
  #advance(): void {
    const now = Math.floor(this.#clock.now() / intervalMs);
    const passed = now - this.#interval;
    if (passed === 0) return;
    for (const ring of this.#rings.values()) {
      if (passed < 0 || passed >= intervals) ring.fill(Number.NaN);
      else for (let each = 1; each <= passed; each++) ring[(this.#interval + each) % intervals] = Number.NaN;
    }
    this.#interval = now;
  }
}
