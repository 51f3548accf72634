import type { Clock } from '../base/clock.ts';
import type { CloudClient } from '../cloud/client.ts';
import { isConnected } from '../model/devices.ts';
import type { DailyUsage } from '../model/records.ts';
import { askEach, type Question } from './askEach.ts';
import { type Failure, incomplete, type SonicSlice } from './health.ts';
import type { Ledger } from './ledger.ts';
import { LocalDays } from './localDays.ts';
import { Midnight } from './midnight.ts';
import { Pace } from './pace.ts';
import { PressureTestBook } from './pressureTestBook.ts';
import type { Store } from './store.ts';
import { UsageBook } from './usageBook.ts';

export interface SonicPollsOptions {
  /** Counts where the time zone of a property is not known. */
  readonly timezone: string;
  readonly staleAfterMs: number;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
}

/** What these polls need to know of their schedules. */
export interface SonicPollsEvents {
  /** From one poll to the next, in ms. */
  readonly periodMs: (slice: SonicSlice) => number;
  /** Whether what this slice brought grows old by itself. */
  readonly growsOldAlone: (slice: SonicSlice) => boolean;
  /** Somewhere a new day has begun. */
  readonly newDay: () => void;
}

/** A machine whose clock was not set yet says it is 1970. */
const earliestTime = Date.UTC(2024, 0);

/** Polls what is asked for sonic by sonic, and knows what of it belongs to which day. */
export class SonicPolls {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #options: SonicPollsOptions;
  readonly #events: SonicPollsEvents;
  readonly #clock: Clock;
  readonly #usage: UsageBook;
  readonly #pressureTests: PressureTestBook;
  readonly #midnight: Midnight;
  /** Telemetry is wanted as it is now, all of it. */
  readonly #paces: Readonly<Partial<Record<SonicSlice, Pace>>>;

  constructor(
    client: CloudClient,
    store: Store,
    ledger: Ledger,
    options: SonicPollsOptions,
    events: SonicPollsEvents,
    clock: Clock,
  ) {
    this.#client = client;
    this.#store = store;
    this.#options = options;
    this.#events = events;
    this.#clock = clock;
    const days = new LocalDays(options.timezone, clock);
    const timezones = () => store.ids('sonic').map((id) => days.timezoneFor(store.timezoneOf(id)));
    this.#usage = new UsageBook(store, ledger, days, () => this.#allowedMs('usage'), clock);
    this.#pressureTests = new PressureTestBook(store, days, () => this.#allowedMs('pressure_tests'), clock);
    this.#midnight = new Midnight(days, timezones, () => this.#newDay(), clock);
    this.#paces = { usage: new Pace(clock), pressure_tests: new Pace(clock) };
  }

  /** Watches the calendar from now on. */
  start(): void {
    if (!this.#options.signal.aborted) this.#midnight.start();
  }

  /** Watches it no more. */
  stop(): void {
    this.#midnight.stop();
    this.hurry();
  }

  /** Lets the polls be quick, those under way and the next. */
  hurry(): void {
    for (const pace of Object.values(this.#paces)) pace.hurry();
  }

  /** Polls a slice; null is well. Rejects where nothing could be read. */
  async poll(slice: SonicSlice): Promise<Failure | null> {
    const isByDay = slice !== 'telemetry';
    if (isByDay && this.#isClockWrong) return wrongClock(this.#clock.now());
    if (slice === 'usage') this.#usage.refresh();
    const { ids, question } = this.#inquiry(slice);
    const pace = this.#paces[slice];
    pace?.begin(ids.length, this.#events.periodMs(slice));
    const missed: Question['missed'] = (id, at) => {
      if (this.#events.growsOldAlone(slice)) question.missed(id, at);
    };
    const words = await askEach(
      ids,
      { ...question, missed },
      {
        client: this.#client,
        turn: async () => pace?.turn(),
        monotonic: () => this.#clock.monotonic(),
        signal: this.#options.signal,
      },
    );
    return words === null ? null : incomplete(words);
  }

  /** Shows what is known by day as of the present day, which is another after a midnight or in another time zone. */
  refreshDays(): void {
    if (this.#isClockWrong) return;
    this.#usage.refresh();
    this.#pressureTests.refresh();
  }

  #inquiry(slice: SonicSlice): { readonly ids: readonly string[]; readonly question: Question } {
    const ids = this.#store.ids('sonic');
    switch (slice) {
      case 'telemetry':
        return { ids: ids.filter((id) => this.#isLinked(id)), question: this.#telemetryQuestion() };
      case 'usage':
        return { ids: this.#newFirst(ids, 'usage'), question: this.#usageQuestion() };
      case 'pressure_tests':
        return { ids: this.#newFirst(ids, 'pressureTests'), question: this.#pressureTestQuestion() };
    }
  }

  #telemetryQuestion(): Question {
    return {
      operation: 'read_telemetry',
      ask: async (id) => {
        const call = { operation: 'read_telemetry', params: { sonic_id: id } } as const;
        const telemetry = await this.#client.call(call, this.#oneOfMany);
        this.#store.setTelemetry(id, telemetry, this.#clock.monotonic());
      },
      without: (id, at) => this.#store.setTelemetry(id, null, at),
      missed: (id, at) => this.#store.missedTelemetry(id, at),
      drop: () => this.#store.dropTelemetry(),
    };
  }

  #usageQuestion(): Question {
    return {
      operation: 'read_daily_usage',
      ask: (id) => this.#usage.read(id, (month) => this.#askUsage(id, month)),
      without: (id) => this.#usage.without(id),
      missed: (id) => this.#usage.missed(id),
      drop: () => this.#store.dropUsage(),
    };
  }

  #askUsage(id: string, month: string): Promise<DailyUsage> {
    const query = { month: Number(month.slice(5)), year: Number(month.slice(0, 4)) };
    const call = { operation: 'read_daily_usage', params: { thing_id: id }, query } as const;
    return this.#client.call(call, this.#oneOfMany);
  }

  #pressureTestQuestion(): Question {
    return {
      operation: 'read_pressure_tests',
      ask: async (id) => {
        const call = { operation: 'read_pressure_tests', params: { thing_id: id } } as const;
        this.#pressureTests.take(id, await this.#client.call(call, this.#oneOfMany));
      },
      without: (id) => this.#pressureTests.without(id),
      missed: (id) => this.#pressureTests.missed(id),
      drop: () => this.#store.dropPressureTests(),
    };
  }

  get #oneOfMany() {
    return { signal: this.#options.signal, isOneOfMany: true };
  }

  /** A sonic whose radio link is down measures nothing. */
  #isLinked(id: string): boolean {
    return isConnected(this.#store.sonicView(id)?.sonic.radio_connection ?? null) !== false;
  }

  /** Those first of which nothing is known yet. */
  #newFirst(ids: readonly string[], key: 'usage' | 'pressureTests'): string[] {
    const news = new Set(ids.filter((id) => this.#store.sonicView(id)?.[key] === undefined));
    return [...news, ...ids.filter((id) => !news.has(id))];
  }

  /** How long what is read by day may fail to be read and still count as the present. */
  #allowedMs(slice: SonicSlice): number {
    return Math.max(this.#options.staleAfterMs, 2 * this.#events.periodMs(slice));
  }

  get #isClockWrong(): boolean {
    return this.#clock.now() < earliestTime;
  }

  #newDay(): void {
    this.refreshDays();
    this.#events.newDay();
  }
}

function wrongClock(now: number): Failure {
  const words = `the clock of this machine says ${new Date(now).toISOString().slice(0, 10)}, so no day can be asked for`;
  return { kind: 'unreadable', words, gist: 'the clock of this machine is wrong' };
}
