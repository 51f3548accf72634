/** The first error, if there is one for each address of a host; any other error unchanged. */
export function firstError(error: unknown): unknown {
  return error instanceof AggregateError ? (error.errors[0] ?? error) : error;
}

/**
 * The message of anything that was thrown. Node.js 24 adds advice about an untrusted certificate. It is left out,
 * because it is about options of Node.js, which users of a daemon do not set.
 */
export function errorMessage(error: unknown): string {
  const first = firstError(error);
  const message = first instanceof Error ? first.message : String(first);
  return message.replace(/; if the root CA is installed locally, .*$/, '');
}
