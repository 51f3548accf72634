import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Sonic } from '../model/records.ts';

/** What could be read of the Wi-Fi sonics. */
export interface WifiList {
  readonly records: readonly Sonic[];
  readonly isComplete: boolean;
  /** Why it is not complete; null where it is. */
  readonly problem: { readonly words: string; readonly gist?: string | undefined } | null;
}

const none: WifiList = { records: [], isComplete: true, problem: null };

/** Whether the cloud offers the list of Wi-Fi sonics, as far as is known. */
export function hasWifiList(client: CloudClient): boolean {
  return client.availability('list_wifi_sonics') === 'available';
}

/** Reads the Wi-Fi sonics; never rejects. Where the cloud has no such list, or shows it not to this user, there are none. */
export async function readWifiSonics(client: CloudClient, signal?: AbortSignal): Promise<WifiList> {
  if (!hasWifiList(client)) return none;
  try {
    const { records, complete, problem } = await client.crawl(
      { operation: 'list_wifi_sonics' },
      { ...(signal && { signal }) },
    );
    return { records, isComplete: complete, problem: problem === null ? null : { words: problem } };
  } catch (error) {
    const problem = error instanceof CloudError ? error : null;
    if (problem?.kind === 'unsupported' || problem?.kind === 'forbidden') return none;
    // An outage that has only reached this list is no other one.
    return {
      records: [],
      isComplete: false,
      problem: { words: problem?.message ?? String(error), gist: problem?.gist },
    };
  }
}
