import { isUtf8 } from 'node:buffer';
import type { IPublishPacket } from 'mqtt';

/**
 * Why a message without the retain flag may still be a stored one. `unproven`: it is not known yet whether the broker
 * marks stored messages. `unmarked`: the broker does not mark them.
 */
export type MayBeStored = 'unproven' | 'unmarked';

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string;
  /** The broker sent the message after this moment, in ms of the monotonic clock. So it cannot be older than this. */
  readonly sentAfter: number;
  /** Whether the broker had stored it, or MQTT 5 shows that it was sent with the retain flag. */
  readonly isRetained: boolean;
  /** Why it may be a stored message although it has no retain flag; null if it is certainly new, or has the flag. */
  readonly mayBeStored: MayBeStored | null;
  /** Whether the payload is UTF-8. If not, `payload` has replacement characters for the invalid bytes. */
  readonly isText: boolean;
  /** The topic at which the sender wants an answer, and the data to send with it (MQTT 5). */
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
}

/** Of a longer payload, only this many bytes are read. No payload that is acted on is so long. */
const readBytes = 1024 * 1024;

export interface PublishOptions {
  readonly retain: boolean;
  /** The correlation data of the request that this message answers; sent with MQTT 5 only. */
  readonly correlationData?: Buffer | undefined;
}

export function messageOf(
  topic: string,
  payload: Buffer,
  packet: IPublishPacket,
  sentAfter: number,
  mayBeStored: MayBeStored | null,
): BrokerMessage {
  const { responseTopic, correlationData } = packet.properties ?? {};
  const isRetained = packet.retain === true;
  return {
    topic,
    payload: payload.toString('utf8', 0, readBytes),
    sentAfter,
    isRetained,
    mayBeStored: isRetained ? null : mayBeStored,
    isText: payload.length <= readBytes && isUtf8(payload),
    ...(responseTopic !== undefined && { responseTopic }),
    ...(correlationData !== undefined && { correlationData }),
  };
}

/** An upper bound for the size of a message without its payload, in bytes. */
export function overheadBytes(topic: string, correlationData: Buffer | undefined): number {
  return Buffer.byteLength(topic) + 16 + (correlationData ? correlationData.length + 8 : 0);
}
