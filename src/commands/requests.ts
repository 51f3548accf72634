import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { Answered, CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { isPastSendWindow } from '../cloud/lateness.ts';
import { type Call, type OperationName, operationRow, type RecordOf } from '../cloud/operations.ts';
import type { UncheckedCall } from '../cloud/request.ts';
import { isTopicName, type Topics } from '../homeassistant/topics.ts';
import { namesRecords } from '../polling/missingRoute.ts';
import type { Store } from '../store/store.ts';
import type { Answers, ReturnAddress } from './answers.ts';
import type { FollowUp } from './followUp.ts';
import { isTooOld, tooOldWords } from './messageAge.ts';
import { type Outcome, retainedWords, stoppedWords } from './outcome.ts';
import { failureOf, type RequestFailure, turnedAway, unsentFailure } from './requestFailure.ts';
import { judgeBudget, judgeMover, judgeRequest } from './requestJudgement.ts';
import { readRequest } from './requestPayload.ts';
import { isValveCall, type ValveCall } from './valveCall.ts';
import type { ValveEnd, ValveErrand } from './valveLanes.ts';

export interface RequestsOptions {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  /** Where Home Assistant says that it has started. */
  readonly statusTopic: string;
  readonly client: CloudClient;
  readonly store: Store;
  readonly answers: Answers;
  readonly followUp: FollowUp;
  /** Why no valve may be moved at present, in words; null while they may. */
  readonly standstill: () => string | null;
  readonly moveValve: (errand: ValveErrand) => void;
  /** How long a request may take from when it was sent, in ms. */
  readonly requestTimeoutMs: number;
  /** Ends what is under way; once it has aborted, requests are refused. */
  readonly signal: AbortSignal;
  readonly tell: (outcome: Outcome) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request on its way. */
interface Errand {
  readonly topic: string;
  readonly call: Call;
  readonly address: ReturnAddress;
  /** Its time starts then, in ms of the monotonic clock. */
  readonly sentAfter: number;
}

const mostUnderWay = 4;
const mostWaiting = 50;
// They wait in the lanes of their valves instead, where the newest wins.
const mostValveErrands = 50;

/**
 * Carries out operations that are asked for over MQTT, a few at a time, and answers each request once. Reads keep to
 * the budget as polls do; changes are turned away while it is used up; what moves a valve goes by its lane.
 */
export class Requests {
  readonly #options: RequestsOptions;
  /** Oldest first, each with what ends its wait. */
  readonly #waiting = new Map<Errand, () => void>();
  #underWay = 0;
  #valveErrands = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Takes a message; if it is a request, it is answered in any case. */
  take(message: BrokerMessage): void {
    const { topic, payload, isRetained, sentAfter } = message;
    const operation = this.#options.topics.operationOf(topic);
    if (operation === null || (isRetained && payload === '')) return;
    const { parts, transaction, problem } = readRequest(message);
    const address = { ...this.#replyTo(message, operation), transaction };
    const call = { operation, ...parts };
    const failure = this.#refusal(message, call, problem);
    // What was judged well is the call of an operation.
    const errand = { topic, call: call as Call, address, sentAfter };
    if (failure) this.#fail(errand, failure);
    else if (isValveCall(errand.call)) this.#moveValve(errand, errand.call);
    else this.#queue(errand);
  }

  /** What waits is told that it is not sent any more. */
  stop(): void {
    for (const [errand, cancel] of this.#waiting) {
      cancel();
      const error = new CloudError('unavailable', errand.call.operation, 'the bridge was stopped');
      this.#fail(errand, failureOf(error, null));
    }
    this.#waiting.clear();
  }

  /** Why a request is refused; null where it is carried out. */
  #refusal(message: BrokerMessage, call: UncheckedCall, problem: string | null): RequestFailure | null {
    const { control, client, standstill, signal } = this.#options;
    if (message.isRetained) return turnedAway('invalid_request', retainedWords);
    if (signal.aborted) return turnedAway('cloud_unavailable', stoppedWords);
    if (isTooOld(message, this.#options)) return turnedAway('timeout', tooOldWords);
    const availability = (name: OperationName) => client.availability(name);
    return judgeRequest(call, problem, { control, availability, standstill });
  }

  #replyTo(
    { responseTopic, correlationData }: BrokerMessage,
    operation: string,
  ): Omit<ReturnAddress, 'transaction'> {
    const { topics, statusTopic } = this.#options;
    const isWanted = responseTopic !== undefined && responseTopic !== statusTopic;
    if (isWanted && topics.isOpenToAnswers(responseTopic)) return { topic: responseTopic, correlationData };
    // The longest name leaves no room for an answer's topic.
    const topic = topics.response(operation);
    return { topic: isTopicName(topic) ? topic : null, correlationData };
  }

  #moveValve(errand: Errand, call: ValveCall): void {
    const { client, store, moveValve } = this.#options;
    const failure =
      this.#valveErrands >= mostValveErrands
        ? turnedAway('rate_limited', `${mostValveErrands} requests for valves are under way already`)
        : (judgeMover(call, store) ?? judgeBudget(client.traffic()));
    if (failure) {
      this.#fail(errand, failure);
      return;
    }
    this.#valveErrands += 1;
    moveValve({
      topic: errand.topic,
      sentAfter: errand.sentAfter,
      call,
      priority: 'command',
      onEnd: (end) => {
        this.#valveErrands -= 1;
        this.#valveMoved(errand, end);
      },
    });
  }

  #valveMoved(errand: Errand, end: ValveEnd): void {
    if (end.status === 'ok') this.#succeed(errand, end.answer, end.httpStatus);
    else if (end.status === 'error') this.#fail(errand, failureOf(end.error, end.httpStatus));
    else {
      const { tell, answers } = this.#options;
      tell({ topic: errand.topic, status: 'superseded', reason: end.reason, http_status: null });
      const failure = turnedAway('rate_limited', `superseded: ${end.reason}`);
      answers.send({ status: 'error', failure }, errand.address);
    }
  }

  #queue(errand: Errand): void {
    const { client, requestTimeoutMs, clock } = this.#options;
    if (this.#underWay < mostUnderWay) void this.#run(errand);
    else if (this.#waiting.size >= mostWaiting) {
      const words = `${mostUnderWay} requests are under way and ${mostWaiting} wait already`;
      this.#fail(errand, turnedAway('rate_limited', words));
    } else {
      const cancel = clock.after(errand.sentAfter + requestTimeoutMs - clock.monotonic(), () => {
        this.#waiting.delete(errand);
        this.#fail(errand, unsentFailure(errand.call, client.traffic()));
      });
      this.#waiting.set(errand, cancel);
    }
  }

  async #run(errand: Errand): Promise<void> {
    this.#underWay += 1;
    await this.#carryOut(errand);
    this.#underWay -= 1;
    for (const [next, cancel] of this.#waiting) {
      cancel();
      this.#waiting.delete(next);
      void this.#run(next);
      return;
    }
  }

  /** Never rejects. */
  async #carryOut(errand: Errand): Promise<void> {
    const { client, followUp, requestTimeoutMs, signal, clock } = this.#options;
    const { topic, call, sentAfter } = errand;
    const isChange = operationRow(call.operation).retry === 'never';
    const timeoutMs = sentAfter + requestTimeoutMs - clock.monotonic();
    if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {
      this.#fail(errand, unsentFailure(call, client.traffic()));
      return;
    }
    const failure = isChange ? judgeBudget(client.traffic()) : null;
    if (failure) {
      this.#fail(errand, failure);
      return;
    }
    const startedAt = clock.monotonic();
    let httpStatus: number | null = null;
    const onAnswer = (status: number) => {
      httpStatus = status;
    };
    let answer: Answered<OperationName>;
    try {
      const isOneOfMany = namesRecords(call);
      answer = await client.callRaw(call, { signal, timeoutMs, onAnswer, isOneOfMany });
    } catch (error) {
      const isRouteMissing = await followUp.failed(topic, call, error);
      const isUnsent = error instanceof CloudError && error.timedOut && !error.mayHaveActed;
      if (isUnsent && !isChange && client.traffic().pollWaitMs > 0) {
        this.#fail(errand, { ...unsentFailure(call, client.traffic()), httpStatus });
      } else if (isRouteMissing) {
        this.#fail(errand, { ...failureOf(error, httpStatus), code: 'unsupported' });
      } else this.#fail(errand, failureOf(error, httpStatus));
      return;
    }
    this.#noteSonic(call, answer.reply, startedAt);
    this.#succeed(errand, answer, httpStatus);
  }

  /** Whoever reads a sonic has heard the cloud's newest word on its valve, which then is no secret from the others. */
  #noteSonic({ operation, params }: Call, reply: unknown, startedAt: number): void {
    if (operation !== 'read_sonic' && operation !== 'read_wifi_sonic') return;
    const sonic = reply as RecordOf<typeof operation>;
    if (sonic.id === params.sonic_id) this.#options.store.setSonic(sonic, startedAt);
  }

  /** It is answered with what the cloud sent: a key of ours would pass for the cloud's word. */
  #succeed(
    { topic, call, address }: Errand,
    { reply, sent }: Answered<OperationName>,
    httpStatus: number | null,
  ): void {
    const { tell, answers, followUp } = this.#options;
    const isPage = operationRow(call.operation).reply.kind === 'page';
    tell({ topic, status: 'ok', reason: null, http_status: httpStatus });
    answers.send({ status: 'ok', data: sent, isPage }, address);
    followUp.done(call, reply);
  }

  #fail({ topic, address }: Errand, failure: RequestFailure): void {
    const { tell, answers, log } = this.#options;
    const { message, httpStatus, isTried } = failure;
    const status = isTried ? 'error' : 'refused';
    // Whoever asked is answered; a flood of requests must not be one of log lines.
    log.debug({ topic, status }, `Request failed: ${message}`);
    tell({ topic, status, reason: message, http_status: httpStatus });
    answers.send({ status: 'error', failure }, address);
  }
}
