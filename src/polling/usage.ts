import { CloudError } from '../cloud/errors.ts';
import { type Day, isFirstOfMonth, monthOf } from '../model/calendar.ts';
import type { DailyUsage } from '../model/records.ts';
import { monthsDue, type Usage, type UsageRecord, usageOn, withReading } from '../model/usage.ts';
import { clockProblem } from './localDays.ts';
import { type DeviceQuery, queryDevices, unknownFirst } from './perDevice.ts';
import type { PollParts } from './pollParts.ts';
import { incomplete, type PollFailure } from './pollStatus.ts';

/** The usage of a sonic that has left the account is kept for so long, in case it comes back, in ms. */
const keptForMs = 90 * 86_400_000;

/** What this run knows of the months of one sonic. */
interface MonthsRead {
  /** The local date on which the previous month was last read. */
  previousReadOn: string | null;
  /** Months read in this run: what an earlier run has kept of a month may be behind. */
  readonly months: Set<string>;
  /** The last month that was the present one and that the cloud had data for. */
  presentMonth: string | null;
}

/** Reads the water that ran through each sonic month by month, keeps the totals on disk, and stores what is shown. */
export class UsagePoll {
  readonly #parts: PollParts;
  readonly #read = new Map<string, MonthsRead>();
  /** The usage that was last made of each sonic, and what it was made of: made again only if that changes. */
  readonly #made = new Map<
    string,
    { readonly day: Day; readonly record: UsageRecord; readonly usage: Usage }
  >();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads all sonics; null if all went well. Rejects if nothing could be read. */
  async poll(): Promise<PollFailure | null> {
    const { client, store, clock } = this.#parts;
    const problem = clockProblem(client, clock);
    if (problem) return { kind: 'unreadable', ...problem };
    const ids = unknownFirst(store, store.usage);
    for (const id of ids) if (store.usage.of(id) === undefined) this.#update(id);
    return incomplete(await queryDevices(this.#parts, ids, this.#query()));
  }

  /** Stores everything as of now: after midnight, or when sonics or time zones have changed. */
  refresh(): void {
    const { store, state } = this.#parts;
    // A sonic that this run has not read keeps its total.
    for (const id of new Set([...store.ids('sonic'), ...state.usageRecords().keys()])) this.#update(id);
    if (store.isResolved) this.#forgetGone();
  }

  /** The same for the sonics whose sum is shown. No sum is shown before the broker was scanned, which may have a larger one. */
  refreshShown(): void {
    const { store, state } = this.#parts;
    for (const id of state.usageRecords().keys()) if (store.usage.readAt(id) !== undefined) this.#update(id);
  }

  #query(): DeviceQuery {
    const { store } = this.#parts;
    return {
      operation: 'read_daily_usage',
      poll: 'usage',
      read: (id, sentAt) => this.#readMonths(id, sentAt),
      onNone: (id, sentAt) => {
        // A sonic that has had usage keeps it.
        if (!this.#parts.state.usageOf(id)) store.setUsage(id, null, sentAt);
      },
    };
  }

  /**
   * Reads the months of a sonic that are due. A month that the cloud does not have counts as no water; if the cloud has
   * none of them, this rejects with the cloud's error, as with any other failure. What was read is kept.
   */
  async #readMonths(sonicId: string, sentAt: number): Promise<void> {
    const { date } = this.#parts.days.of(sonicId);
    const presentMonth = monthOf(date);
    const read = this.#read.get(sonicId) ?? { previousReadOn: null, months: new Set(), presentMonth: null };
    this.#read.set(sonicId, read);
    // On the first of a month yesterday is in the month before, and the cloud may report its last litres late.
    const isPreviousRead = !isFirstOfMonth(date) && read.previousReadOn === date;
    const due = monthsDue(this.#parts.state.usageOf(sonicId), presentMonth, isPreviousRead);
    const answers = new Map<string, DailyUsage['daily']>();
    const unknown: string[] = [];
    const failures: CloudError[] = [];
    for (const month of due) {
      try {
        answers.set(month, (await this.#readMonth(sonicId, month)).daily);
        if (month === presentMonth) read.presentMonth = month;
      } catch (error) {
        if (!(error instanceof CloudError && isAboutOneMonth(error))) {
          this.#keep(sonicId, answers, presentMonth, read, sentAt);
          throw error;
        }
        failures.push(error);
        if (error.kind === 'notFound') unknown.push(month);
      }
    }
    // The present month may have no data yet, and may be the only one that is due.
    const hasWater = (this.#parts.state.usageOf(sonicId)?.months[presentMonth] ?? []).length > 0;
    const isEmptyMonth = isPreviousRead && !hasWater && read.presentMonth !== presentMonth;
    if (unknown.length === due.length && !isEmptyMonth) throw failures[0];
    for (const month of unknown) answers.set(month, []);
    this.#keep(sonicId, answers, presentMonth, read, sentAt);
    const failure = failures.find(({ kind }) => kind !== 'notFound');
    if (failure) throw failure;
    read.previousReadOn = date;
  }

  #readMonth(sonicId: string, month: string): Promise<DailyUsage> {
    const { client, stopping } = this.#parts;
    const query = { month: Number(month.slice(5)), year: Number(month.slice(0, 4)) };
    const call = { operation: 'read_daily_usage', params: { thing_id: sonicId }, query } as const;
    return client.call(call, { signal: stopping });
  }

  /** Keeps all months at once: with one of them alone the total might be behind what was shown before a crash. */
  #keep(
    sonicId: string,
    answers: ReadonlyMap<string, DailyUsage['daily']>,
    presentMonth: string,
    { months: readMonths }: MonthsRead,
    sentAt: number,
  ): void {
    const { days, clock } = this.#parts;
    const before = this.#parts.state.usageOf(sonicId);
    const timezone = days.ownTimezoneOf(sonicId) ?? undefined;
    const readAt = clock.now();
    for (const month of answers.keys()) readMonths.add(month);
    let record = before;
    for (const [month, daily] of answers) {
      record = withReading(record, { month, daily, presentMonth, timezone, readAt, readMonths });
    }
    if (record === null || record === before) return;
    const hasChanged = (['changedAt', 'frozenThrough', 'timezone'] as const).some(
      (key) => before?.[key] !== record[key],
    );
    this.#parts.state.recordUsage(sonicId, record, hasChanged);
    if (answers.has(presentMonth)) this.#update(sonicId, sentAt);
    else this.#update(sonicId);
  }

  /** Stores what is kept of a sonic as of now; `sentAt` is when its present month was requested, unless that was before. */
  #update(sonicId: string, sentAt?: number): void {
    const { store, days } = this.#parts;
    const record = this.#parts.state.usageOf(sonicId);
    if (!record) return;
    const day = days.of(sonicId);
    const made = this.#made.get(sonicId);
    const usage = made?.day === day && made.record === record ? made.usage : usageOn(day, record);
    this.#made.set(sonicId, { day, record, usage });
    // A total that starts again from zero after each restart would count as water: it is shown only if it is kept.
    const shown = this.#parts.state.remembersUsage(sonicId) ? usage : { ...usage, totalL: null };
    const readAt = sentAt ?? store.usage.readAt(sonicId) ?? Number.NEGATIVE_INFINITY;
    if (Number.isFinite(readAt)) store.setUsage(sonicId, shown, readAt);
    else store.recallUsage(sonicId, shown);
  }

  #forgetGone(): void {
    const { store, clock } = this.#parts;
    const present = new Set(store.ids('sonic'));
    for (const [sonicId, { readAt }] of this.#parts.state.usageRecords()) {
      if (present.has(sonicId) || clock.now() - readAt <= keptForMs) continue;
      this.#parts.state.forgetUsage(sonicId);
      this.#read.delete(sonicId);
      this.#made.delete(sonicId);
    }
  }
}

/** Whether the error is about one month, so that the next may be read all the same. */
function isAboutOneMonth({ kind }: CloudError): boolean {
  return kind === 'notFound' || kind === 'rejected' || kind === 'unreadable';
}
