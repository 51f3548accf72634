import { fieldsIn } from '../base/json.ts';
import type { Connection } from '../broker/connection.ts';
import { operationNames } from '../cloud/operations.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { healthStatuses } from '../model/devices.ts';
import { pollNames } from '../model/polls.ts';

/** What the bridge of these topics has published about itself, as far as it may be public. */
export async function readPublished(connection: Connection, topics: Topics) {
  const found = new Map<string, string>();
  const filters = ['state', 'cloud', 'info', 'health'].map((path) => topics.bridge(path));
  await connection.readRetained(filters, ({ topic, payload }) => found.set(topic, payload));
  const text = (path: string) => found.get(topics.bridge(path)) ?? '';
  const { counts, operations, ...info } = fieldsIn(text('info'));
  const { schedules, ...health } = fieldsIn(text('health'));
  const schedule = (poll: string) => {
    const { last_error: error, ...record } = Object(Object(schedules)[poll]);
    const http_status = Number(/\bthe cloud answered (\d{3})\b/.exec(String(error))?.[1]) || null;
    return { ...pick(record, ['last_success', 'consecutive_failures']), http_status };
  };
  return {
    ...pick({ state: text('state'), cloud: text('cloud') }, ['state', 'cloud']),
    ...pick(info, ['version', 'started_at', 'last_update', 'requests_last_hour']),
    counts: pick(counts, ['properties', 'signals', 'sonics', 'open_incidents']),
    operations: pick(operations, operationNames),
    health: {
      ...pick(health, ['status', 'limited_until']),
      schedules: Object.fromEntries(pollNames.map((poll) => [poll, schedule(poll)])),
    },
  };
}

const publicWords = ['online', 'offline', 'available', 'unavailable', 'off', ...healthStatuses];
const timeOrVersion = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d{1,3}(\.\d{1,3}){2})$/;

/** Of these fields, the numbers, times, versions and words of the bridge. Any client of the broker may have written others. */
function pick<Name extends string>(record: unknown, names: readonly Name[]) {
  const fields = new Map(Object.entries(Object(record)));
  const isPublic = (value: unknown) =>
    typeof value === 'number' ||
    publicWords.some((each) => each === value) ||
    timeOrVersion.test(String(value));
  const picked = names.map((name) => [name, isPublic(fields.get(name)) ? fields.get(name) : null]);
  return Object.fromEntries(picked) as Readonly<Record<Name, unknown>>;
}
