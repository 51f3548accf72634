import type { BrokerMessage } from '../broker/message.ts';

const mostBytes = 65_536;

/** Why a payload is not even read, in words; null for one that is. */
export function payloadFlaw({ payload, isText }: Pick<BrokerMessage, 'payload' | 'isText'>): string | null {
  // First, since a long message may be cut, which makes it no text.
  if (Buffer.byteLength(payload) > mostBytes) return 'the payload is larger than 64 KiB';
  return isText ? null : 'the payload is not UTF-8';
}
