import { connectionStates, type Signal, type Sonic } from './records.ts';
import { knownWord } from './words.ts';

/**
 * Whether the cloud can reach a device, by what was read.
 *
 * | | The device is | What only the device can report is |
 * | --- | --- | --- |
 * | `up` | available | known |
 * | `unknown`: the cloud does not say whether a link is up, or says it in an unknown word | available | unknown |
 * | `offline`: its own link is down | offline | unknown |
 * | `hub_offline`: its hub is offline | offline | unknown |
 * | `hub_unread`: no list has had its hub, or no recent one | offline | unknown |
 * | `stale`: recent lists did not have it | offline | unknown |
 */
export type Reach = 'up' | 'unknown' | 'offline' | 'hub_offline' | 'hub_unread' | 'stale';

/** The link of a device as the cloud says it, and as it counts: true is up, false is down, null is unknown. */
export interface Link {
  readonly isUp: boolean | null;
  /** Whether only a single reading says that the link is down. The next reading decides, and until then it counts as before. */
  readonly isFlap: boolean;
}

/** Whether the cloud says that the link is connected; null if it says nothing, or a word that is not known here. */
export function isConnected(link: string | null): boolean | null {
  const word = knownWord(connectionStates, link);
  return word === null ? null : word === 'connected';
}

/** The link of a device in the cloud's word; undefined for a sonic on Wi-Fi without one, because it needs none. */
export function linkWord(record: Signal | Sonic, isWifi: boolean): string | null | undefined {
  if (!('radio_connection' in record)) return record.cloud_connection;
  return isWifi ? (record.radio_connection ?? undefined) : record.radio_connection;
}

export function isAvailable(reach: Reach): boolean {
  return reach === 'up' || reach === 'unknown';
}

/** `isCloudLost`: an open incident says that the hub has lost the cloud, and contradicts an older reading. */
export function signalReach(link: boolean | null, isStale: boolean, isCloudLost: boolean): Reach {
  if (isStale) return 'stale';
  return isCloudLost ? 'offline' : reachBy(link);
}

/** `hub` is the reach of its hub; null if no list has had it. */
export function sonicReach(link: boolean | null, isStale: boolean, hub: Reach | null): Reach {
  if (isStale) return 'stale';
  if (hub === 'offline') return 'hub_offline';
  if (link === false) return 'offline';
  if (hub === null || !isAvailable(hub)) return 'hub_unread';
  return link === null ? 'unknown' : hub;
}

function reachBy(link: boolean | null): Reach {
  return link === null ? 'unknown' : link ? 'up' : 'offline';
}
