/**
 * An error's message, without what Node (from 24 on) advises on a certificate that it does not trust: how to run
 * Node.js is no matter of those who run a daemon.
 */
export function reasonOf({ message }: Error): string {
  return message.replace(/; if the root CA is installed locally, .*$/, '');
}
