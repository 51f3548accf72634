import type { Clock } from '../base/clock.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Day, isFirstOfMonth, monthOf } from '../model/calendar.ts';
import type { DailyUsage } from '../model/records.ts';
import { monthsDue, type UsageRecord, usageOn, withReading } from '../model/usage.ts';
import type { Ledger } from '../state/ledger.ts';
import { Ages } from '../store/ages.ts';
import type { Store } from '../store/store.ts';
import type { SonicDays } from './sonicDays.ts';

/** Asks the cloud for a month, YYYY-MM; rejects with a `CloudError`. */
export type AskMonth = (month: string) => Promise<DailyUsage>;

/** What is shown of a sonic rests on its record, the day, whether it is old, and whether it will be remembered. */
type Basis = readonly [UsageRecord, Day, boolean, boolean];

/** What was read of a sonic that is gone is kept so long, should it come back. */
const keptForMs = 90 * 86_400_000;

/** Reads the water that ran through each sonic month by month, keeps it in the ledger, and shows it in the store. */
export class UsageBook {
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #days: SonicDays;
  readonly #allowedMs: () => number;
  readonly #clock: Clock;
  readonly #ages = new Ages();
  /** The local date on which the previous month was last read, by sonic. */
  readonly #previousReadOn = new Map<string, string>();
  /** Months that were read in this run, by sonic: what an earlier run has kept of one may be behind. */
  readonly #readMonths = new Map<string, Set<string>>();
  /** The latest present month of which the cloud has told, by sonic. */
  readonly #toldOf = new Map<string, string>();
  /** What each sonic was last shown by; most of the times that all are looked at nothing of it has changed. */
  readonly #bases = new Map<string, Basis>();

  /** What could not be read by itself for longer than allowed is old. */
  constructor(store: Store, ledger: Ledger, days: SonicDays, allowedMs: () => number, clock: Clock) {
    this.#store = store;
    this.#ledger = ledger;
    this.#days = days;
    this.#allowedMs = allowedMs;
    this.#clock = clock;
  }

  /**
   * Reads the months of a sonic that are due. A month that the cloud does not know has no water; where it knows none
   * of them, this rejects with the cloud's word, as with any other failure. What could be read is taken in.
   */
  async read(sonicId: string, ask: AskMonth): Promise<void> {
    // Another bridge may have read it so far: a sum that begins anew would be taken for water.
    const { looking } = this.#ledger;
    if (looking !== null) await looking;
    const { date } = this.#days.of(sonicId);
    const presentMonth = monthOf(date);
    // On the first of a month yesterday is in the month before, and the cloud may hear of its last litres late.
    const isPreviousRead = !isFirstOfMonth(date) && this.#previousReadOn.get(sonicId) === date;
    const due = monthsDue(this.#ledger.usageOf(sonicId), presentMonth, isPreviousRead);
    const told = new Map<string, DailyUsage['daily']>();
    const unknown: string[] = [];
    const failures: CloudError[] = [];
    for (const month of due) {
      try {
        told.set(month, (await ask(month)).daily);
        if (month === presentMonth) this.#toldOf.set(sonicId, month);
      } catch (error) {
        if (!(error instanceof CloudError && isAboutOneMonth(error))) {
          this.#take(sonicId, told, presentMonth);
          throw error;
        }
        failures.push(error);
        if (error.kind === 'notFound') unknown.push(month);
      }
    }
    // Between the readings of the month before, a month that has not begun may be all that is asked for.
    const isUnbegun = isPreviousRead && !this.#isBegun(sonicId, presentMonth);
    if (unknown.length === due.length && !isUnbegun) throw failures[0];
    for (const month of unknown) told.set(month, []);
    this.#take(sonicId, told, presentMonth);
    const failure = failures.find(({ kind }) => kind !== 'notFound');
    if (failure) throw failure;
    this.#previousReadOn.set(sonicId, date);
  }

  /** Notes that a sonic could not be read at that time, in ms of the monotonic clock. */
  missed(sonicId: string, at: number): void {
    this.#recall(sonicId);
    if (this.#ages.missed(sonicId, at, this.#allowedMs())) this.#show(sonicId);
  }

  /** The cloud has no usage of this sonic; one that has ever had any goes on having it. */
  without(sonicId: string, at: number): void {
    if (this.#ledger.usageOf(sonicId)) this.missed(sonicId, at);
    else this.#store.setUsage(sonicId, null);
  }

  /** Shows everything as it is now: after a midnight, or when sonics or time zones have changed. */
  refresh(): void {
    for (const id of this.#store.ids('sonic')) this.#show(id);
    if (this.#store.isCertain) this.#forgetTheGone();
  }

  /** Takes in all months at once: with one of them alone the sum may be behind what was shown before a crash. */
  #take(sonicId: string, told: ReadonlyMap<string, DailyUsage['daily']>, presentMonth: string): void {
    const before = this.#ledger.usageOf(sonicId);
    const timezone = this.#days.ownTimezoneOf(sonicId) ?? undefined;
    const readAt = this.#clock.now();
    const readMonths = new Set([...(this.#readMonths.get(sonicId) ?? []), ...told.keys()]);
    this.#readMonths.set(sonicId, readMonths);
    let record = before;
    for (const [month, daily] of told) {
      record = withReading(record, { month, daily, presentMonth, timezone, readAt, readMonths });
    }
    if (record === null || record === before) return;
    const isNews = (['changedAt', 'frozenThrough', 'timezone'] as const).some(
      (key) => before?.[key] !== record[key],
    );
    this.#ledger.keepUsage(sonicId, record, isNews);
    if (told.has(presentMonth)) this.#ages.read(sonicId, this.#clock.monotonic());
    this.#show(sonicId);
  }

  #show(sonicId: string): void {
    const record = this.#ledger.usageOf(sonicId);
    if (!record) return;
    this.#recall(sonicId);
    // A sum that starts anew with each run would be taken for water.
    const isLasting = this.#ledger.remembersUsage(sonicId);
    const basis: Basis = [record, this.#days.of(sonicId), this.#ages.isOld(sonicId), isLasting];
    const before = this.#bases.get(sonicId);
    const isShown = this.#store.sonicView(sonicId)?.usage !== undefined;
    if (isShown && basis.every((each, index) => each === before?.[index])) return;
    this.#bases.set(sonicId, basis);
    const [, day, isOld] = basis;
    const usage = usageOn(day, record, isOld);
    this.#store.setUsage(sonicId, isLasting ? usage : { ...usage, totalL: null });
  }

  /** What an earlier run has read may be fresh still. */
  #recall(sonicId: string): void {
    const record = this.#ledger.usageOf(sonicId);
    if (!record || this.#ages.isRead(sonicId)) return;
    const now = this.#clock.monotonic();
    this.#ages.read(sonicId, now - Math.max(0, this.#clock.now() - record.readAt));
    this.#ages.missed(sonicId, now, this.#allowedMs());
  }

  /** Whether the cloud has told of the present month already, with water or without. */
  #isBegun(sonicId: string, month: string): boolean {
    const hasWater = (this.#ledger.usageOf(sonicId)?.months[month] ?? []).length > 0;
    return hasWater || this.#toldOf.get(sonicId) === month;
  }

  #forgetTheGone(): void {
    const present = new Set(this.#store.ids('sonic'));
    for (const { sonicId, readAt } of this.#ledger.keptUsage()) {
      if (present.has(sonicId) || this.#clock.now() - readAt <= keptForMs) continue;
      this.#ledger.forgetUsage(sonicId);
      this.#ages.forget(sonicId);
      this.#previousReadOn.delete(sonicId);
      this.#readMonths.delete(sonicId);
      this.#toldOf.delete(sonicId);
      this.#bases.delete(sonicId);
    }
  }
}

/** Whether the next month may be answered all the same. */
function isAboutOneMonth({ kind }: CloudError): boolean {
  return kind === 'notFound' || kind === 'rejected' || kind === 'unreadable';
}
