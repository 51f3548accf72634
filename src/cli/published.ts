import type { Connection } from '../broker/connection.ts';
import type { Availability } from '../cloud/client.ts';
import type { OperationName } from '../cloud/operations.ts';
import { isTree, type Tree, valueAt } from '../config/tree.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { healthStatuses } from '../model/devices.ts';
import { pollNames } from '../polling/pollStatus.ts';
import { type CloudDeviceKind, cloudKinds } from '../store/changes.ts';
import type { StandIns } from './standIns.ts';

/** What a bridge has retained on the broker: what it says of itself, and the records that it shows. */
export interface Published {
  readonly state: string | null;
  readonly cloud: string | null;
  readonly info: Tree;
  readonly health: Tree;
  readonly records: readonly { readonly kind: CloudDeviceKind; readonly record: Tree }[];
}

/** Reads what the bridge of these topics has published. */
export async function readPublished(connection: Connection, topics: Topics): Promise<Published> {
  const found = new Map<string, string>();
  const own = ['state', 'cloud', 'info', 'health'].map((path) => topics.bridge(path));
  const filters = [...own, ...cloudKinds.map((kind) => topics.device(kind, '+'))];
  await connection.readRetained(filters, ({ topic, payload }) => found.set(topic, payload));
  const records = [...found].flatMap(([topic, payload]) => {
    const { kind, path } = topics.parse(topic) ?? {};
    const known = cloudKinds.find((each) => each === kind);
    const record = treeOf(payload);
    return known && path === '' && typeof record['id'] === 'string' ? [{ kind: known, record }] : [];
  });
  const said = (path: string) => found.get(topics.bridge(path));
  return {
    state: said('state') ?? null,
    cloud: said('cloud') ?? null,
    info: treeOf(said('info')),
    health: treeOf(said('health')),
    records,
  };
}

/** The same as it may be shown to everybody; whoever may publish there may have written anything. */
export function shownPublished({ state, cloud, info, health }: Published, standIns: StandIns): Tree {
  const link = (text: unknown) => (text === 'online' || text === 'offline' ? text : null);
  const words = (text: unknown) => (typeof text === 'string' ? standIns.hide(text) : null);
  const time = (text: unknown) => (typeof text === 'string' && isTime.test(text) ? text : null);
  const number = (value: unknown) => (typeof value === 'number' ? value : null);
  const status = healthStatuses.find((each) => each === health['status']) ?? null;
  const schedules = pollNames.map((slice) => {
    const at = (key: string) => valueAt(health, ['schedules', slice, key]);
    return [
      slice,
      {
        last_success: time(at('last_success')),
        last_error: words(at('last_error')),
        consecutive_failures: number(at('consecutive_failures')),
      },
    ];
  });
  const counts = Object.entries(isTree(info['counts']) ? info['counts'] : {});
  return {
    state: link(state),
    cloud: link(cloud),
    version: words(info['version']),
    started_at: time(info['started_at']),
    last_update: time(info['last_update']),
    requests_last_hour: number(info['requests_last_hour']),
    counts: Object.fromEntries(counts.filter(([key, value]) => isWord.test(key) && number(value) !== null)),
    health: {
      status,
      reason: words(health['reason']),
      schedules: Object.fromEntries(schedules),
      limited_until: time(health['limited_until']),
    },
  };
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const isWord = /^[a-z_]{1,40}$/;

/** What a bridge says of one of the cloud's operations; undefined where it says nothing. */
export function publishedAvailability({ info }: Published, name: OperationName): Availability | undefined {
  const said = valueAt(info, ['operations', name]);
  return availabilities.find((each) => each === said);
}

const availabilities = ['available', 'unavailable', 'off'] as const satisfies readonly Availability[];

function treeOf(text: string | undefined): Tree {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isTree(value) ? value : {};
  } catch {
    return {};
  }
}
