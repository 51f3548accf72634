import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { readBody } from '../base/readBody.ts';
import { isSameSecret, signatureProblem } from './signature.ts';

/*
 * The cloud calls the bridge when something changes. The receiver checks the address and the signature of a call, and does not
 * read its content. A call only causes an early poll (`earlyPoll.ts`), so a forged call does no harm. The registration
 * (`webhookRegistration.ts`) writes the address of the bridge into the settings of each property.
 */

const maxBodyBytes = 65_536;

/** Repeated calls of a stranger have one line in this time. */
const logAgainMs = 3_600_000;

/** How deliveries may end, and the status of the answer. */
const statusCodes = { accepted: 202, not_found: 404, unauthorized: 401, too_large: 413 };
export type DeliveryOutcome = keyof typeof statusCodes;

interface RefusedDelivery {
  readonly outcome: Exclude<DeliveryOutcome, 'accepted'>;
  readonly reason: string;
}

interface WebhookEvents {
  /** The cloud has delivered something. Its content is not read. */
  readonly delivery: [];
}

/** Receives the cloud's deliveries, and checks their address and signature. */
export class WebhookReceiver extends EventEmitter<WebhookEvents> {
  readonly #secret: string;
  readonly #signingSecret: string | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #loggedAt = new Map<DeliveryOutcome, number>();
  readonly #counts = { accepted: 0, not_found: 0, unauthorized: 0, too_large: 0 };

  /** With a signing secret, deliveries must be signed with it. */
  constructor(secret: string, signingSecret: string | undefined, clock: Clock, log: Log) {
    super();
    this.#secret = secret;
    this.#signingSecret = signingSecret;
    this.#clock = clock;
    this.#log = log;
  }

  /** How many deliveries ended how. */
  get counts(): Readonly<Record<DeliveryOutcome, number>> {
    return this.#counts;
  }

  /** Takes a delivery to the address that ends so, and resolves to the answer. Rejects if the client leaves. */
  async receive(
    ending: string,
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly body: object }> {
    const refusal = await this.#refusalOf(ending, request);
    const outcome = refusal?.outcome ?? 'accepted';
    this.#counts[outcome] += 1;
    if (refusal) this.#logRefusal(refusal);
    else {
      this.#log.debug('Webhook called. Updating now');
      this.emit('delivery');
    }
    // A client without the right address learns nothing.
    const isExplained = refusal !== null && outcome !== 'not_found';
    return {
      status: statusCodes[outcome],
      body: { status: outcome, ...(isExplained && { reason: refusal.reason }) },
    };
  }

  async #refusalOf(ending: string, request: IncomingMessage): Promise<RefusedDelivery | null> {
    if (!isSameSecret(decodedPart(ending), this.#secret)) {
      return { outcome: 'not_found', reason: 'the address does not end with http.webhook.secret' };
    }
    const body = await readBody(request, maxBodyBytes);
    if (body === null) return { outcome: 'too_large', reason: 'the body is larger than 64 KiB' };
    if (this.#signingSecret === undefined) return null;
    const signature = request.headers['hl-signature']?.toString();
    const reason = signatureProblem(signature, body, this.#signingSecret, this.#clock.now());
    return reason === null ? null : { outcome: 'unauthorized', reason };
  }

  #logRefusal({ outcome, reason }: RefusedDelivery): void {
    const now = this.#clock.monotonic();
    const isNews = now - (this.#loggedAt.get(outcome) ?? Number.NEGATIVE_INFINITY) >= logAgainMs;
    if (isNews) this.#loggedAt.set(outcome, now);
    this.#log[isNews ? 'warn' : 'debug'](`Webhook call rejected: ${reason}`);
  }
}

/** The text decoded. If it is not encoded correctly, it cannot be the secret. */
function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
