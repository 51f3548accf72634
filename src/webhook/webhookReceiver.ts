import type { IncomingMessage } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { hourMs } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import { readBody } from '../base/readBody.ts';
import { isSameSecret, signatureProblem } from './signature.ts';

/*
 * The cloud calls the bridge when something changes. The receiver checks the address and the signature of a call, but
 * does not read its content. A call only causes an early poll (`earlyPoll.ts`), so a forged call does no harm.
 */

const maxBodyBytes = 65_536;

const statusCodes = { accepted: 202, not_found: 404, unauthorized: 401, too_large: 413 };
export type DeliveryOutcome = keyof typeof statusCodes;

interface RefusedDelivery {
  readonly outcome: Exclude<DeliveryOutcome, 'accepted'>;
  readonly reason: string;
}

export type WebhookReceiver = ReturnType<typeof webhookReceiver>;

/** If there is a signing secret, calls must be signed with it. `onDelivery` is called at each call that is accepted. */
export function webhookReceiver(
  secret: string,
  signingSecret: string | undefined,
  onDelivery: () => void,
  clock: Clock,
  log: Log,
) {
  const loggedAt = new Map<DeliveryOutcome, number>();
  const counts = { accepted: 0, not_found: 0, unauthorized: 0, too_large: 0 };

  async function refusalOf(ending: string, request: IncomingMessage): Promise<RefusedDelivery | null> {
    if (!isSameSecret(decodedPart(ending), secret)) {
      return { outcome: 'not_found', reason: 'the address does not end with http.webhook.secret' };
    }
    const body = await readBody(request, maxBodyBytes);
    if (body === null) return { outcome: 'too_large', reason: 'the body is larger than 64 KiB' };
    if (signingSecret === undefined) return null;
    const signature = request.headers['hl-signature']?.toString();
    const reason = signatureProblem(signature, body, signingSecret, clock.now());
    return reason === null ? null : { outcome: 'unauthorized', reason };
  }

  function logRefusal({ outcome, reason }: RefusedDelivery): void {
    const now = clock.monotonic();
    // A stranger may call again and again.
    const isNews = now - (loggedAt.get(outcome) ?? Number.NEGATIVE_INFINITY) >= hourMs;
    if (isNews) loggedAt.set(outcome, now);
    log[isNews ? 'warn' : 'debug'](`Webhook call rejected: ${reason}`);
  }

  /**
   * Handles a call. `ending` is the end of its address. Resolves to the answer; rejects if the client closes the
   * connection.
   */
  async function receive(ending: string, request: IncomingMessage) {
    const refusal = await refusalOf(ending, request);
    const outcome = refusal?.outcome ?? 'accepted';
    counts[outcome] += 1;
    if (refusal) logRefusal(refusal);
    else {
      log.debug('Webhook called. Updating now');
      onDelivery();
    }
    // A client without the right address must learn nothing.
    const isExplained = refusal !== null && outcome !== 'not_found';
    return {
      status: statusCodes[outcome],
      body: { status: outcome, ...(isExplained && { reason: refusal.reason }) },
    };
  }

  return { receive, counts };
}

/** Decodes a text. If it is not encoded correctly, it is returned unchanged and cannot match an encoded secret. */
function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
