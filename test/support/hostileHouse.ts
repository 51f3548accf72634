import { Dispatcher } from 'undici';
import { createLog } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';
import { configSchema } from '../../src/config/schema.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { Daemon } from '../../src/daemon.ts';
import { findOperation } from '../../src/simulator/answers.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { VirtualBroker } from '../simulation/virtualBroker.ts';
import { VirtualDisk } from '../simulation/virtualDisk.ts';
import { ProcessClock, VirtualTime } from '../simulation/virtualTime.ts';
import { HostileLink } from './hostileLink.ts';

/** What answers in the place of the cloud. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** The connection breaks in the middle of the body. */
  readonly isCut?: boolean;
}

export interface SeenRequest {
  readonly at: number;
  readonly method: string;
  readonly target: string;
  /** Null for a path of no operation. */
  readonly operation: string | null;
  readonly body: string;
}

/** What the bridge has handed to its broker. */
export interface Publication {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** Twists the answer that the cloud would give; null leaves it as it is. */
export type Twist = (request: SeenRequest, good: RawAnswer) => RawAnswer | null;

/** What nobody may read: each long enough to be no word of the data. */
export const houseSecrets = {
  password: 'clöud "pass\\word" 1',
  brokerPassword: 'brok€r & secret+2',
  webhookSecret: 'webhook-secret-3',
} as const;

const epochMs = Date.parse('2026-06-15T10:00:00Z');
const budget = 120;

/** The whole bridge between a cloud that can lie and a broker that anybody can write to, in virtual time. */
export class HostileHouse {
  readonly time = new VirtualTime();
  readonly simulator: Simulator;
  readonly link: HostileLink;
  readonly requests: SeenRequest[] = [];
  /** Tokens that the cloud has given. */
  readonly tokens = new Set<string>();
  readonly log: string[] = [];
  readonly published: Publication[] = [];
  readonly budget = budget;
  twist: Twist = () => null;
  #inFlight = 0;
  mostInFlight = 0;
  readonly #broker: VirtualBroker;
  readonly #clock: ProcessClock;
  readonly #daemon: Daemon;

  constructor(level: 'trace' | 'info' = 'info') {
    const { time } = this;
    const wall = () => epochMs + time.now;
    const worldClock = { now: wall, monotonic: () => time.now, after: time.after.bind(time) };
    const { password, brokerPassword, webhookSecret } = houseSecrets;
    const amounts = { properties: 1, signals: 1, sonics: 2, wifiSonics: 1 };
    this.simulator = new Simulator({ seed: 7, clock: worldClock, quiet: true, password, ...amounts });
    const [sonicId = ''] = this.simulator.world.sonics.ids;
    this.simulator.world.openIncident({ type: 'long_flow_alert', sonicId });
    this.#broker = new VirtualBroker(time, seededRandom(1), {
      handedOver: (topic, payload, retain) => void this.published.push({ topic, payload, retain }),
      taken: () => {},
      delivered: () => {},
      linked: () => {},
    });
    this.#clock = new ProcessClock(time, wall);
    this.link = new HostileLink(this.#broker.dialFrom(this.#clock));
    const config = configSchema.parse({
      cloud: {
        base_url: 'http://cloud.example.com',
        email: 'demo@example.com',
        password,
        max_requests_per_minute: budget,
      },
      mqtt: { url: 'mqtt://broker.example.com', username: 'bridge', password: brokerPassword },
      http: { webhook: { secret: webhookSecret } },
      data_dir: '/data',
    });
    const secrets = new Secrets();
    for (const secret of secretsOf(config)) secrets.add(secret);
    const output = { write: (line: string) => void this.log.push(line) };
    const log = createLog({ level, format: 'json', secrets, output });
    this.#daemon = new Daemon(config, log, secrets, {
      clock: this.#clock,
      random: seededRandom(2),
      disk: new VirtualDisk(seededRandom(3)).of(this.#clock),
      dispatcher: new HostileCloud((options, handler) => this.#exchange(options, handler)),
      dial: this.link.dial,
    });
  }

  /** What the broker keeps. */
  get retained(): ReadonlyMap<string, string> {
    return this.#broker.retained;
  }

  /** How many callbacks the process waits for. */
  get timers(): number {
    return this.#clock.waiting;
  }

  /** Starts the bridge and lets it show its devices. */
  async start(): Promise<void> {
    void this.#daemon.start();
    await this.runFor(5_000);
  }

  async runFor(ms: number): Promise<void> {
    await this.time.runUntil(this.time.now + ms);
  }

  /** Publishes what anybody may, as the broker does. */
  publish(topic: string, payload: string, retain: boolean): void {
    this.#broker.take(topic, payload, retain);
  }

  cutBroker(): void {
    this.#broker.cut();
  }

  /** Nothing of it goes on. */
  end(): void {
    this.#clock.die();
  }

  #exchange(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const { method, path: target } = options;
    const match = findOperation(method, target);
    const headers = options.headers as Record<string, string>;
    const body = typeof options.body === 'string' ? options.body : '';
    const operation = match.kind === 'operation' ? match.name : null;
    const request: SeenRequest = { at: this.time.now, method, target, operation, body };
    let isOver = false;
    const end = () => {
      if (isOver) return false;
      isOver = true;
      this.#inFlight -= 1;
      return true;
    };
    const controller = new Controller(() => {
      if (end()) handler.onResponseError?.(controller, new Error('aborted'));
    });
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    this.#clock.after(1, () => {
      handler.onRequestStart?.(controller, {});
      if (isOver) return;
      this.requests.push(request);
      const said = this.simulator.answer({
        method,
        target,
        authorization: headers['authorization'],
        contentType: headers['content-type'],
        text: body,
      });
      const good: RawAnswer = { status: said.status, headers: said.headers, body: said.text };
      const answer = this.twist(request, good) ?? good;
      this.#learnToken(operation, good);
      this.#clock.after(20, () => {
        if (isOver) return;
        const bytes = Buffer.from(answer.body);
        handler.onResponseStart?.(controller, answer.status, answer.headers);
        // Whoever has heard enough hangs up within the call.
        if (!isOver && bytes.length > 0) handler.onResponseData?.(controller, bytes);
        if (!end()) return;
        const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
        if (answer.isCut) handler.onResponseError?.(controller, reset);
        else handler.onResponseEnd?.(controller, {});
      });
    });
  }

  #learnToken(operation: string | null, { body }: RawAnswer): void {
    if (operation !== 'sign_in' && operation !== 'refresh_token') return;
    const token = /"token_details":"([^"]+)"/.exec(body.toString())?.[1];
    if (token !== undefined) this.tokens.add(token);
  }
}

class HostileCloud extends Dispatcher {
  readonly #exchange: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void;

  constructor(exchange: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void) {
    super();
    this.#exchange = exchange;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#exchange(options, handler);
    return true;
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}
}

class Controller implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  readonly #onAbort: () => void;

  constructor(onAbort: () => void) {
    this.#onAbort = onAbort;
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#onAbort();
  }

  pause(): void {}
  resume(): void {}
}
