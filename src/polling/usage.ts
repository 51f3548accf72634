import { dayMs } from '../base/duration.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Day, isFirstOfMonth, monthOf } from '../model/calendar.ts';
import type { DailyUsage } from '../model/records.ts';
import { monthsDue, type Usage, type UsageRecord, usageOn, withReading } from '../model/usage.ts';
import { clockProblem } from './localDays.ts';
import { type DeviceQuery, queryDevices, unknownFirst } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { incomplete, type PollFailure } from './pollProblem.ts';

/** How long the usage of a sonic that has left the account is kept, in ms. The sonic may come back. */
const keptForMs = 90 * dayMs;

interface MonthsRead {
  /** The local date on which the previous month was last read. */
  previousReadOn: string | null;
  /** Months that this run has read. The kept data of other months, from an earlier run, may be behind. */
  readonly months: Set<string>;
  /** The last month for which the cloud had data while it was the current month. */
  presentMonth: string | null;
}

/** Reads the water usage of each sonic month by month, keeps the totals on disk, and stores the usage to show. */
export class UsagePoll {
  readonly #parts: PollParts;
  readonly #read = new Map<string, MonthsRead>();
  /** By sonic: the last usage to show, and what it was computed from. It is computed again only if that changes. */
  readonly #made = new Map<
    string,
    { readonly day: Day; readonly record: UsageRecord; readonly usage: Usage }
  >();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads all sonics. Resolves to null if all were read; rejects if none could be read. */
  async poll(run: PollRun): Promise<PollFailure | null> {
    const { client, store, clock } = this.#parts;
    const problem = clockProblem(client, clock);
    if (problem) return { kind: 'unreadable', ...problem };
    const ids = unknownFirst(store, store.usage);
    for (const id of ids) if (store.usage.of(id) === undefined) this.#update(id);
    return incomplete(await queryDevices(this.#parts, run, ids, this.#query()));
  }

  /** Stores all usage for the current day again: after midnight, or when sonics or time zones have changed. */
  refresh(): void {
    const { store, state } = this.#parts;
    // Includes sonics that this run has not read, because they keep their totals.
    for (const id of new Set([...store.ids('sonic'), ...state.kept.usage.keys()])) this.#update(id);
    if (store.isComplete) this.#forgetGone();
  }

  /** Like `refresh`, but only what is shown. The rest waits for the broker, which may have a larger total. */
  refreshShown(): void {
    const { store, state } = this.#parts;
    for (const id of state.kept.usage.keys()) if (store.usage.readAt(id) !== undefined) this.#update(id);
  }

  #query(): DeviceQuery {
    const { store } = this.#parts;
    return {
      operation: 'read_daily_usage',
      poll: 'usage',
      read: (id, sentAt) => this.#readMonths(id, sentAt),
      onNone: (id, sentAt) => {
        // If usage of the sonic is kept, it stays.
        if (!this.#parts.state.kept.usage.has(id)) store.setDetail('usage', id, null, sentAt);
      },
    };
  }

  /**
   * Reads the months of a sonic that are due. A month that the cloud does not have counts as a month without water. If
   * the cloud has none of the months, or another failure occurs, this rejects with the cloud's error. The months that
   * were read are kept.
   */
  async #readMonths(sonicId: string, sentAt: number): Promise<void> {
    const { date } = this.#parts.days.of(sonicId);
    const presentMonth = monthOf(date);
    const read = this.#read.get(sonicId) ?? { previousReadOn: null, months: new Set(), presentMonth: null };
    this.#read.set(sonicId, read);
    // On the first of a month, yesterday is in the previous month. The cloud may report its last litres late.
    const isPreviousRead = !isFirstOfMonth(date) && read.previousReadOn === date;
    const due = monthsDue(this.#parts.state.kept.usage.get(sonicId) ?? null, presentMonth, isPreviousRead);
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
    // The current month may be the only one that is due, and may have no data yet.
    const { days = {} } = this.#parts.state.kept.usage.get(sonicId) ?? {};
    const hasWater = Object.keys(days).some((each) => monthOf(each) === presentMonth);
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

  /** Keeps all months at once: after a crash, a total of some of them could be behind the published one. */
  #keep(
    sonicId: string,
    answers: ReadonlyMap<string, DailyUsage['daily']>,
    presentMonth: string,
    { months: readMonths }: MonthsRead,
    sentAt: number,
  ): void {
    const { days, clock } = this.#parts;
    const before = this.#parts.state.kept.usage.get(sonicId) ?? null;
    const timezone = days.ownTimezoneOf(sonicId) ?? undefined;
    const readAt = clock.now();
    for (const month of answers.keys()) readMonths.add(month);
    let record = before;
    for (const [month, daily] of answers) {
      record = withReading(record, { month, daily, presentMonth, timezone, readAt, readMonths });
    }
    if (record === null || record === before) return;
    this.#parts.state.kept.usage.set(sonicId, record);
    if (answers.has(presentMonth)) this.#update(sonicId, sentAt);
    else this.#update(sonicId);
  }

  /** `sentAt` is when the current month was requested; undefined if this call follows no such request. */
  #update(sonicId: string, sentAt?: number): void {
    const { store, days, state } = this.#parts;
    const record = this.#parts.state.kept.usage.get(sonicId);
    if (!record) return;
    const day = days.of(sonicId);
    const made = this.#made.get(sonicId);
    const usage = made?.day === day && made.record === record ? made.usage : usageOn(day, record);
    this.#made.set(sonicId, { day, record, usage });
    // A total that does not survive a restart would start from zero again, and the next rise would count as water.
    const isKept = state.problem === null || state.kept.usage.onDisk(sonicId) !== undefined;
    const shown = isKept ? usage : { ...usage, totalL: null };
    const readAt = sentAt ?? store.usage.readAt(sonicId) ?? Number.NEGATIVE_INFINITY;
    store.setDetail('usage', sonicId, shown, readAt);
  }

  #forgetGone(): void {
    const { store, clock } = this.#parts;
    const present = new Set(store.ids('sonic'));
    for (const [sonicId, { readAt }] of this.#parts.state.kept.usage) {
      if (present.has(sonicId) || clock.now() - readAt <= keptForMs) continue;
      this.#parts.state.kept.usage.delete(sonicId);
      this.#read.delete(sonicId);
      this.#made.delete(sonicId);
    }
  }
}

/** Whether the error concerns only one month, so that the next month can still be read. */
function isAboutOneMonth({ kind }: CloudError): boolean {
  return kind === 'notFound' || kind === 'rejected' || kind === 'unreadable';
}
