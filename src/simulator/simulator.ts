import type { Server } from 'node:http';
import { type Clock, systemClock } from '../base/clock.ts';
import { answerRequest, type CloudRequest, type SimulatedAnswer } from './answers.ts';
import { type Fault, Faults } from './faults.ts';
import { seededRandom } from './random.ts';
import { startRandomEvents } from './randomEvents.ts';
import { createCloudServer, RequestLog } from './server.ts';
import { Sessions } from './sessions.ts';
import { type Delivery, Webhooks } from './webhooks.ts';
import { World } from './world.ts';

/** How the simulated cloud starts. Everything is optional. */
export interface SimulatorOptions {
  /** 0, the default, takes any free one. */
  readonly port?: number;
  /** 127.0.0.1 unless given. */
  readonly host?: string;
  /** The same seed gives the same ids and names, and at the same times the same happenings. */
  readonly seed?: number;
  /** Exact numbers. Unless given: 2, 3 and 4, and no fewer than of what they belong to. */
  readonly properties?: number;
  readonly signals?: number;
  readonly sonics?: number;
  /** Sonics that need no signal; none unless given. */
  readonly wifiSonics?: number;
  readonly email?: string;
  readonly password?: string;
  readonly faults?: readonly Fault[];
  readonly clock?: Clock;
  readonly pageSize?: number;
  /** From a valve command to the new position, in ms. */
  readonly valveTravelMs?: number;
  /** How long the valve rests closed for a pressure test, in ms; three minutes unless given. */
  readonly pressureTestMs?: number;
  /** Two weeks unless given, as in the real cloud. */
  readonly tokenLifetimeMs?: number;
  /** What webhooks are signed with; unsigned unless given. */
  readonly signingSecret?: string;
  /** How many times as often as usual things happen by themselves, and water is measured; 1 unless given. */
  readonly speed?: number;
  /** Begins what happens by itself: random things unless given. */
  readonly happenings?: (world: World) => void;
  /** Nothing happens by itself, for tests: only commands and the world's methods change anything. */
  readonly quiet?: boolean;
}

/*
 * How the simulated cloud works. The `World` has the records, and its `Timeline` what happens next: nothing runs by itself, and
 * each request first catches up with the time. `answers.ts` finds the operation of a request in the catalogue of the bridge,
 * validates it (`document.ts`) and calls its handler (`handlers.ts`). `faults.ts` makes answers late, wrong or missing. The
 * same seed and the same requests give the same world, so a test can repeat a day.
 */

/** The credentials that can sign in unless others are given. */
export const demoCredentials = { email: 'demo@example.com', password: 'demo' } as const;

/** How often the world catches up by itself while a webhook is enabled. */
const webhookIntervalMs = 1_000;

const twoWeeksMs = 14 * 24 * 60 * 60 * 1_000;

/** A cloud to try things on: it behaves and validates as the real one does. */
export class Simulator {
  /** The requests that the server received. */
  readonly requests = new RequestLog();
  readonly #options: SimulatorOptions;
  readonly #clock: Clock;
  readonly #world: World;
  readonly #sessions: Sessions;
  readonly #faults: Faults;
  readonly #webhooks: Webhooks;
  readonly #tokenLifetimeMs: number;
  #cancelWebhookTimer: (() => void) | null = null;
  /** Turns a monotonic time into world time, which thereby never jumps. */
  readonly #epochMs: number;
  readonly #stopping = new AbortController();
  #server: Server | null = null;

  constructor(options: SimulatorOptions = {}) {
    const { seed = 1, clock = systemClock, speed = 1, quiet = false, happenings } = options;
    const { properties = 2, wifiSonics = 0 } = options;
    const { signals = properties === 0 ? 0 : Math.max(3, properties) } = options;
    const { sonics = signals === 0 ? 0 : Math.max(4, signals) } = options;
    const { email = demoCredentials.email, password = demoCredentials.password } = options;
    const { valveTravelMs = 6_000, pressureTestMs = 3 * 60_000, tokenLifetimeMs = twoWeeksMs } = options;
    this.#options = options;
    this.#clock = clock;
    this.#epochMs = clock.now() - clock.monotonic();
    this.#world = new World({
      ...{ seed, email, properties, signals, sonics, wifiSonics, valveTravelMs, pressureTestMs, quiet },
      probeMs: 60_000 / speed,
      now: this.#now(),
    });
    this.#tokenLifetimeMs = tokenLifetimeMs;
    this.#sessions = new Sessions(email, password, tokenLifetimeMs, () => this.#now());
    this.#faults = new Faults(seededRandom(seed + 2), () => this.#now());
    this.#webhooks = new Webhooks(this.#world, options.signingSecret, this.#stopping.signal);
    if (happenings) happenings(this.#world);
    else if (!quiet) startRandomEvents(this.#world, seededRandom(seed + 3), speed);
    this.setFaults(options.faults ?? []);
  }

  /** Listens; rejects if it cannot, for example with EADDRINUSE. */
  async start(): Promise<void> {
    const { port = 0, host = '127.0.0.1' } = this.#options;
    const server = createCloudServer({
      answer: (request) => this.answer(request),
      faults: this.#faults,
      log: this.requests,
      clock: this.#clock,
      signal: this.#stopping.signal,
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    this.#server = server;
  }

  /** Stops listening and cuts all connections at once. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#stopping.abort();
    this.#cancelWebhookTimer?.();
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** The base URL, without a slash at its end; only once started. */
  get url(): string {
    const address = this.#server?.address();
    if (typeof address !== 'object' || address === null) throw new Error('The simulator is not running');
    return `http://${address.address}:${address.port}`;
  }

  /** The world as it is now. */
  get world(): World {
    this.#world.timeline.runUntil(this.#now());
    return this.#world;
  }

  /** The newest calls to webhooks. */
  get deliveries(): readonly Delivery[] {
    return this.#webhooks.deliveries;
  }

  /** Validates a request and carries it out, without a socket and whatever the faults of the way there. */
  answer(request: CloudRequest): SimulatedAnswer {
    const { pageSize = 10 } = this.#options;
    const cloud = { world: this.world, sessions: this.#sessions, faults: this.#faults, pageSize };
    const answer = answerRequest(cloud, request);
    if (request.method === 'PUT' && this.#cancelWebhookTimer === null) this.#startWebhookTimer();
    return answer;
  }

  /** Lets happen what is due even without requests, while a webhook is enabled. */
  #startWebhookTimer(): void {
    if (this.#server === null || !this.#webhooks.areEnabled) return;
    this.#cancelWebhookTimer = this.#clock.after(webhookIntervalMs, () => {
      this.#cancelWebhookTimer = null;
      this.#world.timeline.runUntil(this.#now());
      this.#startWebhookTimer();
    });
  }

  /** All tokens are expired from now on; they can be refreshed. */
  expireTokens(): void {
    this.#sessions.expireAll();
  }

  /** No password is right any more, and the sessions end. */
  rejectPassword(): void {
    this.#sessions.setPassword(null);
  }

  /** Only this password is right from now on; the sessions of the old one end. */
  setPassword(password: string): void {
    this.#sessions.setPassword(password);
  }

  /** Replaces all faults. */
  setFaults(faults: readonly Fault[]): void {
    this.#faults.set(faults);
    this.#sessions.lifetimeMs = this.#faults.tokenLifetimeMs ?? this.#tokenLifetimeMs;
  }

  #now(): number {
    return this.#epochMs + this.#clock.monotonic();
  }
}
