import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { RequestFailure } from './requestFailure.ts';

/** What a request is answered. */
export type Answer =
  | { readonly status: 'ok'; readonly data: unknown; readonly isPage: boolean }
  | { readonly status: 'error'; readonly failure: RequestFailure };

/** Where an answer goes, and what goes back with it. */
export interface ReturnAddress {
  /** Null where no topic can have it. */
  readonly topic: string | null;
  readonly correlationData: Buffer | undefined;
  /** JSON as it came; null for none. */
  readonly transaction: string | null;
}

const mostBytes = 262_144;
const mostUnacknowledged = 2_000;
// Of a flood only few are carried out, and their answers matter most.
const mostRefusals = 1_900;

/** Publishes answers, never retained, as far as the broker keeps up with them; refusals leave room for the others. */
export class Answers {
  readonly #connection: Connection;
  readonly #log: Log;
  #unacknowledged = 0;
  #dropped = 0;

  constructor(connection: Connection, log: Log) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Publishes the answer; while too many are unacknowledged it is dropped instead, and counted. */
  send(answer: Answer, { topic, correlationData, transaction }: ReturnAddress): void {
    if (topic === null) return;
    const isRefusal = answer.status === 'error' && !answer.failure.isTried;
    if (this.#unacknowledged >= (isRefusal ? mostRefusals : mostUnacknowledged)) {
      if (this.#dropped === 0) {
        this.#log.warn('Answers to requests wait for the MQTT broker: further ones are dropped');
      }
      this.#dropped += 1;
      return;
    }
    const limit = Math.min(mostBytes, this.#connection.roomFor(topic, correlationData));
    const payload = answerPayload(answer, transaction, limit);
    this.#unacknowledged += 1;
    this.#connection
      .publish(topic, payload, { retain: false, correlationData })
      .catch((error) => this.#log.debug(`${topic} was not answered: ${String(error)}`))
      .finally(() => this.#acknowledged());
  }

  #acknowledged(): void {
    this.#unacknowledged -= 1;
    if (this.#unacknowledged > 0 || this.#dropped === 0) return;
    this.#log.warn(`The MQTT broker has taken the answers; dropped: ${this.#dropped}`);
    this.#dropped = 0;
  }
}

/** The payload of an answer; data that make it larger than the limit are left out, and it says so. */
export function answerPayload(answer: Answer, transaction: string | null, limitBytes: number): string {
  if (answer.status === 'error') {
    const { code, message, httpStatus } = answer.failure;
    return written({ status: 'error', error: { code, message, http_status: httpStatus } }, transaction);
  }
  const { status, data, isPage } = answer;
  const payload = written({ status, data }, transaction);
  const bytes = Buffer.byteLength(payload);
  if (bytes <= limitBytes) return payload;
  const hint = isPage ? '; ask for its pages one by one with "query":{"page":…}' : '';
  const message = `the operation was done, but its answer is too large${hint}`;
  const notice = { status, data: null, truncated: true, bytes, limit: limitBytes, message };
  return written(notice, transaction);
}

function written(answer: object, transaction: string | null): string {
  const text = JSON.stringify(answer);
  return transaction === null ? text : `${text.slice(0, -1)},"transaction":${transaction}}`;
}
