import type { OperationName } from '../cloud/operations.ts';
import type { Envelope } from '../cloud/wire.ts';
import type { Listing } from './asked.ts';
import type { Faults } from './faults.ts';
import { Refusal } from './rules.ts';
import type { World } from './world.ts';

/** What decides how answers look. */
export interface Presentation {
  readonly world: World;
  readonly faults: Faults;
  readonly pageSize: number;
}

/** One page of a list; beyond its end, one without records. */
export function pageOf(
  { world, faults, pageSize }: Presentation,
  name: OperationName,
  asked: Listing,
  page: number,
): Envelope {
  if (faults.strike('missing-page', name) === page) throw new Refusal(500, 'internal server error');
  const { ids, records } = spoilList(faults, name, asked);
  const shown = ids.slice((page - 1) * pageSize, page * pageSize);
  const total = faults.strike('lying-totals', name) ?? ids.length;
  return {
    data: shown.map((id) => spoilRecord(world, faults, name, records.get(id))),
    page_number: page,
    page_size: pageSize,
    total_entries: total,
    total_pages: Math.ceil(total / pageSize),
  };
}

function spoilList(faults: Faults, name: OperationName, { ids, records }: Listing): Listing {
  const extras = new Map<string, unknown>();
  const first = records.get(ids[0] ?? '') as object | undefined;
  if (faults.strike('bad-record', name) !== null) extras.set('bad', { id: 42, name: ['unreadable'] });
  if (faults.strike('unsafe-id', name) !== null) extras.set('unsafe', { ...first, id: 'un/safe' });
  const isMoving = faults.strike('moving-pages', name) !== null;
  if (extras.size === 0 && !isMoving) return { ids, records };
  const all = [...extras.keys(), ...ids];
  const start = isMoving && all.length > 0 ? all.length - (faults.nextMove() % all.length) : 0;
  return {
    ids: [...all.slice(start), ...all.slice(0, start)],
    records: { get: (id) => extras.get(id) ?? records.get(id) },
  };
}

const unknownWords = {
  valve_state: 'half_open',
  battery: 'solar',
  radio_connection: 'roaming',
  cloud_connection: 'roaming',
  type: 'meteor_strike',
  severity: 'apocalyptic',
};
const longName = 'long name '.repeat(10_000);

/** The record as it is shown: the last one of its kind is spoilt where a fault says so. */
export function spoilRecord(world: World, faults: Faults, name: OperationName, record: unknown): unknown {
  if (typeof record !== 'object' || record === null || !('id' in record)) return record;
  const { sonics, wifiSonics, signals, properties, incidents } = world;
  const kinds = [sonics, wifiSonics, signals, properties, incidents];
  if (!kinds.some(({ ids }) => ids.at(-1) === record.id)) return record;
  const words = faults.strike('unknown-enum', name) === null ? {} : unknownWords;
  const isNamed = 'name' in record && faults.strike('long-name', name) !== null;
  const spoilt = Object.entries(words).filter(([field]) => field in record);
  return { ...record, ...Object.fromEntries(spoilt), ...(isNamed && { name: longName }) };
}
