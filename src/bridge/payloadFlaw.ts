import type { BrokerMessage } from '../broker/message.ts';

const mostBytes = 65_536;

/** Why a payload is not even read, in words; null for one that is. */
export function payloadFlaw({ payload, isText }: Pick<BrokerMessage, 'payload' | 'isText'>): string | null {
  if (!isText) return 'the payload is not UTF-8';
  const bytes = Buffer.byteLength(payload);
  return bytes > mostBytes ? `the payload has ${bytes} bytes; at most ${mostBytes} are taken` : null;
}
