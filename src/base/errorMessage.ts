/**
 * What an error says, whatever was thrown; without what Node (from 24 on) advises on a certificate that it does not
 * trust: how to run Node.js is no matter of those who run a daemon.
 */
export function errorMessage(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said.replace(/; if the root CA is installed locally, .*$/, '');
}
