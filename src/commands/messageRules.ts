import type { Clock } from '../base/clock.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { reasons } from './outcome.ts';

/** The limits that the rules for messages use. */
export interface MessageLimits {
  /** How long a command may take from when it was sent, in ms. */
  readonly requestTimeoutMs: number;
  /** Aborts when the bridge stops. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
}

/** Why a message is refused before it is read, as a code for programs and in words. */
export interface MessageProblem {
  readonly code: 'invalid_request' | 'cloud_unavailable' | 'timeout';
  readonly reason: string;
}

const maxBytes = 65_536;

const tooOld =
  'the message may be older than cloud.request_timeout, because the connection to the broker stalled. Nothing was changed. Send it again';

/** Why a message is refused whatever it says; null for one that may be read. */
export function messageProblem(message: BrokerMessage, limits: MessageLimits): MessageProblem | null {
  if (message.isRetained) return { code: 'invalid_request', reason: reasons.retained };
  if (message.mayBeStored) return { code: 'invalid_request', reason: reasons[message.mayBeStored] };
  if (limits.stopping.aborted) return { code: 'cloud_unavailable', reason: reasons.stopping };
  if (timeLeftMs(message.sentAfter, limits) === null) return { code: 'timeout', reason: tooOld };
  const words = payloadProblem(message);
  return words === null ? null : { code: 'invalid_request', reason: words };
}

/** Why a payload is not read, in words; null for one that is. */
export function payloadProblem({
  payload,
  isText,
}: Pick<BrokerMessage, 'payload' | 'isText'>): string | null {
  // This comes first, because a long message may be cut in the middle of a character.
  if (Buffer.byteLength(payload) > maxBytes) return 'the payload is larger than 64 KiB';
  return isText ? null : 'the payload is not UTF-8';
}

/**
 * How long a message of that time may still take, in ms; null if its time is up. The client decides whether that is
 * enough, when the request is about to be written.
 */
export function timeLeftMs(
  sentAfter: number,
  { requestTimeoutMs, clock }: Omit<MessageLimits, 'stopping'>,
): number | null {
  const leftMs = sentAfter + requestTimeoutMs - clock.monotonic();
  return leftMs > 0 ? leftMs : null;
}
