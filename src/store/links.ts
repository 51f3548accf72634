import { isConnected, type Link, linkWord } from '../model/reach.ts';
import type { Signal, Sonic } from '../model/records.ts';
import type { ReadonlyTable } from './table.ts';

/**
 * The link of a device. If only one reading has found it down after another word, that may be a short flap, so the next
 * reading decides. Until it comes, the link counts as before. Without a reading before, or with one that is stale, it is down
 * at once.
 */
export function linkOf(
  table: ReadonlyTable<Signal> | ReadonlyTable<Sonic>,
  id: string,
  isWifi = false,
): Link {
  const isUpBy = (record: Signal | Sonic | undefined) => {
    const word = record && linkWord(record, isWifi);
    return word === undefined ? true : isConnected(word);
  };
  const isUp = isUpBy(table.get(id));
  const former = table.formerOfNew(id);
  const before = former ? isUpBy(former) : false;
  return isUp === false && before !== false ? { isUp: before, isFlap: true } : { isUp, isFlap: false };
}
