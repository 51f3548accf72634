import { Dispatcher } from 'undici';
import type { Random } from '../../src/base/backoff.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import { findOperation } from '../../src/simulator/answers.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { ProcessClock } from './virtualTime.ts';

/** What can become of a request. */
export type RequestFault =
  /** Never reaches the cloud. */
  | 'refused'
  | 'reset-before'
  | 'hang-before'
  /** It takes seconds until a connection is open, and only then it is written. */
  | 'slow-connect'
  /** Reaches it, and is acted on, but the answer never comes, or not whole. */
  | 'reset-after'
  | 'hang-after'
  | 'truncated'
  | 'stalled'
  | 'gateway-timeout-after'
  | 'slow'
  /** Is answered by something in front of the cloud. */
  | 'error-500'
  | 'error-502'
  | 'error-503'
  | 'html'
  | 'odd-json'
  | 'limited'
  | 'denied';

/** What becomes of a request: nothing out of the ordinary, a fault, or another answer than the cloud's. */
export type Strike = (request: SeenRequest) => RequestFault | SimulatedAnswer | ChangeAnswer | null;

/** Makes another answer of the one that the cloud gave. */
export type ChangeAnswer = (good: SimulatedAnswer) => ChangedAnswer;

/** An answer of any bytes. */
export interface ChangedAnswer extends Omit<SimulatedAnswer, 'text'> {
  readonly text: string | Buffer;
  /** The connection breaks behind the body. */
  readonly isCut?: boolean;
  /** Tells nothing untrue: whoever reads it with care finds that it is no whole answer, or takes no harm from it. */
  readonly isHonest?: boolean;
  /** Has each record that it should have. */
  readonly isWhole?: boolean;
}

/** A request as the cloud saw it. */
export interface SeenRequest {
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  readonly operation: OperationName | null;
  readonly params: Readonly<Record<string, string>>;
  readonly body: string;
  /** Counts the requests of a simulation. */
  readonly number: number;
}

/** What happened between a process and the cloud. */
export interface CloudTap {
  /** A request has left the process, whatever becomes of it. */
  readonly sent: (request: SeenRequest) => void;
  /** The cloud judged a request, and did what it asks unless its status says otherwise. */
  readonly processed: (request: SeenRequest, answer: SimulatedAnswer) => void;
  /** The whole answer has reached the process. */
  readonly answered: (request: SeenRequest, answer: ChangedAnswer) => void;
  /** Of the answer no more than the status and a part arrives. */
  readonly truncated: (request: SeenRequest, status: number) => void;
  /** The request is over, well or not. */
  readonly ended?: (request: SeenRequest) => void;
}

/** The network between a process and the cloud, as a dispatcher of undici; the cloud's clock is right. */
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
    // Nothing is written before there is a connection, and whoever has changed his mind by then says so at that moment.
    clock.after(fault === 'slow-connect' ? 500 + 11_000 * this.#random() : 1, () => {
      if (isOver) return;
      if (fault === 'refused') {
        fail('ECONNREFUSED');
        return;
      }
      handler.onRequestStart?.(controller, {});
      if (controller.aborted) return;
      // What has waited for a connection for too long was given up before.
      isSent = true;
      this.inFlight += 1;
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
      this.#tap.sent(request);
      if (fault === 'hang-before') return;
      // Not by the clock of the process: what it has sent arrives although it dies.
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
          // Whoever has heard enough hangs up within the call.
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
    // As every server does.
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

/** The handle by which a request is given up. */
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
