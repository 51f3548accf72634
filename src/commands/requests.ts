import { parseExact, writeExact } from '../base/exactJson.ts';
import { joinSentences } from '../base/joinSentences.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { isTooDeeplyNested } from '../base/nesting.ts';
import { repeatedKey } from '../base/repeatedKey.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Answered } from '../cloud/client.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';
import {
  type Call,
  isOperationName,
  type OperationName,
  operationNames,
  operationRow,
} from '../cloud/operations.ts';
import { encodeCall } from '../cloud/request.ts';
import { isHeldBack } from '../cloud/retry.ts';
import { missingPermissionFor, permissionMessage, repeatedKeyMessage } from '../homeassistant/command.ts';
import { isTopicName } from '../homeassistant/topics.ts';
import type { Store } from '../store/store.ts';
import { type MessageLimits, type MessageProblem, payloadProblem, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, reasonFor, shortenedReason } from './outcome.ts';
import { pausedRefusal, type Updates } from './updates.ts';
import { isSuperseded } from './valveQueue.ts';

export type ErrorCode =
  | 'invalid_request'
  | 'unknown_operation'
  | 'not_permitted'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'validation_failed'
  | 'rate_limited'
  | 'cloud_unavailable'
  | 'timeout'
  | 'unsupported';

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Null if the cloud did not answer. */
  readonly httpStatus: number | null;
  /** False if the request was refused before anything was tried. */
  readonly isTried: boolean;
}

type Response =
  | { readonly status: 'ok'; readonly data: string; readonly isPage: boolean }
  | { readonly status: 'error'; readonly failure: Failure };

interface Request {
  readonly message: BrokerMessage;
  readonly call: Call;
  /** The `transaction` of the request as JSON, for the response; null if there is none. */
  readonly transaction: string | null;
}

/** How many requests run at a time. In the next constant: how many more may wait. */
const maxRunning = 4;
const maxWaitingRequests = 50;

/** The topics of a valve for what moves it. An alert's action may be requested. */
const movingPaths = { command: 'valve/set', test: 'pressure_test/start', maybe: null } as const;

const outsideFilter =
  'not permitted: with filters.properties, a request must name a property, hub, valve or alert that sonic2mqtt shows';

/** If a response is larger than this, in bytes, its data is left out, and the response says `truncated`. */
const maxResponseBytes = 262_144;

/** The longest `transaction` of a request. It is repeated in the response. */
const maxTransactionCharacters = 1_000;

const requestKeys: readonly string[] = ['params', 'query', 'body', 'transaction'];

const codes: Readonly<Record<CloudErrorKind, ErrorCode>> = {
  auth: 'unauthorized',
  forbidden: 'forbidden',
  notFound: 'not_found',
  rateLimited: 'rate_limited',
  rejected: 'validation_failed',
  unavailable: 'cloud_unavailable',
  unreadable: 'cloud_unavailable',
  unsupported: 'unsupported',
  invalid: 'invalid_request',
};

interface RequestsParts
  extends MessageLimits,
    Pick<
      CommandParts,
      'topics' | 'control' | 'statusTopic' | 'client' | 'connection' | 'store' | 'outcomes' | 'log'
    > {
  readonly updates: Updates;
}

/**
 * Carries out the operations that messages at `bridge/request/…` name, a few at a time, and answers each request once.
 * Valve commands and pressure tests have topics of their own and are refused here.
 */
export class Requests {
  readonly #parts: RequestsParts;
  readonly #waiting: Request[] = [];
  #running = 0;

  constructor(parts: RequestsParts) {
    this.#parts = parts;
  }

  /** Handles a request and always answers it. If there is a `problem`, the request is refused whatever it says. */
  handle(message: BrokerMessage, operation: string, problem: MessageProblem | null): void {
    const payload = readRequest(message);
    // It is a valid call of a known operation only if there is no failure.
    const call = { operation, ...payload.parts } as Call;
    const failure = problem ? rejection(problem.code, problem.reason) : this.#judge(call, payload.problem);
    const request = {
      message,
      call: failure ? call : inKnownSpelling(call, this.#parts.store),
      transaction: payload.transaction,
    };
    if (failure) this.#fail(request, failure);
    else if (this.#running >= maxRunning && this.#waiting.length >= maxWaitingRequests) {
      const words = `${maxRunning} requests are running and ${maxWaitingRequests} are waiting. Try again later`;
      this.#fail(request, rejection('rate_limited', words));
    } else {
      this.#waiting.push(request);
      if (this.#running < maxRunning) void this.#drain();
    }
  }

  /** Why a request is refused before anything is sent; null if it is a valid call of an offered operation. */
  #judge(call: Call, payloadProblem: string | null): Failure | null {
    const { topics, control, client } = this.#parts;
    const name: string = call.operation;
    if (!isOperationName(name)) {
      const shown = name.slice(0, 80);
      const guess = didYouMean(nearest(shown, operationNames));
      return rejection('unknown_operation', `there is no operation ${shown}${guess}`);
    }
    if (operationRow(name).session) {
      return rejection('not_permitted', 'not permitted: sonic2mqtt manages its session itself');
    }
    const { moves } = operationRow(name);
    const path = moves ? movingPaths[moves] : null;
    if (path !== null) {
      const topic = topics.below('sonic', '{id}', path);
      return rejection('not_permitted', `not permitted: publish to ${topic} instead`);
    }
    const forbidden = missingPermissionFor(call, control);
    if (forbidden !== null) return rejection('not_permitted', permissionMessage(forbidden));
    if (payloadProblem !== null) return rejection('invalid_request', payloadProblem);
    try {
      encodeCall(call, {});
    } catch (error) {
      return requestFailure(error, null);
    }
    if (!this.#isWithinFilter(inKnownSpelling(call, this.#parts.store)))
      return rejection('not_permitted', outsideFilter);
    const state = client.operationState(name);
    if (state === 'available') return null;
    const words =
      state === 'off' ? `${name} is switched off in cloud.routes` : `the cloud does not offer ${name}`;
    return requestFailure(new CloudError('unsupported', name, words), null);
  }

  /** Whether the filter is off, or each record that the call names is shown. A list of all records names none. */
  #isWithinFilter({ params }: Call): boolean {
    const { store } = this.#parts;
    if (!store.filter.isOn) return true;
    const named = Object.entries<string>(params ?? {});
    return named.length > 0 && named.every(([param, id]) => isShown(store, param, id));
  }

  async #drain(): Promise<void> {
    this.#running += 1;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#run(next);
    this.#running -= 1;
  }

  /** Carries out a request whose turn has come. Never rejects. */
  async #run(request: Request): Promise<void> {
    const { outcomes, updates } = this.#parts;
    const { message, call } = request;
    const timeoutMs = timeLeftMs(message.sentAfter, this.#parts) ?? 0;
    const paused = pausedRefusal(this.#parts.store, call);
    const failure = this.#notSent(timeoutMs) ?? (paused && rejection('invalid_request', paused));
    if (failure) {
      this.#fail(request, failure);
      return;
    }
    const answers = new AnswerStatus();
    try {
      const answer = await updates.send(message, call, { timeoutMs, onAnswer: answers.note });
      outcomes.record(message.topic, 'ok', null, answers.status);
      this.#respondOk(request, answer);
    } catch (error) {
      if (isSuperseded(error)) {
        outcomes.record(message.topic, 'superseded', reasonFor(error), null);
        const failure = rejection('rate_limited', `superseded: ${reasonFor(error)}`);
        this.#respond(request, { status: 'error', failure });
        return;
      }
      this.#fail(request, requestFailure(error, answers.status));
    }
  }

  /** Why a request is not sent although its turn has come; null if it is sent. */
  #notSent(timeoutMs: number): Failure | null {
    if (this.#parts.stopping.aborted) {
      return { ...rejection('cloud_unavailable', 'sonic2mqtt was stopped'), isTried: true };
    }
    if (timeoutMs > 0) return null;
    const words = 'timeout: earlier requests took too long. This one was not sent';
    return { ...rejection('timeout', words), isTried: true };
  }

  #fail(request: Request, failure: Failure): void {
    const { message, httpStatus, isTried } = failure;
    this.#parts.outcomes.record(request.message.topic, isTried ? 'error' : 'refused', message, httpStatus);
    this.#respond(request, { status: 'error', failure });
  }

  /** Answers with exactly the JSON that the cloud sent. A key of our own would look like a key of the cloud. */
  #respondOk(request: Request, { sent }: Answered<OperationName>): void {
    const isPage = operationRow(request.call.operation).reply.kind === 'page';
    this.#respond(request, { status: 'ok', data: sent ?? 'null', isPage });
  }

  #respond({ message, call, transaction }: Request, response: Response): void {
    const { connection, log } = this.#parts;
    const { correlationData } = message;
    const topic = this.#responseTopic(message, call.operation);
    if (topic === null) return;
    const maxBytes = Math.min(maxResponseBytes, connection.roomFor(topic, correlationData));
    const payload = encodeResponse(response, transaction, maxBytes);
    connection
      .publish(topic, payload, { retain: false, correlationData })
      .catch((error) => log.debug(`${topic} was not answered: ${String(error)}`));
  }

  /** The topic of the response; null if it can have none. */
  #responseTopic({ responseTopic }: BrokerMessage, operation: string): string | null {
    const { topics, statusTopic } = this.#parts;
    const isWanted = responseTopic !== undefined && responseTopic !== statusTopic;
    if (isWanted && topics.isOpenToAnswers(responseTopic)) return responseTopic;
    // The name of the operation may be so long that the topic of the response would be too long for MQTT.
    const topic = topics.response(operation);
    return isTopicName(topic) ? topic : null;
  }
}

/** The call with each id as the cloud spells it. Then everything here finds its record. */
function inKnownSpelling(call: Call, { devices }: Store): Call {
  const params = Object.entries<string>(call.params ?? {}).map(([name, id]) => {
    const kind = kindsOfParams[name];
    return [name, kind ? devices[kind].idOf(id) : id];
  });
  return { ...call, params: Object.fromEntries(params) } as Call;
}

const kindsOfParams: Readonly<Record<string, 'property' | 'signal' | 'sonic'>> = {
  property_id: 'property',
  signal_id: 'signal',
  hub_id: 'signal',
  sonic_id: 'sonic',
  thing_id: 'sonic',
};

function isShown(store: Store, param: string, id: string): boolean {
  if (param === 'incident_id') return store.incidents.get(id) !== null;
  const kind = kindsOfParams[param];
  return kind !== undefined && store.isShown(kind, id);
}

function rejection(code: ErrorCode, message: string): Failure {
  return { code, message: shortenedReason(message), httpStatus: null, isTried: false };
}

/**
 * The failure of a request that ended with this error. `httpStatus` is the status of the cloud's last answer, or null.
 */
export function requestFailure(error: unknown, httpStatus: number | null): Failure {
  const message = reasonFor(error);
  if (!(error instanceof CloudError)) {
    return { code: 'cloud_unavailable', message, httpStatus, isTried: true };
  }
  const { kind, timedOut, status = httpStatus } = error;
  const code = kind === 'unavailable' && timedOut ? 'timeout' : codes[kind];
  return { code, message, httpStatus: status, isTried: kind !== 'invalid' && !isHeldBack(error) };
}

/** The payload of a response. If it would be larger than the limit, its data is left out, and the payload says so. */
export function encodeResponse(response: Response, transaction: string | null, maxBytes: number): string {
  const end = transaction === null ? '}' : `,"transaction":${transaction}}`;
  const encode = (fields: object) => JSON.stringify(fields).slice(0, -1) + end;
  if (response.status === 'error') {
    const { code, message, httpStatus } = response.failure;
    return encode({ status: 'error', error: { code, message, http_status: httpStatus } });
  }
  const { status, data, isPage } = response;
  const payload = `{"status":"ok","data":${data}${end}`;
  const bytes = Buffer.byteLength(payload);
  if (bytes <= maxBytes) return payload;
  const hint = isPage ? '. Read it page by page with "query":{"page":…}' : '';
  const message = `the operation succeeded, but its answer is too large${hint}`;
  return encode({ status, data: null, truncated: true, bytes, limit: maxBytes, message });
}

interface RequestPayload {
  /** The parts of its call, before they are checked. */
  readonly parts: { readonly params?: unknown; readonly query?: unknown; readonly body?: unknown };
  /** The `transaction` as JSON; null if there is none. */
  readonly transaction: string | null;
  /** The problem with the request, for people; null if there is none. */
  readonly problem: string | null;
}

export function readRequest(message: Pick<BrokerMessage, 'payload' | 'isText'>): RequestPayload {
  const refused = (problem: string) => ({ parts: {}, transaction: null, problem });
  const payloadWords = payloadProblem(message);
  if (payloadWords !== null) return refused(payloadWords);
  const text = message.payload;
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return refused('the payload is not JSON');
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return refused('the payload must be a JSON object, for example {"params":{…},"body":{…}}');
  }
  const given = Object(parseExact(text)).transaction;
  if (isTooDeeplyNested(given)) return refused('transaction is nested too deeply');
  const transaction = given === undefined ? null : writeExact(given);
  if (transaction !== null && transaction.length > maxTransactionCharacters) {
    return refused(
      `transaction has ${transaction.length} characters. The maximum is ${maxTransactionCharacters}`,
    );
  }
  const { params, query, body } = content as Record<string, unknown>;
  const unknown = Object.keys(content).filter((key) => !requestKeys.includes(key));
  const repeated = repeatedKey(text);
  const problems = [
    ...unknown
      .slice(0, 5)
      .map((key) => key.slice(0, 80))
      .map((key) => `${key} is unknown${didYouMean(nearest(key, requestKeys))}`),
    ...(repeated === null ? [] : [repeatedKeyMessage(repeated)]),
  ];
  return { parts: { params, query, body }, transaction, problem: joinSentences(problems) || null };
}
