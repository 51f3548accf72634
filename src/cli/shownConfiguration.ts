import { type Config, type OptionRow, optionRows } from '../config/schema.ts';
import { redactedConfig } from '../config/secrets.ts';
import { isTree, type Tree, valueAt, withValueAt } from '../config/tree.ts';

/** Options whose text is a choice, a time or a schedule, so that it may be shown. */
const shownOptions = /^(schedules|valve|log)\.|^stale_after$|^cloud\.request_timeout$|^mqtt\.keepalive$/;

/** Numbers, switches and schedules of the configuration. Of other options, only whether they are set. */
export function shownConfiguration(config: Config): Tree {
  const redacted = redactedConfig(config);
  return optionRows.reduce<Tree>((tree, row) => {
    const path = row.path.split('.');
    return withValueAt(tree, path, shownValue(row, valueAt(redacted, path)));
  }, {});
}

function shownValue({ path, type, default: usual, secret }: OptionRow, value: unknown): unknown {
  if (value === null || value === undefined || secret) return value ? '[set]' : null;
  if (type === 'number' || type === 'boolean' || shownOptions.test(path) || value === usual) return value;
  if (Array.isArray(value)) return value.map(setMark);
  // Routes are shown by their operation. Null switches an operation off.
  if (isTree(value)) return Object.fromEntries(Object.keys(value).map((key) => [key, value[key] && '[set]']));
  return setMark(value);
}

/** Of an address, the protocol is shown. */
const setMark = (value: unknown) => `${/^[a-z]+:\/\//.exec(String(value))?.[0] ?? ''}[set]`;
