import { isLoopback } from '../config/addresses.ts';
import { type Config, type OptionRow, optionRows } from '../config/schema.ts';
import { redactedConfig } from '../config/secrets.ts';
import { isTree, type Tree, valueAt, withValueAt } from '../config/tree.ts';
import type { StandIns } from './standIns.ts';

/** Texts that are no more than a choice, a time or a schedule. */
const open = /^(schedules|valve|log)\.|^stale_after$|^cloud\.request_timeout$|^mqtt\.keepalive$/;

/** Texts that hold an address, of which nothing but its protocol and port is told. */
const addresses = ['cloud.base_url', 'mqtt.url', 'mqtt.embedded.host', 'http.listen'];

/** Lists of texts that tell of a home, of which the length is told. */
const lists = ['filters.properties', 'http.only_from'];

const isSet = '[set]';

/**
 * The configuration as it may be shown to everybody: numbers, switches and schedules as they are; of other texts only
 * whether they are the default.
 */
export function shownConfiguration(config: Config, standIns: StandIns): Tree {
  const redacted = redactedConfig(config);
  return optionRows.reduce<Tree>((tree, row) => {
    const path = row.path.split('.');
    return withValueAt(tree, path, shown(row, valueAt(redacted, path), standIns));
  }, {});
}

function shown(
  { path, type, default: usual, secret }: OptionRow,
  value: unknown,
  standIns: StandIns,
): unknown {
  if (value === null || value === undefined) return null;
  if (secret) return isSet;
  if (type === 'number' || type === 'boolean' || open.test(path)) return value;
  if (addresses.includes(path)) {
    return Array.isArray(value)
      ? value.map((each) => shownAddress(String(each), standIns))
      : shownAddress(String(value), standIns);
  }
  if (lists.includes(path) && Array.isArray(value)) {
    return value.map((word) => standIns.of(String(word)) ?? isSet);
  }
  if (path === 'cloud.routes' && isTree(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, route]) => [name, shownRoute(route, standIns)]),
    );
  }
  return value === usual ? value : isSet;
}

function shownRoute(route: unknown, standIns: StandIns): string | null {
  if (typeof route !== 'string') return null;
  const [method = '', path = ''] = route.split(' ');
  return `${method} ${standIns.hide(path)}`;
}

/** An address with something in place of its host. */
function shownAddress(address: string, standIns: StandIns): string {
  const [, protocol = '', host = '', port = ''] =
    /^([a-z]+:\/\/)?(\[.*?\]|[^/:]*)(:\d+)?/.exec(address) ?? [];
  const isKept = isLoopback(host) || host === '0.0.0.0' || host === '[::]';
  return `${protocol}${isKept ? host : (standIns.of(host) ?? '[host]')}${port}`;
}
