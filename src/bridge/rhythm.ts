import type { Clock } from '../base/clock.ts';
import type { Schedule } from '../base/schedule.ts';
import type { Telemetry } from '../model/records.ts';
import { listPeriodMs, type Mood, moodOf, type Trace, telemetryPeriodMs } from './tempo.ts';

export interface RhythmOptions {
  readonly schedules: Readonly<Record<'sonics' | 'telemetry', Schedule>>;
  readonly staleAfterMs: number;
  /** Whether polls wait for the budget: then nothing is hurried. */
  readonly isBudgetShort: () => boolean;
  /** Something is due sooner than it was. */
  readonly onStir: () => void;
}

interface SonicTrace extends Trace {
  /** When the round began in which it was last asked for its telemetry; null if that is to be done anew. */
  readonly askedAt: number | null;
  /** What it measured. */
  readonly values: string;
}

const untouched: SonicTrace = { stirredAt: null, restingSince: null, askedAt: null, values: '' };

/** What is due in one round all the same, lest each sonic have a round of its own. */
const togetherShare = 0.05;

/** Knows how often the sonics are worth a look, each by what it did; what a cron expression schedules it leaves alone. */
export class Rhythm {
  readonly #options: RhythmOptions;
  readonly #clock: Clock;
  readonly #sonics = new Map<string, SonicTrace>();
  /** The sonics of the last round, asked or not. */
  #linked: readonly string[] = [];
  #listStirredAt: number | null = null;

  constructor(options: RhythmOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Something happened at a sonic, or at one of which nobody knows which: null. */
  stir(sonicId: string | null): void {
    const now = this.#clock.monotonic();
    this.#listStirredAt = now;
    if (sonicId !== null) this.#change(sonicId, { stirredAt: now });
    this.#options.onStir();
  }

  /** Takes in what a sonic measured. */
  measured(sonicId: string, { pressure, water_flow: flow, water_temp: temperature }: Telemetry): void {
    const values = [pressure, flow, temperature].join();
    const before = this.#sonics.get(sonicId) ?? untouched;
    const isSame = values === before.values && before.restingSince !== null;
    this.#change(sonicId, { values, restingSince: isSame ? before.restingSince : this.#clock.monotonic() });
    // Where it flows evenly no value changes, but it is lively all the same.
    if ((flow ?? 0) > 0) this.stir(sonicId);
  }

  /** A sonic's telemetry could not be read: it is asked again with the next round, and may have done anything. */
  missed(sonicId: string): void {
    this.#change(sonicId, { askedAt: null, restingSince: null });
  }

  /** Those of the sonics whose telemetry is due in the round that begins now, the lively ones first. */
  due(sonicIds: readonly string[]): string[] {
    this.#linked = sonicIds;
    const { telemetry } = this.#options.schedules;
    if (telemetry.kind === 'cron') return [...sonicIds];
    const now = this.#clock.monotonic();
    const dueAt = this.#dueAt(telemetry.everyMs, now);
    const untilMs = now + telemetry.everyMs * togetherShare;
    const due = sonicIds.filter((id) => (dueAt(this.#traceOf(id)) ?? now) <= untilMs);
    for (const id of due) this.#change(id, { askedAt: now });
    const isLively = (id: string) => moodOf(this.#traceOf(id), telemetry.everyMs, now) === 'lively';
    return [...due.filter(isLively), ...due.filter((id) => !isLively(id))];
  }

  /** Forgets all other sonics. */
  keepOnly(sonicIds: readonly string[]): void {
    const kept = new Set(sonicIds);
    for (const id of this.#sonics.keys()) if (!kept.has(id)) this.#sonics.delete(id);
  }

  /** Lets all be due. */
  hurry(): void {
    for (const id of this.#sonics.keys()) this.#change(id, { askedAt: null });
  }

  /** When the list of sonics is to be read again. */
  nextListAt(startedAt: number, everyMs: number): number {
    const trace = { stirredAt: this.#listStirredAt, restingSince: null };
    const mood = this.#affording()(moodOf(trace, everyMs, this.#clock.monotonic()));
    return startedAt + listPeriodMs(mood, everyMs);
  }

  /** When the next round of telemetry is to begin: as soon as a sonic is due, and as the schedule says at the latest. */
  nextTelemetryAt(startedAt: number, everyMs: number): number {
    const dueAt = this.#dueAt(everyMs, this.#clock.monotonic());
    let nextAt = startedAt + everyMs;
    for (const id of this.#linked) nextAt = Math.min(nextAt, dueAt(this.#traceOf(id)) ?? nextAt);
    return Math.max(nextAt, startedAt + everyMs * togetherShare);
  }

  /** When a sonic is due; null where it was not asked yet, or in vain. */
  #dueAt(everyMs: number, now: number): (trace: SonicTrace) => number | null {
    const afforded = this.#affording();
    return (trace) => {
      if (trace.askedAt === null) return null;
      const mood = afforded(moodOf(trace, everyMs, now));
      return trace.askedAt + telemetryPeriodMs(mood, everyMs, this.#options.staleAfterMs);
    };
  }

  /** What the budget makes of moods; it is looked at only where somebody is lively, and once. */
  #affording(): (mood: Mood) => Mood {
    let isShort: boolean | undefined;
    return (mood) => {
      if (mood !== 'lively') return mood;
      isShort ??= this.#options.isBudgetShort();
      return isShort ? 'steady' : mood;
    };
  }

  #traceOf(sonicId: string): SonicTrace {
    return this.#sonics.get(sonicId) ?? untouched;
  }

  #change(sonicId: string, change: Partial<SonicTrace>): void {
    this.#sonics.set(sonicId, { ...this.#traceOf(sonicId), ...change });
  }
}
