import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import { isConnected } from '../model/devices.ts';
import type { DailyUsage, Telemetry } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Store } from '../store/store.ts';
import { askEach, type Question, type Shortfall } from './askEach.ts';
import { type Flaw, flawOf, together } from './flaw.ts';
import { LocalDays } from './localDays.ts';
import { Midnight } from './midnight.ts';
import { PressureTestBook } from './pressureTestBook.ts';
import { type Failure, incomplete, type SonicSlice } from './slices.ts';
import { SonicDays } from './sonicDays.ts';
import { isStillThere } from './stillThere.ts';
import { UsageBook } from './usageBook.ts';

export interface SonicPollsOptions {
  readonly client: CloudClient;
  readonly store: Store;
  readonly ledger: Ledger;
  /** Counts where the time zone of a property is not known. */
  readonly timezone: string;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
  /** From one poll to the next, in ms. */
  readonly periodMs: (slice: SonicSlice) => number;
  /** How long what is read by day may fail to be read and still count as the present, in ms. */
  readonly allowedMs: (slice: SonicSlice) => number;
  /** Until when what this slice brought grows old by itself, in ms of the monotonic clock. */
  readonly agesUntil: (slice: SonicSlice) => number;
  /** Whether the cloud answers, as far as is known; not while a list is on its way that decides it. */
  readonly isCloudThere: () => boolean;
  /** Of how many sonics how many were asked about. */
  readonly howFar: (slice: SonicSlice, asked: number, total: number) => void;
  /** Somewhere a new day has begun. */
  readonly newDay: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** A question, and the sonics of which it is asked. */
interface Inquiry {
  readonly ids: readonly string[];
  readonly question: Question;
}

/** A machine whose clock was not set yet says it is 1970. */
const earliestTime = Date.UTC(2024, 0);

/** A clock that is months ahead would close months that are not over, and one that is behind shows past days as today. */
const mostAheadMs = 24 * 3_600_000;

const timerToleranceMs = 2;

/** Fewer sonics than that are asked without a pause. */
const fewestSpread = 20;

/** Between the questions about two of more sonics, so that the cloud is not asked hundreds at once. */
const longestGapMs = 100;

/** The last is asked before the first is due again, even if there are as many Wi-Fi sonics, which come after them. */
const shareOfPeriod = 0.4;

/** The pauses before the readings that look for a test that was just started: a cloud may tell of it only after a while. */
const newTestWaitsMs = [500, 2_000, 5_000, 10_000, 30_000];

/** Polls what is asked for sonic by sonic, and knows what of it belongs to which day. */
export class SonicPolls {
  readonly #options: SonicPollsOptions;
  /** Sonics that measure no more: the cloud tells old measurements only. */
  readonly #silent = new Set<string>();
  #cancelExpiry: () => void = () => {};
  readonly #usage: UsageBook;
  readonly #pressureTests: PressureTestBook;
  readonly #midnight: Midnight;

  constructor(options: SonicPollsOptions) {
    this.#options = options;
    const { store, ledger, timezone, allowedMs, clock } = options;
    const localDays = new LocalDays(clock);
    const days = new SonicDays(store, ledger, localDays, timezone);
    const timezones = () => store.ids('sonic').map((id) => days.timezoneOf(id));
    this.#usage = new UsageBook(store, ledger, days, () => allowedMs('usage'), clock);
    this.#pressureTests = new PressureTestBook(store, days, () => allowedMs('pressure_tests'), clock);
    this.#midnight = new Midnight(localDays, timezones, () => this.#newDay(), clock);
  }

  /** Watches the calendar from now on. */
  start(): void {
    if (!this.#options.signal.aborted) this.#midnight.start();
  }

  /** Watches it no more. */
  stop(): void {
    this.#midnight.stop();
    this.#cancelExpiry();
  }

  /**
   * Measurements that are too old by now pass for the present no longer, be it between two polls; but a cloud that is
   * away makes everything unavailable, and changes no value.
   */
  expireTelemetry(): void {
    const { store, isCloudThere, clock, signal } = this.#options;
    this.#cancelExpiry();
    if (signal.aborted || !isCloudThere()) return;
    const leftMs = store.expireTelemetry(clock.monotonic());
    // A timer may go off a little before its time.
    if (Number.isFinite(leftMs)) {
      this.#cancelExpiry = clock.after(leftMs + timerToleranceMs, () => this.expireTelemetry());
    }
  }

  /** Polls a slice; null is well. Rejects where nothing could be read. */
  async poll(slice: SonicSlice): Promise<Failure | null> {
    const isByDay = slice !== 'telemetry';
    if (isByDay && this.#isClockWrong) return wrongClock(this.#options.clock.now());
    if (slice === 'usage') this.#usage.refresh();
    const inquiries = this.#inquiries(slice);
    const total = inquiries.reduce((sum, { ids }) => sum + ids.length, 0);
    let asked = 0;
    const onAsked = () => this.#options.howFar(slice, ++asked, total);
    const ends: PromiseSettledResult<Flaw | null>[] = [];
    for (const inquiry of inquiries)
      ends.push(...(await Promise.allSettled([this.#ask(slice, inquiry, onAsked)])));
    if (this.#options.signal.aborted) throw this.#options.signal.reason;
    return outcomeOf(ends.filter((_, index) => inquiries[index]?.ids.length !== 0));
  }

  /** Shows what is known by day as of the present day, which is another after a midnight or in another time zone. */
  refreshDays(): void {
    if (this.#isClockWrong) return;
    this.#usage.refresh();
    this.#pressureTests.refresh();
  }

  async #ask(slice: SonicSlice, { ids, question }: Inquiry, onAsked: () => void): Promise<Flaw | null> {
    const { client, periodMs, agesUntil, clock, signal } = this.#options;
    const missed: Question['missed'] = (id, at) => question.missed(id, Math.min(at, agesUntil(slice)));
    const gapMs = Math.min(longestGapMs, (shareOfPeriod * periodMs(slice)) / ids.length);
    const shortfall = await askEach(
      ids,
      { ...question, missed },
      {
        client,
        isThere: (id) => this.#isThere(id),
        onAsked,
        gapMs: ids.length < fewestSpread ? 0 : gapMs,
        clock,
        signal,
      },
    );
    return shortfall && flawOfSome(shortfall);
  }

  #inquiries(slice: SonicSlice): readonly Inquiry[] {
    const ids = this.#options.store.ids('sonic');
    switch (slice) {
      case 'telemetry':
        return this.#telemetryInquiries(ids);
      case 'usage':
        return [{ ids: this.#newFirst(ids, 'usage'), question: this.#usageQuestion() }];
      case 'pressure_tests':
        return [{ ids: this.#newFirst(ids, 'pressureTests'), question: this.#pressureTestQuestion() }];
    }
  }

  /** Each kind of sonic has a route of its own. */
  #telemetryInquiries(sonicIds: readonly string[]): Inquiry[] {
    const { store } = this.#options;
    const linked = sonicIds.filter((id) => this.#isLinked(id));
    const known = new Set(sonicIds);
    for (const id of this.#silent) if (!known.has(id)) this.#silent.delete(id);
    return [false, true].map((isWifi) => ({
      ids: linked.filter((id) => store.isWifi(id) === isWifi),
      question: this.#telemetryQuestion(isWifi),
    }));
  }

  #telemetryQuestion(isWifi: boolean): Question {
    const { client, store, clock } = this.#options;
    const operation = isWifi ? 'read_wifi_telemetry' : 'read_telemetry';
    return {
      operation,
      ask: async (id) => {
        const call = { operation, params: { sonic_id: id } } as const;
        const telemetry = await client.call(call, this.#oneOfMany);
        const isPresent = store.setTelemetry(id, telemetry, clock.monotonic());
        this.#sayWhetherItMeasures(id, telemetry, isPresent);
      },
      without: (id, at) => void store.setTelemetry(id, null, at),
      // What was measured before grows old by itself.
      missed: () => {},
      drop: () => store.dropTelemetry(isWifi),
    };
  }

  /** A cloud may go on telling of a sonic that measures no more: the log says so once, and when it measures again. */
  #sayWhetherItMeasures(id: string, telemetry: Telemetry, isPresent: boolean): void {
    if (isPresent !== this.#silent.has(id)) return;
    const { store, log } = this.#options;
    const sonic = store.label('sonic', id);
    if (isPresent) {
      this.#silent.delete(id);
      log.info({ device: id }, `Valve ${sonic} is measuring again`);
      return;
    }
    this.#silent.add(id);
    const since = measurementOf(telemetry).probedAt ?? telemetry.probed_at;
    log.warn(
      { device: id },
      `Valve ${sonic} does not measure: its last values are from ${since}. Flow, pressure and temperature are unknown. Check its battery and its hub.`,
    );
  }

  #usageQuestion(): Question {
    return {
      operation: 'read_daily_usage',
      ask: (id) => this.#usage.read(id, (month) => this.#askUsage(id, month)),
      without: (id, at) => this.#usage.without(id, at),
      missed: (id, at) => this.#usage.missed(id, at),
      drop: () => this.#options.store.dropUsage(),
    };
  }

  #askUsage(id: string, month: string): Promise<DailyUsage> {
    const query = { month: Number(month.slice(5)), year: Number(month.slice(0, 4)) };
    const call = { operation: 'read_daily_usage', params: { thing_id: id }, query } as const;
    return this.#options.client.call(call, this.#oneOfMany);
  }

  #pressureTestQuestion(): Question {
    return {
      operation: 'read_pressure_tests',
      ask: async (id) => {
        const call = { operation: 'read_pressure_tests', params: { thing_id: id } } as const;
        this.#pressureTests.take(id, await this.#options.client.call(call, this.#oneOfMany));
      },
      without: (id, at) => this.#pressureTests.without(id, at),
      missed: (id, at) => this.#pressureTests.missed(id, at),
      drop: () => this.#options.store.dropPressureTests(),
    };
  }

  /** Reads the pressure tests of a sonic a few times, until one shows that was just started; never rejects. */
  async readNewTest(sonicId: string): Promise<void> {
    const { client, store, clock, log, signal } = this.#options;
    const shown = () => Object.values(store.sonicView(sonicId)?.pressureTests?.days ?? {}).flat();
    const known = new Set(shown());
    for (const waitMs of newTestWaitsMs) {
      try {
        await sleep(clock, waitMs, signal);
        const isOffered = client.availability('read_pressure_tests') === 'available';
        if (!isOffered || this.#isClockWrong || store.sonicView(sonicId) === null) return;
        const call = { operation: 'read_pressure_tests', params: { thing_id: sonicId } } as const;
        this.#pressureTests.take(sonicId, await client.call(call, this.#oneOfMany));
      } catch (error) {
        if (signal.aborted) return;
        log.debug({ device: sonicId }, `A new pressure test could not be read: ${String(error)}`);
      }
      if (shown().some((id) => !known.has(id))) return;
    }
  }

  get #oneOfMany() {
    return { signal: this.#options.signal, isOneOfMany: true };
  }

  #isThere(id: string): Promise<boolean> {
    const kind = this.#options.store.isWifi(id) ? 'wifiSonic' : 'sonic';
    return isStillThere(this.#options.client, kind, id, this.#options.signal);
  }

  /** A sonic whose radio link is down measures nothing. */
  #isLinked(id: string): boolean {
    return isConnected(this.#options.store.sonicView(id)?.sonic.radio_connection ?? null) !== false;
  }

  /** Those first of which nothing is known yet. */
  #newFirst(ids: readonly string[], key: 'usage' | 'pressureTests'): string[] {
    const news = new Set(ids.filter((id) => this.#options.store.sonicView(id)?.[key] === undefined));
    return [...news, ...ids.filter((id) => !news.has(id))];
  }

  get #isClockWrong(): boolean {
    const { client, clock } = this.#options;
    return clock.now() < earliestTime || Math.abs(client.clockAheadMs) > mostAheadMs;
  }

  #newDay(): void {
    this.refreshDays();
    this.#options.newDay();
  }
}

/** Why some sonics could not be read. */
function flawOfSome({ failed, wanted, error }: Shortfall): Flaw {
  const { words, gist } = flawOf(error);
  return { words: `${failed} of ${wanted} sonics: ${words}`, gist };
}

/** How the inquiries of a poll ended, as one: throws where none of them could be made. */
function outcomeOf(ends: readonly PromiseSettledResult<Flaw | null>[]): Failure | null {
  const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
  if (failed.length > 0 && failed.length === ends.length) throw failed[0];
  const partly = ends.map((end) => (end.status === 'fulfilled' ? end.value : null));
  return incomplete(together([...failed.map(flawOf), ...partly]));
}

function wrongClock(now: number): Failure {
  const words = `the clock of this machine says ${new Date(now).toISOString().slice(0, 10)}, so no day can be asked for`;
  return { kind: 'unreadable', words, gist: 'the clock of this machine is wrong' };
}
