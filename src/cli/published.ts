import type { Connection } from '../broker/connection.ts';
import { operationNames } from '../cloud/operations.ts';
import { isTree, type Tree, valueAt } from '../config/tree.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { healthStatuses } from '../model/devices.ts';
import { pollNames } from '../model/polls.ts';

/**
 * Reads the messages that the bridge of these topics has published about itself. Returns only data that may be public.
 */
export async function readPublished(connection: Connection, topics: Topics): Promise<Tree> {
  const found = new Map<string, string>();
  const filters = ['state', 'cloud', 'info', 'health'].map((path) => topics.bridge(path));
  await connection.readRetained(filters, ({ topic, payload }) => found.set(topic, payload));
  const text = (path: string) => found.get(topics.bridge(path));
  const [info, health] = [parsedTree(text('info')), parsedTree(text('health'))];
  const schedules = pollNames.map((name) => {
    const at = (key: string) => valueAt(health, ['schedules', name, key]);
    const last = { last_success: knownTime(at('last_success')), http_status: httpStatus(at('last_error')) };
    return [name, { ...last, consecutive_failures: knownNumber(at('consecutive_failures')) }];
  });
  const counts = ['properties', 'signals', 'sonics', 'open_incidents'];
  return {
    state: knownWord(['online', 'offline'], text('state')),
    cloud: knownWord(['online', 'offline'], text('cloud')),
    version: knownVersion(info['version']),
    started_at: knownTime(info['started_at']),
    last_update: knownTime(info['last_update']),
    requests_last_hour: knownNumber(info['requests_last_hour']),
    counts: Object.fromEntries(counts.map((name) => [name, knownNumber(valueAt(info, ['counts', name]))])),
    operations: Object.fromEntries(
      operationNames.map((name) => [name, knownWord(availabilities, valueAt(info, ['operations', name]))]),
    ),
    health: {
      status: knownWord(healthStatuses, health['status']),
      schedules: Object.fromEntries(schedules),
      limited_until: knownTime(health['limited_until']),
    },
  };
}

const availabilities = ['available', 'unavailable', 'off'];

// Any client of the broker may have written the value, so only known words are accepted.
function knownWord(values: readonly string[], value: unknown): string | null {
  return values.find((each) => each === value) ?? null;
}

function knownNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function knownTime(value: unknown): string | null {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value)) ? String(value) : null;
}

function knownVersion(value: unknown): string | null {
  return /^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(String(value)) ? String(value) : null;
}

/** The HTTP status of the cloud in the text of an error; null if there is none. */
function httpStatus(error: unknown): number | null {
  const [, status] = /\bthe cloud answered (\d{3})\b/.exec(String(error)) ?? [];
  return status === undefined ? null : Number(status);
}

/** The JSON object in a payload; empty if it cannot be read. */
export function parsedTree(text = ''): Tree {
  try {
    const value: unknown = JSON.parse(text);
    return isTree(value) ? value : {};
  } catch {
    return {};
  }
}
