import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Sonic } from '../model/records.ts';

/** What could be read of the Wi-Fi sonics. */
export interface WifiList {
  readonly records: readonly Sonic[];
  readonly isComplete: boolean;
  /** Why it is not complete, in words. */
  readonly problem: string | null;
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
    return { records, isComplete: complete, problem };
  } catch (error) {
    if (error instanceof CloudError && (error.kind === 'unsupported' || error.kind === 'forbidden'))
      return none;
    return { records: [], isComplete: false, problem: wordsOf(error) };
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
