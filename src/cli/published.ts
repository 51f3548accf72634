import type { Connection } from '../broker/connection.ts';
import { operationNames } from '../cloud/operations.ts';
import { type Tree, valueAt } from '../config/tree.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { healthStatuses } from '../model/devices.ts';
import { pollNames } from '../model/polls.ts';
import { objectIn } from '../publishing/retainedMessages.ts';

/** What the bridge of these topics has published about itself, as far as it may be public. */
export async function readPublished(connection: Connection, topics: Topics): Promise<Tree> {
  const found = new Map<string, string>();
  const filters = ['state', 'cloud', 'info', 'health'].map((path) => topics.bridge(path));
  await connection.readRetained(filters, ({ topic, payload }) => found.set(topic, payload));
  const text = (path: string) => found.get(topics.bridge(path)) ?? '';
  const [info, health] = [objectIn(text('info')), objectIn(text('health'))];
  const each = (names: readonly string[], read: (name: string) => unknown) =>
    Object.fromEntries(names.map((name) => [name, read(name)]));
  const infoAt = (...path: string[]) => publicPart(valueAt(info, path));
  const pollAt = (poll: string, key: string) => valueAt(health, ['schedules', poll, key]);
  return {
    state: publicPart(text('state')),
    cloud: publicPart(text('cloud')),
    ...each(['version', 'started_at', 'last_update', 'requests_last_hour'], (name) => infoAt(name)),
    counts: each(['properties', 'signals', 'sonics', 'open_incidents'], (name) => infoAt('counts', name)),
    operations: each(operationNames, (name) => infoAt('operations', name)),
    health: {
      ...each(['status', 'limited_until'], (name) => publicPart(valueAt(health, [name]))),
      schedules: each(pollNames, (poll) => ({
        ...each(['last_success', 'consecutive_failures'], (key) => publicPart(pollAt(poll, key))),
        http_status:
          Number(/\bthe cloud answered (\d{3})\b/.exec(String(pollAt(poll, 'last_error')))?.[1]) || null,
      })),
    },
  };
}

const publicWords = ['online', 'offline', 'available', 'unavailable', 'off', ...healthStatuses];
const timeOrVersion = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d{1,3}(\.\d{1,3}){2})$/;

/** The value, if it is a number, a time, a version or a word of the bridge. Any client of the broker may have written it. */
function publicPart(value: unknown): unknown {
  if (typeof value === 'number') return value;
  return publicWords.some((each) => each === value) || timeOrVersion.test(String(value)) ? value : null;
}
