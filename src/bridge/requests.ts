import type { Clock } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { BrokerMessage } from '../broker/connection.ts';
import { envelopeOf, type Page } from '../cloud/answer.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Call, operationRow, type RecordOf } from '../cloud/operations.ts';
import { isTopicName, type Topics } from '../homeassistant/topics.ts';
import type { Answers, ReturnAddress } from './answers.ts';
import { type CommandEnd, type Commander, type Outcome, retainedWords, stoppedWords } from './commander.ts';
import type { Slice } from './health.ts';
import { isTooLate } from './lateness.ts';
import { isAboutRecords } from './missingRoute.ts';
import { failureOf, type RequestFailure, turnedAway } from './requestFailure.ts';
import { judgeRequest, type Permissions } from './requestJudgement.ts';
import { readRequest } from './requestPayload.ts';
import { sliceShowing } from './shownIn.ts';
import type { Happening, Store } from './store.ts';
import { takeReply } from './takeReply.ts';
import { isValveCall, moveOf, type ValveCall } from './valveCall.ts';

export interface RequestsOptions {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  /** Where Home Assistant says that it has started. */
  readonly statusTopic: string;
  /** How long a request may take from when it came, in ms. */
  readonly requestTimeoutMs: number;
}

/** What requests need of the bridge around them. */
export interface RequestsEvents {
  readonly tell: (outcome: Outcome) => void;
  readonly happened: (happenings: readonly Happening[]) => void;
  /** What the cloud says of this has changed: worth an early poll. */
  readonly changed: (slice: Slice) => void;
  /** An operation turned out not to be offered by the cloud. */
  readonly offersChanged: () => void;
  /** Looks into a 404, should it be one: says whether the operation was given up for it; never rejects. */
  readonly lookIntoMissing: (call: Call, error: unknown) => Promise<boolean>;
}

/** A request on its way. */
interface Errand {
  readonly topic: string;
  readonly call: Call;
  readonly address: ReturnAddress;
  readonly arrivedAt: number;
}

const mostUnderWay = 4;
const mostWaiting = 50;
// They wait in the lanes of their valves instead, where the newest wins.
const mostValveErrands = 50;

/**
 * Carries out operations that are asked for over MQTT, a few at a time, and answers each request once. Reads keep to
 * the budget as polls do; changes are turned away while it is used up; what moves a valve goes by the commander.
 */
export class Requests {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #commander: Commander;
  readonly #answers: Answers;
  readonly #options: RequestsOptions;
  readonly #events: RequestsEvents;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Oldest first, each with what ends its wait. */
  readonly #waiting = new Map<Errand, () => void>();
  readonly #stopping = new AbortController();
  readonly #permissions: Permissions;
  #underWay = 0;
  #valveErrands = 0;

  constructor(
    client: CloudClient,
    store: Store,
    commander: Commander,
    answers: Answers,
    options: RequestsOptions,
    events: RequestsEvents,
    clock: Clock,
    log: Log,
  ) {
    this.#client = client;
    this.#store = store;
    this.#commander = commander;
    this.#answers = answers;
    this.#options = options;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
    this.#permissions = {
      control: options.control,
      availability: (name) => client.availability(name),
    };
  }

  /** Takes a message; if it is a request, it is answered in any case. */
  take(message: BrokerMessage): void {
    const { topic, payload, isRetained } = message;
    const operation = this.#options.topics.operationOf(topic);
    if (operation === null || (isRetained && payload === '')) return;
    const { parts, transaction, problem } = readRequest(message);
    const address = { ...this.#replyTo(message, operation), transaction };
    const call = { operation, ...parts };
    const failure = isRetained
      ? turnedAway('invalid_request', retainedWords)
      : this.#stopping.signal.aborted
        ? turnedAway('cloud_unavailable', stoppedWords)
        : judgeRequest(call, problem, this.#permissions);
    // What was judged well is the call of an operation.
    const errand = { topic, call: call as Call, address, arrivedAt: this.#clock.monotonic() };
    if (failure) this.#fail(errand, failure);
    else if (isValveCall(errand.call)) this.#moveValve(errand, errand.call);
    else this.#queue(errand);
  }

  /** Sends nothing more; what waits is told so. */
  stop(): void {
    const words = 'the bridge was stopped before the cloud answered; it may still be carried out';
    this.#stopping.abort(new GivenUp(words, false));
    for (const [errand, cancel] of this.#waiting) {
      cancel();
      this.#failWith(errand, new CloudError('unavailable', errand.call.operation, 'the bridge was stopped'));
    }
    this.#waiting.clear();
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
    const failure =
      this.#valveErrands >= mostValveErrands
        ? turnedAway('rate_limited', `${mostValveErrands} requests for valves are under way already`)
        : (this.#strayFailure(call) ?? this.#budgetFailure());
    if (failure) {
      this.#fail(errand, failure);
      return;
    }
    this.#valveErrands += 1;
    this.#commander.moveValve({
      topic: errand.topic,
      call,
      priority: 'command',
      onEnd: (end) => {
        this.#valveErrands -= 1;
        this.#valveMoved(errand, end);
      },
    });
  }

  /** Commands to one valve run one at a time, which two bridges could not see to. */
  #strayFailure(call: ValveCall): RequestFailure | null {
    if (!this.#store.isShared) return null;
    const { id } = moveOf(call);
    if (!this.#store.isWhole && !this.#store.sonicView(id)) {
      const words =
        'it is not known yet which bridge moves this valve: the cloud could not be read completely yet';
      return turnedAway('cloud_unavailable', words);
    }
    const mover = this.#store.otherMover(id);
    if (mover === null) return null;
    return turnedAway(
      'invalid_request',
      `only ${mover} moves the valve of sonic ${id}: send the request to it`,
    );
  }

  #valveMoved(errand: Errand, end: CommandEnd): void {
    if (end.status === 'ok') this.#succeed(errand, end.reply, end.httpStatus);
    else if (end.status === 'error') this.#failWith(errand, end.error, end.httpStatus);
    else {
      this.#events.tell({
        topic: errand.topic,
        status: 'superseded',
        reason: end.reason,
        http_status: null,
      });
      const failure = turnedAway('rate_limited', `superseded: ${end.reason}`);
      this.#answers.send({ status: 'error', failure }, errand.address);
    }
  }

  #queue(errand: Errand): void {
    if (this.#underWay < mostUnderWay) void this.#run(errand);
    else if (this.#waiting.size >= mostWaiting) {
      const words = `${mostUnderWay} requests are under way and ${mostWaiting} wait already`;
      this.#fail(errand, turnedAway('rate_limited', words));
    } else {
      const cancel = this.#clock.after(this.#options.requestTimeoutMs, () => {
        this.#waiting.delete(errand);
        this.#fail(errand, this.#unsent(errand));
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
    const { call, arrivedAt } = errand;
    const { requestTimeoutMs } = this.#options;
    const isChange = operationRow(call.operation).retry === 'never';
    const leftMs = arrivedAt + requestTimeoutMs - this.#clock.monotonic();
    if (isTooLate(leftMs, requestTimeoutMs)) {
      this.#fail(errand, this.#unsent(errand));
      return;
    }
    const failure = isChange ? this.#budgetFailure() : null;
    if (failure) {
      this.#fail(errand, failure);
      return;
    }
    const startedAt = this.#clock.monotonic();
    let answered: number | null = null;
    let reply: unknown;
    try {
      reply = await this.#client.call(call, {
        signal: this.#stopping.signal,
        timeoutMs: leftMs,
        isOneOfMany: isAboutRecords(call),
        onAnswer: (status) => {
          answered = status;
        },
      });
    } catch (error) {
      const isRouteMissing = await this.#events.lookIntoMissing(call, error);
      const isUnsent = error instanceof CloudError && error.timedOut && !error.mayHaveActed;
      if (isUnsent && !isChange && this.#client.traffic().pollWaitMs > 0) {
        this.#fail(errand, { ...this.#unsent(errand), httpStatus: answered });
      } else if (isRouteMissing) {
        this.#fail(errand, { ...failureOf(error, answered), code: 'unsupported' });
      } else this.#failWith(errand, error, answered);
      return;
    }
    this.#noteSonic(call, reply, startedAt);
    this.#succeed(errand, reply, answered);
  }

  /** Whoever reads a sonic has heard the cloud's newest word on its valve, which then is no secret from the others. */
  #noteSonic({ operation, params }: Call, reply: unknown, startedAt: number): void {
    if (operation !== 'read_sonic' && operation !== 'read_wifi_sonic') return;
    const sonic = reply as RecordOf<typeof operation>;
    if (sonic.id === params.sonic_id) this.#store.setSonic(sonic, startedAt);
  }

  /** Why a request was not sent in its time. */
  #unsent({ call }: Errand): RequestFailure {
    const { limitedUntil, pollWaitMs } = this.#client.traffic();
    // Only reads keep to the budget and to the pauses that the cloud asks for.
    const waitMs = operationRow(call.operation).retry === 'never' ? 0 : pollWaitMs;
    if (waitMs > 0 && limitedUntil !== null) {
      return turnedAway('rate_limited', `the cloud asks to wait another ${describeDuration(waitMs)}`);
    }
    if (waitMs > 0) {
      return turnedAway('rate_limited', 'cloud.max_requests_per_minute left no room for it in its time');
    }
    const words = 'timeout: the requests before it took too long; it was not sent';
    return { ...turnedAway('timeout', words), isTried: true };
  }

  #budgetFailure(): RequestFailure | null {
    if (!this.#client.traffic().isUsedUp) return null;
    return turnedAway('rate_limited', 'cloud.max_requests_per_minute is used up; try again in a while');
  }

  #succeed({ topic, call, address }: Errand, reply: unknown, httpStatus: number | null): void {
    const isPage = operationRow(call.operation).reply.kind === 'page';
    const data = isPage ? envelopeOf(reply as Page<unknown>) : reply;
    this.#events.tell({ topic, status: 'ok', reason: null, http_status: httpStatus });
    this.#answers.send({ status: 'ok', data, isPage }, address);
    this.#events.happened(takeReply(this.#store, call, reply, this.#clock.monotonic()));
    this.#lookAt(call);
  }

  #lookAt({ operation }: Call): void {
    const slice = sliceShowing(operation);
    if (slice !== null && !this.#stopping.signal.aborted) this.#events.changed(slice);
  }

  #failWith(errand: Errand, error: unknown, answered: number | null = null): void {
    if (!(error instanceof CloudError)) this.#log.error({ err: error }, `${errand.topic} went wrong`);
    else if (error.kind === 'unsupported') this.#events.offersChanged();
    // What was asked for may be done.
    else if (error.mayHaveActed) this.#lookAt(errand.call);
    this.#fail(errand, failureOf(error, answered));
  }

  #fail({ topic, address }: Errand, failure: RequestFailure): void {
    const { message, httpStatus, isTried } = failure;
    const status = isTried ? 'error' : 'refused';
    // Whoever asked is answered; a flood of requests must not be one of log lines.
    this.#log.debug(`${topic}: ${status}: ${message}`);
    this.#events.tell({ topic, status, reason: message, http_status: httpStatus });
    this.#answers.send({ status: 'error', failure }, address);
  }
}
