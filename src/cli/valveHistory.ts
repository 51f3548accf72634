import { systemClock } from '../base/clock.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Config } from '../config/schema.ts';
import { dateAt, isTimezone, monthAfter, monthOf } from '../model/calendar.ts';
import type { DailyUsage } from '../model/records.ts';
import { type DaysOfUsage, daysIn } from '../model/usageHistory.ts';
import { readAccount, readSettings } from './readAccount.ts';

export interface FoundValve {
  readonly id: string;
  readonly name: string;
  readonly property: string | null;
  /** The time zone of the property; the configured one if the cloud does not show it. */
  readonly timezone: string;
}

/** So many months without a day mean that there are no earlier ones. In a shorter gap, a valve was disconnected. */
const maxEmptyMonths = 12;

/** There were no such valves before. */
const firstMonth = '2015-01';

/** The valves that the configuration selects. Rejects if a list is incomplete, because a valve could be missing. */
export async function findValves(
  client: CloudClient,
  { filters, schedules }: Config,
  stopping: AbortSignal,
): Promise<FoundValve[]> {
  const store = await readAccount(client, { selection: filters.properties, signal: stopping });
  if (!store.isComplete) throw new Error('the cloud does not list all hubs, so a valve could be missing');
  const settings = await readSettings(client, store.ids('property'), { signal: stopping });
  return store.ids('sonic').map((id) => {
    const propertyId = store.propertyOf('sonic', id) ?? '';
    const timezone = settings.get(propertyId)?.timezone ?? '';
    return {
      id,
      name: store.devices.sonic.get(id)?.name || id,
      property: store.devices.property.get(propertyId)?.name ?? null,
      timezone: isTimezone(timezone) ? timezone : schedules.timezone,
    };
  });
}

/** Reads every day of a valve that the cloud has, back to the given month, or until there are no more. */
export async function readHistory(
  client: CloudClient,
  { id, timezone }: FoundValve,
  from: string | undefined,
  stopping: AbortSignal,
): Promise<DaysOfUsage> {
  const answers: DailyUsage[] = [];
  let month = monthOf(dateAt(systemClock.now(), timezone));
  let emptyMonths = 0;
  while (month >= (from ?? firstMonth) && (from !== undefined || emptyMonths < maxEmptyMonths)) {
    const query = { month: Number(month.slice(5)), year: Number(month.slice(0, 4)) };
    const call = { operation: 'read_daily_usage', params: { thing_id: id }, query } as const;
    const daily = await client.call(call, { signal: stopping }).then(
      (answer) => answer.daily.filter(({ date }) => monthOf(date) === month),
      (error: unknown) => {
        // Either the cloud does not have the month, or it knows of no water in it.
        if (error instanceof CloudError && error.kind === 'notFound') return [];
        throw error;
      },
    );
    answers.push({ daily });
    emptyMonths = daily.length === 0 ? emptyMonths + 1 : 0;
    month = monthAfter(month, -1);
  }
  return daysIn(answers);
}
