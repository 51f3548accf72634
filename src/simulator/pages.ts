import type { OperationName } from '../cloud/operations.ts';
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

/** JSON of what lists have shown: a record that changes is replaced, so that of an object never does. */
const recordTexts = new WeakMap<object, string>();

/** One page of a list as JSON; beyond its end, one without records. */
export function pageText(
  { world, faults, pageSize }: Presentation,
  name: OperationName,
  asked: Listing,
  page: number,
): string {
  if (faults.strike('missing-page', name) === page) throw new Refusal(500, 'internal server error');
  const { ids, records } = spoilList(faults, name, asked);
  const shown = ids.slice((page - 1) * pageSize, page * pageSize);
  const total = faults.strike('lying-totals', name) ?? ids.length;
  const data = shown.map((id) => textOf(spoilRecord(world, faults, name, records.get(id))));
  const place = {
    page_number: page,
    page_size: pageSize,
    total_entries: total,
    total_pages: Math.ceil(total / pageSize),
  };
  return `{"data":[${data.join()}],${JSON.stringify(place).slice(1)}`;
}

function textOf(record: unknown): string {
  if (typeof record !== 'object' || record === null) return JSON.stringify(record) ?? 'null';
  const known = recordTexts.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify(record);
  recordTexts.set(record, text);
  return text;
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
  if (faults.areNone || typeof record !== 'object' || record === null || !('id' in record)) return record;
  const { sonics, wifiSonics, signals, properties, incidents } = world;
  const kinds = [sonics, wifiSonics, signals, properties, incidents];
  if (!kinds.some(({ ids }) => ids.at(-1) === record.id)) return record;
  const words = faults.strike('unknown-enum', name) === null ? {} : unknownWords;
  const isNamed = 'name' in record && faults.strike('long-name', name) !== null;
  const spoilt = Object.entries(words).filter(([field]) => field in record);
  return { ...record, ...Object.fromEntries(spoilt), ...(isNamed && { name: longName }) };
}
