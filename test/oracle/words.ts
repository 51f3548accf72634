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

/** Whether the device behind a link is online: an unknown word and null are no reason to call it offline. */
export function isOnline(written: unknown): boolean {
  return written !== undefined && isConnected(written) !== false;
}
