import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
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

/** Whether the cloud offers the list of Wi-Fi sonics, as far as is known. */
function hasWifiList(client: CloudClient): boolean {
  return client.availability('list_wifi_sonics') === 'available';
}

/** Reads the Wi-Fi sonics; never rejects. Where the cloud has no such list, or shows it not to this user, there are none. */
export async function readWifiSonics(client: CloudClient, signal?: AbortSignal): Promise<WifiList> {
  if (!hasWifiList(client)) return none;
  try {
    const crawl = await client.crawl({ operation: 'list_wifi_sonics' }, { ...(signal && { signal }) });
    return { records: crawl.records, isComplete: crawl.complete, problem: flawOfList(crawl) };
  } catch (error) {
    const kind = error instanceof CloudError ? error.kind : null;
    if (kind === 'unsupported' || kind === 'forbidden') return none;
    // An outage that has only reached this list is no other one.
    return { records: [], isComplete: false, problem: flawOf(error) };
  }
}
