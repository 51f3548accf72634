import { createHash } from 'node:crypto';
import { idKey } from './ids.ts';

/** A bridge's part of the account: bridge number `index`, counted from 0, of `count` bridges. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The part of a bridge that does not share the account. */
export const wholeAccount: Shard = { index: 0, count: 1 };

/** Whether several bridges share the account. */
export function isShared({ count }: Shard): boolean {
  return count > 1;
}

/**
 * The index of the bridge to which a property belongs, with everything in it. Each bridge draws a number for the
 * property, and the highest number wins. If the number of bridges changes, properties move only to new bridges, or away
 * from removed ones.
 */
export function bridgeOf(propertyId: string, count: number): number {
  if (count === 1) return 0;
  const draws = Array.from({ length: count }, (_, index) => drawOf(propertyId, index));
  return draws.indexOf(Math.max(...draws));
}

function drawOf(propertyId: string, index: number): number {
  return createHash('sha256')
    .update(`${index}/${idKey(propertyId)}`)
    .digest()
    .readUIntBE(0, 6);
}

/** Whether the record with this id belongs to this bridge. */
export function isOurs(propertyId: string, { index, count }: Shard): boolean {
  return bridgeOf(propertyId, count) === index;
}

/** The name of a bridge in topics, and in the ids of its device and entities. */
export function bridgeName({ index, count }: Shard): string {
  return count === 1 ? 'bridge' : `bridge_${index}`;
}

/**
 * Whether this bridge removes the topics of the bridge with that name. Each bridge removes its own topics. The first
 * bridge also removes those of bridges that no longer exist.
 */
export function isHeir(name: string, { index, count }: Shard): boolean {
  if (name === bridgeName({ index, count })) return true;
  const others = Array.from({ length: count }, (_, each) => bridgeName({ index: each, count }));
  return index === 0 && !others.includes(name);
}
