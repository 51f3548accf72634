import type { CloudClient } from '../cloud/client.ts';
import { isPermanent } from '../cloud/errors.ts';
import type { Sonic } from '../model/records.ts';
import { type Flaw, flawOf, flawOfList } from './flaw.ts';

/** What could be read of the Wi-Fi sonics. */
export interface WifiList {
  readonly records: readonly Sonic[];
  readonly isComplete: boolean;
  /** Why it is not complete; null where it is. */
  readonly problem: Flaw | null;
}

const none: WifiList = { records: [], isComplete: true, problem: null };

/**
 * Reads the Wi-Fi sonics; never rejects. Where the cloud has no such list, or shows it not to this user, there are none,
 * unless some are known: they came from that list, and its refusal does not say that they are gone.
 */
export async function readWifiSonics(
  client: CloudClient,
  areSomeKnown: () => boolean,
  signal?: AbortSignal,
): Promise<WifiList> {
  try {
    const crawl = await client.listAll({ operation: 'list_wifi_sonics' }, { ...(signal && { signal }) });
    return { records: crawl.records, isComplete: crawl.complete, problem: flawOfList(crawl) };
  } catch (error) {
    if (isPermanent(error) && !areSomeKnown()) return none;
    // An outage that has only reached this list is no other one.
    return { records: [], isComplete: false, problem: flawOf(error) };
  }
}
