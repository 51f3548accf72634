import { Dispatcher } from 'undici';
import type { Random } from '../../src/base/backoff.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import { findOperation } from '../../src/simulator/answers.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { ProcessClock } from './virtualTime.ts';

/** Faults that a request can meet. */
export type RequestFault =
  /** The request never reaches the cloud. */
  | 'refused'
  | 'reset-before'
  | 'hang-before'
  /** The connection takes seconds to open, and the request is written only then. */
  | 'slow-connect'
  /** The cloud carries out the request, but the answer is lost or incomplete. */
  | 'reset-after'
  | 'hang-after'
  | 'truncated'
  | 'stalled'
  | 'gateway-timeout-after'
  | 'slow'
  /** A proxy in front of the cloud answers. */
  | 'error-500'
  | 'error-502'
  | 'error-503'
  | 'html'
  | 'odd-json'
  | 'limited'
  | 'denied';

/**
 * Decides what happens to a request. Null: it is answered normally. A fault: it fails this way. An answer:
 * the cloud is not asked. A function: it changes the cloud's answer.
 */
export type Strike = (request: SeenRequest) => RequestFault | SimulatedAnswer | ChangeAnswer | null;

/** Changes the answer of the cloud. */
export type ChangeAnswer = (good: SimulatedAnswer) => ChangedAnswer;

/** An answer that may differ from the cloud's in any byte. */
export interface ChangedAnswer extends Omit<SimulatedAnswer, 'text'> {
  readonly text: string | Buffer;
  /** The connection breaks after the body. */
  readonly isCut?: boolean;
  /**
   * A careful reader cannot be misled by this answer: it notices that the answer is incomplete, or the change
   * does no harm.
   */
  readonly isHonest?: boolean;
  /** Contains every record that it should contain. */
  readonly isWhole?: boolean;
}

export interface SeenRequest {
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  readonly operation: OperationName | null;
  readonly params: Readonly<Record<string, string>>;
  readonly body: string;
  /** Unique within a process. */
  readonly number: number;
}

/** Callbacks for everything that happens between a bridge and the cloud. */
export interface CloudTap {
  /** A request was written to a connection. It may still fail. */
  readonly sent: (request: SeenRequest) => void;
  /** The cloud has processed a request, and answered it. */
  readonly processed: (request: SeenRequest, answer: SimulatedAnswer) => void;
  /** The bridge received a whole answer. */
  readonly answered: (request: SeenRequest, answer: ChangedAnswer) => void;
  /** The bridge received only the status and a part of the body. */
  readonly truncated: (request: SeenRequest, status: number) => void;
  /** The request has ended, with or without success. */
  readonly ended?: (request: SeenRequest) => void;
}

/**
 * The network between a bridge and the cloud, as a dispatcher of undici. The cloud's clock is always right.
 */
export class VirtualCloud extends Dispatcher {
  readonly #simulator: Simulator;
  readonly #clock: ProcessClock;
  readonly #random: Random;
  readonly #strike: Strike;
  readonly #tap: CloudTap;
  readonly #now: () => number;
  inFlight = 0;
  mostInFlight = 0;
  static #numbers = 0;

  constructor(
    simulator: Simulator,
    clock: ProcessClock,
    random: Random,
    strike: Strike,
    tap: CloudTap,
    now: () => number,
  ) {
    super();
    this.#simulator = simulator;
    this.#clock = clock;
    this.#random = random;
    this.#strike = strike;
    this.#tap = tap;
    this.#now = now;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { method, path: target } = options;
    const match = findOperation(method, target);
    const isKnown = match.kind === 'operation';
    const request: SeenRequest = {
      origin: String(options.origin),
      method,
      target,
      operation: isKnown ? match.name : null,
      params: isKnown ? match.params : {},
      body: typeof options.body === 'string' ? options.body : '',
      number: ++VirtualCloud.#numbers,
    };
    this.#exchange(request, options, handler);
    return true;
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}

  #exchange(
    request: SeenRequest,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): void {
    const clock = this.#clock;
    const fault = this.#strike(request);
    const travelMs = 5 + 60 * this.#random() + (fault === 'slow' ? 14_000 * this.#random() : 0);
    const controller = new VirtualController();
    let isOver = false;
    const fail = (code: string) => {
      if (isOver) return;
      over();
      handler.onResponseError?.(controller, Object.assign(new Error(code), { code }));
    };
    let isSent = false;
    const over = () => {
      isOver = true;
      if (isSent) this.inFlight -= 1;
      this.#tap.ended?.(request);
    };
    controller.onAbort = () => fail('UND_ERR_ABORTED');
    // A request is written once its connection is open. If it was cancelled meanwhile, it is not written.
    clock.after(fault === 'slow-connect' ? 500 + 11_000 * this.#random() : 1, () => {
      if (isOver) return;
      if (fault === 'refused') {
        fail('ECONNREFUSED');
        return;
      }
      handler.onRequestStart?.(controller, {});
      if (controller.aborted) return;
      // A request that waited too long for its connection was cancelled in `onRequestStart`.
      isSent = true;
      this.inFlight += 1;
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
      this.#tap.sent(request);
      if (fault === 'hang-before') return;
      // A sent request arrives even if the process dies.
      clock.afterDespiteDeath(travelMs / 2, () => {
        if (fault === 'reset-before') {
          fail('ECONNRESET');
          return;
        }
        const answer = this.#answer(request, options, fault);
        if (fault === 'hang-after') return;
        clock.after(travelMs / 2, () => {
          if (isOver) return;
          if (fault === 'reset-after') {
            fail('ECONNRESET');
            return;
          }
          handler.onResponseStart?.(controller, answer.status, answer.headers);
          // The bridge may cancel the request as soon as it knows the status.
          if (isOver) return;
          const bytes = Buffer.from(answer.text);
          if ((fault === 'truncated' || fault === 'stalled') && bytes.length > 1) {
            handler.onResponseData?.(controller, bytes.subarray(0, bytes.length >> 1));
            this.#tap.truncated(request, answer.status);
            if (fault === 'truncated') fail('UND_ERR_SOCKET');
            return;
          }
          if (bytes.length > 0) handler.onResponseData?.(controller, bytes);
          if (answer.isCut) fail('ECONNRESET');
          if (isOver) return;
          this.#tap.answered(request, answer);
          over();
          handler.onResponseEnd?.(controller, {});
        });
      });
    });
  }

  #answer(
    request: SeenRequest,
    options: Dispatcher.DispatchOptions,
    fault: ReturnType<Strike>,
  ): ChangedAnswer {
    if (typeof fault === 'object' && fault !== null) return fault;
    const own = typeof fault === 'string' && ownAnswers[fault]?.(this.#random, this.#clock);
    if (own) return own;
    const headers = options.headers as Record<string, string>;
    const response = this.#simulator.answer({
      method: request.method,
      target: request.target,
      authorization: headers['authorization'],
      contentType: headers['content-type'],
      text: request.body,
    });
    // Every server sends its date.
    const date = new Date(this.#now()).toUTCString();
    const answer = { ...response, headers: { ...response.headers, date } };
    this.#tap.processed(request, answer);
    if (typeof fault === 'function') return fault(answer);
    return fault === 'gateway-timeout-after' ? plain(504, 'the gateway lost its patience') : answer;
  }
}

const plain = (status: number, text: string, headers: Record<string, string> = {}): SimulatedAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', ...headers },
  text,
});

const ownAnswers: Partial<Record<RequestFault, (random: Random, clock: ProcessClock) => SimulatedAnswer>> = {
  'error-500': () => plain(500, 'it broke'),
  'error-502': () => plain(502, 'bad gateway'),
  'error-503': (random) => plain(503, 'later', random() < 0.5 ? {} : { 'retry-after': '20' }),
  html: () => ({ status: 200, headers: { 'content-type': 'text/html' }, text: '<html>Maintenance</html>' }),
  'odd-json': () => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    text: '{"data":"none"}',
  }),
  limited: (random, clock) => plain(429, 'too many', retryAfter(random, clock)),
  denied: () => plain(401, 'HTTP Token: Access denied.'),
};

function retryAfter(random: Random, clock: ProcessClock): Record<string, string> {
  const forms = ['17', '120', new Date(clock.now() + 90_000).toUTCString(), 'soon', '-5', ''];
  const form = forms[Math.floor(random() * (forms.length + 1))];
  return form === undefined ? {} : { 'retry-after': form };
}

/** Lets undici cancel a request. */
class VirtualController implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  onAbort: () => void = () => {};

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.onAbort();
  }

  pause(): void {}
  resume(): void {}
}
