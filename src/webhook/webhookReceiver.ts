import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { jsonReply, notFound, type Question, type Reply, type Route } from '../http/routes.ts';
import type { EarlyPoll } from './earlyPoll.ts';
import { isSameSecret, signatureProblem } from './signature.ts';

export interface WebhookReceiverOptions {
  /** The last part of the path. */
  readonly secret: string;
  /** When given, deliveries must be signed with it. */
  readonly signingSecret: string | undefined;
  /** Asked at each good delivery; what the delivery says is not looked at. */
  readonly earlyPoll: EarlyPoll;
}

const mostBodyBytes = 65_536;

/** A stranger who tries again and again is not worth a line each time. */
const sayEveryMs = 3_600_000;

/** How deliveries may end; those with another secret find nothing. */
export type DeliveryOutcome = 'accepted' | 'not_found' | 'unauthorized' | 'too_large';

/** Takes what the cloud delivers: whatever it says, it only causes an early poll. */
export class WebhookReceiver {
  readonly #options: WebhookReceiverOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #counts: Record<DeliveryOutcome, number> = {
    accepted: 0,
    not_found: 0,
    unauthorized: 0,
    too_large: 0,
  };
  readonly #saidAt = new Map<DeliveryOutcome, number>();
  /** Its address is as secret as what is behind it: another method finds nothing, and neither does another secret. */
  readonly route: Route = {
    path: '/webhook/*',
    methods: ['POST', 'PUT'],
    isSecret: true,
    answer: (question) => this.#answer(question),
  };

  constructor(options: WebhookReceiverOptions, clock: Clock, log: Log) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** How many deliveries ended so. */
  get counts(): Readonly<Record<DeliveryOutcome, number>> {
    return this.#counts;
  }

  async #answer({ rest, headers, readBody }: Question): Promise<Reply> {
    const { secret, signingSecret, earlyPoll } = this.#options;
    if (!isSameSecret(decoded(rest), secret)) {
      this.#noteRefusal('not_found', 'its address does not end with http.webhook.secret');
      return notFound;
    }
    const body = await readBody(mostBodyBytes);
    if (body === null) return this.#refuse('too_large', 413, `it is larger than ${mostBodyBytes} bytes`);
    if (signingSecret !== undefined) {
      const header = headers['hl-signature'];
      const signature = Array.isArray(header) ? header.join() : header;
      const problem = signatureProblem(signature, body, signingSecret, this.#clock.now());
      if (problem !== null) return this.#refuse('unauthorized', 401, problem);
    }
    this.#counts.accepted += 1;
    this.#log.debug('The webhook was called: polling early');
    earlyPoll.ask();
    return jsonReply(202, { status: 'accepted' });
  }

  #refuse(outcome: DeliveryOutcome, status: number, reason: string): Reply {
    this.#noteRefusal(outcome, reason);
    return jsonReply(status, { status: outcome, reason });
  }

  #noteRefusal(outcome: DeliveryOutcome, reason: string): void {
    this.#counts[outcome] += 1;
    const now = this.#clock.monotonic();
    const isNews = now - (this.#saidAt.get(outcome) ?? Number.NEGATIVE_INFINITY) >= sayEveryMs;
    if (isNews) this.#saidAt.set(outcome, now);
    this.#log[isNews ? 'warn' : 'debug'](`A delivery to the webhook was refused: ${reason}`);
  }
}

/** What is not well encoded is no secret that anybody has given. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
