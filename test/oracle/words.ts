/** A word of the cloud, in which capitals make no difference. */
export function wordOf(written: unknown): string {
  return String(written ?? '')
    .trim()
    .toLowerCase();
}

/** What a word says of a link; null if it says nothing that the oracle knows. */
export function isConnected(written: unknown): boolean | null {
  const word = wordOf(written);
  return word === 'connected' || (word === 'disconnected' ? false : null);
}

/** Whether the device behind a link is online: an unknown word is no reason to call it offline, no word is one. */
export function isOnline(written: unknown): boolean {
  return typeof written === 'string' && isConnected(written) !== false;
}
