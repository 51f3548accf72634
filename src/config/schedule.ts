import { validate } from 'node-cron';
import { parseDuration } from '../base/duration.ts';
import type { Schedule } from '../base/schedule.ts';

/** Reads a duration or a cron expression of 5 or 6 fields (seconds first); null for anything else. */
export function parseSchedule(text: string): Schedule | null {
  const everyMs = parseDuration(text);
  if (everyMs !== null) return { kind: 'every', everyMs };
  const fields = text.trim().split(/\s+/);
  const expression = fields.join(' ');
  // node-cron also takes words such as @hourly, which this configuration does not promise.
  return fields.length >= 5 && validate(expression) ? { kind: 'cron', expression } : null;
}
