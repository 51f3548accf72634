/**
 * The message of anything that was thrown. It leaves out the advice that Node.js 24 adds for an untrusted certificate: it is
 * about options of Node.js, which users of a daemon do not set.
 */
export function errorMessage(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said.replace(/; if the root CA is installed locally, .*$/, '');
}
