import { isConnected, isLinkUp } from '../model/devices.ts';
import type { Signal, Sonic } from '../model/records.ts';
import type { ReadonlyTable } from './table.ts';

/**
 * Whether only one reading has found the link down. That may be a short flap, so the next reading decides. Until it comes, the
 * link still counts as up, but not after its last reading as up has become stale.
 */
export function isFlap(table: ReadonlyTable<Signal> | ReadonlyTable<Sonic>, id: string): boolean {
  return isConnected(linkOf(table.get(id))) === false && isLinkUp(linkOf(table.formerOfNew(id)));
}

/** The state of a device's own link. */
function linkOf(record: Signal | Sonic | undefined): string | null {
  if (!record) return null;
  return 'radio_connection' in record ? record.radio_connection : record.cloud_connection;
}
