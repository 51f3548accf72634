import { isTree } from '../config/tree.ts';
import type { PlannedKind } from '../store/changes.ts';
import type { StandIns } from './standIns.ts';

/** Fields of records whose words are the protocol's, and tell of nobody; what is in any other is somebody's. */
const publicFields = new Set([
  ...[
    'battery',
    'cloud_connection',
    'created_at',
    'detected_at',
    'language',
    'last_reset',
    'membership_role',
  ],
  ...['modem_version', 'possible_actions', 'pressure_tests_schedule', 'radio_connection', 'role', 'roles'],
  ...['severity', 'state', 'status', 'timezone', 'type', 'updated_at', 'valve', 'valve_state', 'version'],
]);

const coordinates = new Set(['lat', 'lng', 'latitude', 'longitude']);

interface Named {
  readonly id: string;
  readonly name?: string | null;
}

/** Finds stand-ins for records of a kind, the first the oldest: `sonic-1` for its id and its name. */
export function standInForRecords(standIns: StandIns, kind: PlannedKind, records: readonly Named[]): void {
  const inOrder = records.toSorted((left, right) => compare(ageOf(left), ageOf(right)));
  for (const [index, { id }] of inOrder.entries()) standIns.set(id, `${kind}-${index + 1}`);
  for (const [index, { name }] of inOrder.entries()) standIns.set(name, `${kind}-${index + 1}`);
}

/** Hides every text in a record that is somebody's. */
export function hidePrivateFields(standIns: StandIns, record: unknown, field = 'text'): void {
  if (Array.isArray(record)) for (const each of record) hidePrivateFields(standIns, each, field);
  else if (isTree(record)) {
    for (const [key, value] of Object.entries(record)) {
      if (!publicFields.has(key)) hidePrivateFields(standIns, value, key);
    }
  } else if (typeof record === 'string') {
    // A field of an unknown name might be a name itself.
    standIns.set(record, /^[a-z\d_]{1,30}$/.test(field) ? `[${field}]` : '[text]');
  } else if (coordinates.has(field)) standIns.set(String(record), '[coordinate]');
}

/** Those that come later are younger, so that nobody gets another number by them. */
function ageOf(record: Named): string {
  const { created_at, detected_at } = record as { created_at?: unknown; detected_at?: unknown };
  return `${created_at ?? detected_at ?? ''} ${record.id}`;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
