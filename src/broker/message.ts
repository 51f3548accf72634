import { isUtf8 } from 'node:buffer';
import type { IPublishPacket } from 'mqtt';

/**
 * Why a message may be one that the broker has stored, although it has no retain flag. `unproven`: it is not known yet
 * whether the broker marks what it has stored. `unmarked`: it does not.
 */
export type MayBeStored = 'unproven' | 'unmarked';

/** A message from the broker. */
export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string;
  /** The broker sent it after this moment, in ms of the monotonic clock; it may have been under way since then. */
  readonly sentAfter: number;
  /** Whether the broker kept it, or its sender asked for that (seen live only with MQTT 5). */
  readonly isRetained: boolean;
  /** Why it may be a stored message although it has no retain flag; null if it is new, or has the flag. */
  readonly mayBeStored: MayBeStored | null;
  /** Whether it is UTF-8; `payload` has replacement characters where it is not. */
  readonly isText: boolean;
  /** Where its sender wants an answer, and the data to send with it (MQTT 5). */
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
}

/** How a message is sent. */
export interface PublishOptions {
  readonly retain: boolean;
  /** Of the request that this answers; sent with MQTT 5 only. */
  readonly correlationData?: Buffer | undefined;
}

/** The message of a packet of mqtt.js. */
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
    payload: payload.toString('utf8'),
    sentAfter,
    isRetained,
    mayBeStored: isRetained ? null : mayBeStored,
    isText: isUtf8(payload),
    ...(responseTopic !== undefined && { responseTopic }),
    ...(correlationData !== undefined && { correlationData }),
  };
}

/** The size of a message without its payload, in bytes, at most. */
export function overheadBytes(topic: string, correlationData: Buffer | undefined): number {
  return Buffer.byteLength(topic) + 16 + (correlationData ? correlationData.length + 8 : 0);
}
