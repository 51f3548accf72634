import type { Clock } from '../base/clock.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { isPastSendWindow } from '../cloud/lateness.ts';

/** Why an old command is refused. */
export const tooOldWords =
  'the message may be older than cloud.request_timeout: the link to the broker stalled, or the bridge was stopped. Nothing was changed. Send it again if you still want it';

/** What the age of a message is measured by. */
interface AgeLimit {
  /** How long a command may take from when it was sent, in ms. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
}

/** Whether the message may have been under way for so long that too little of a command's time is left. */
export function isTooOld(
  { sentAfter }: Pick<BrokerMessage, 'sentAfter'>,
  { requestTimeoutMs, clock }: AgeLimit,
): boolean {
  return isPastSendWindow(sentAfter + requestTimeoutMs - clock.monotonic(), requestTimeoutMs);
}
