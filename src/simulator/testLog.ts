import type { PressureTests } from '../model/records.ts';
import { localTime } from './zone.ts';

/** A pressure test that was started, with whatever else came with the request. */
export interface PressureTest {
  readonly id: string;
  readonly job_id: string;
  /** Who asked for it. */
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly started_at: string;
}

/** The ids of tests by the day on which they began, in that time zone; oldest first. */
export function testsByDay(tests: readonly PressureTest[], timeZone: string): PressureTests {
  const days = new Map<string, { id: string }[]>();
  for (const { id, started_at } of tests) {
    const { date } = localTime(Date.parse(started_at), timeZone);
    days.set(date, [...(days.get(date) ?? []), { id }]);
  }
  return { by_day: Object.fromEntries(days) };
}
