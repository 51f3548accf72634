import { isConnected, type Link, linkWord } from '../model/reach.ts';
import type { Signal, Sonic } from '../model/records.ts';
import type { ReadonlyTable } from './table.ts';

/**
 * The link of a device. If only one reading has found it down, that may be a short flap, so the next reading decides. Until it
 * comes, the link counts as before. A reading before that is stale counts no more. The first reading of a hub counts as
 * unknown if it finds it down, because a hub is read again within a minute. A valve is read again only by its schedule.
 */
export function linkOf(
  table: ReadonlyTable<Signal> | ReadonlyTable<Sonic>,
  id: string,
  isWifi = false,
): Link {
  const isUpBy = (record: Signal | Sonic | null | undefined) => {
    const word = record && linkWord(record, isWifi);
    return word === undefined ? true : isConnected(word);
  };
  const isUp = isUpBy(table.get(id));
  const former = table.formerOfNew(id);
  const isFirst = former === null;
  const isReadAgain = 'cloud_connection' in (table.get(id) ?? {});
  const before = former === undefined || (isFirst && !isReadAgain) ? false : isUpBy(former);
  return isUp === false && before !== false ? { isUp: before, isFlap: true } : { isUp, isFlap: false };
}
