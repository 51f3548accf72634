import type { Clock } from '../base/clock.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { reasons } from './outcome.ts';

export interface MessageLimits {
  /** How long a command may take, counted from when it was sent, in ms. */
  readonly requestTimeoutMs: number;
  /** Aborts when the bridge stops. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
}

/** Why a message is refused before its payload is read, as a code for programs and a reason for people. */
export interface MessageProblem {
  readonly code: 'invalid_request' | 'cloud_unavailable' | 'timeout';
  readonly reason: string;
}

const maxBytes = 65_536;

const tooOld =
  'the message may be older than cloud.request_timeout, because the network, the broker or this computer was too slow. Nothing was changed. Send it again';

/** Why a message is refused whatever its payload says; null if its payload may be read. */
export function messageProblem(message: BrokerMessage, limits: MessageLimits): MessageProblem | null {
  if (message.isRetained) return { code: 'invalid_request', reason: reasons.retained };
  if (message.mayBeStored) return { code: 'invalid_request', reason: reasons[message.mayBeStored] };
  if (limits.stopping.aborted) return { code: 'cloud_unavailable', reason: reasons.stopping };
  if (timeLeftMs(message.sentAfter, limits) === null) return { code: 'timeout', reason: tooOld };
  const words = payloadProblem(message);
  return words === null ? null : { code: 'invalid_request', reason: words };
}

/** Why a payload cannot be read, for people; null if it can. */
export function payloadProblem({
  payload,
  isText,
}: Pick<BrokerMessage, 'payload' | 'isText'>): string | null {
  // The size comes first, because a long message may have been cut in the middle of a character.
  if (Buffer.byteLength(payload) > maxBytes) return 'the payload is larger than 64 KiB';
  return isText ? null : 'the payload is not UTF-8';
}

/**
 * How long a message that was sent after `sentAfter` may still take, in ms; null if its time is up. Whether the rest is
 * enough, the client decides just before it writes the request.
 */
export function timeLeftMs(
  sentAfter: number,
  { requestTimeoutMs, clock }: Omit<MessageLimits, 'stopping'>,
): number | null {
  const leftMs = sentAfter + requestTimeoutMs - clock.monotonic();
  return leftMs > 0 ? leftMs : null;
}
