import type { Server } from 'node:http';
import { type Clock, systemClock } from '../base/clock.ts';
import { dayMs, minuteMs } from '../base/duration.ts';
import { answerRequest, type CloudRequest, type SimulatedAnswer } from './answers.ts';
import { type Fault, Faults } from './faults.ts';
import { seededRandom } from './random.ts';
import { startRandomEvents } from './randomEvents.ts';
import { createCloudServer, RequestLog } from './server.ts';
import { Sessions } from './sessions.ts';
import { callWebhooks } from './webhooks.ts';
import { World } from './world.ts';

export interface SimulatorOptions {
  /** With 0, the default, the system chooses a free port. */
  readonly port?: number;
  /** With the same seed, ids, names and random events are the same, and so are the times of the events. */
  readonly seed?: number;
  /** How many there are. The defaults are 2 properties, 3 signals and 4 sonics, but never fewer than of the kind before. */
  readonly properties?: number;
  readonly signals?: number;
  readonly sonics?: number;
  /** How many sonics need no signal. The default is 0. */
  readonly wifiSonics?: number;
  readonly email?: string;
  readonly password?: string;
  /** The membership role in each property. The default is `owner`. The cloud rejects the changes of a guest. */
  readonly role?: 'owner' | 'user' | 'guest';
  readonly faults?: readonly Fault[];
  readonly clock?: Clock;
  readonly pageSize?: number;
  /** The time from a valve command to the new position, in ms. */
  readonly valveTravelMs?: number;
  /** How long the valve stays closed for a pressure test, in ms. The default is three minutes. */
  readonly pressureTestMs?: number;
  /** How long a token lives, in ms. The default is two weeks, as in the real cloud. */
  readonly tokenLifetimeMs?: number;
  /** The secret with which webhook calls are signed. Without it, they are not signed. */
  readonly signingSecret?: string;
  /** How many times as often as usual events happen and water is measured. The default is 1. */
  readonly speed?: number;
  /** Starts the events that happen by themselves. The default is random events. */
  readonly happenings?: (world: World) => void;
  /** For tests: nothing happens by itself. Only commands and the world's methods change anything. */
  readonly quiet?: boolean;
}

/*
 * How the simulated cloud works. The `World` has the records, and its `Timeline` has the planned events. Nothing runs
 * by itself: each request first catches up with the time. `answers.ts` finds the operation of a request in the
 * catalogue of the bridge, validates the request (`document.ts`) and calls its handler (`handlers.ts`). `faults.ts`
 * makes answers late, wrong or missing. The same seed and the same requests give the same world, so a test can repeat a
 * day.
 */

export const demoCredentials = { email: 'demo@example.com', password: 'demo' } as const;

/** A cloud for trying things out. It behaves and validates like the real one. */
export class Simulator {
  readonly requests = new RequestLog();
  readonly #options: SimulatorOptions;
  readonly #clock: Clock;
  readonly #world: World;
  readonly #sessions: Sessions;
  readonly #faults: Faults;
  readonly #tokenLifetimeMs: number;
  /** Added to the monotonic time, it gives the world's time, which therefore never jumps. */
  readonly #epochMs: number;
  readonly #stopping = new AbortController();
  #server: Server | null = null;

  constructor(options: SimulatorOptions = {}) {
    const { seed = 1, clock = systemClock, speed = 1, quiet = false, happenings } = options;
    const { properties = 2, wifiSonics = 0, role = 'owner' } = options;
    const { signals = properties === 0 ? 0 : Math.max(3, properties) } = options;
    const { sonics = signals === 0 ? 0 : Math.max(4, signals) } = options;
    const { email = demoCredentials.email, password = demoCredentials.password } = options;
    const { valveTravelMs = 6_000, pressureTestMs = 3 * minuteMs, tokenLifetimeMs = 14 * dayMs } = options;
    this.#options = options;
    this.#clock = clock;
    this.#epochMs = clock.now() - clock.monotonic();
    this.#world = new World({
      ...{ seed, email, role, properties, signals, sonics, wifiSonics, valveTravelMs, pressureTestMs, quiet },
      probeMs: minuteMs / speed,
      now: this.#now(),
    });
    this.#tokenLifetimeMs = tokenLifetimeMs;
    this.#sessions = new Sessions(email, password, tokenLifetimeMs, () => this.#now());
    this.#faults = new Faults(seededRandom(seed + 2), () => this.#now());
    callWebhooks(this.#world, options.signingSecret, this.#stopping.signal);
    if (happenings) happenings(this.#world);
    else if (!quiet) startRandomEvents(this.#world, seededRandom(seed + 3), speed);
    this.setFaults(options.faults ?? []);
  }

  /** Listens; rejects if it cannot, for example with EADDRINUSE. */
  async start(): Promise<void> {
    const { port = 0 } = this.#options;
    const server = createCloudServer({
      answer: (request) => this.answer(request),
      faults: this.#faults,
      log: this.requests,
      clock: this.#clock,
      signal: this.#stopping.signal,
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    this.#server = server;
  }

  /** Stops listening, and closes all connections at once. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#stopping.abort();
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** The base URL without a slash at its end. It exists only after `start`. */
  get url(): string {
    const address = this.#server?.address();
    if (typeof address !== 'object' || address === null) throw new Error('The simulator is not running');
    return `http://${address.address}:${address.port}`;
  }

  get world(): World {
    this.#world.timeline.runUntil(this.#now());
    return this.#world;
  }

  /** Validates a request and carries it out, without a socket, and without the faults of the server. */
  answer(request: CloudRequest): SimulatedAnswer {
    const { pageSize = 10 } = this.#options;
    const cloud = { world: this.world, sessions: this.#sessions, faults: this.#faults, pageSize };
    return answerRequest(cloud, request);
  }

  /** Makes all tokens expire. They can be refreshed. */
  expireTokens(): void {
    this.#sessions.expireAll();
  }

  /** From now on only this password is right; with null, none is. All sessions end. */
  setPassword(password: string | null): void {
    this.#sessions.setPassword(password);
  }

  setFaults(faults: readonly Fault[]): void {
    this.#faults.set(faults);
    this.#sessions.lifetimeMs = this.#faults.tokenLifetimeMs ?? this.#tokenLifetimeMs;
  }

  #now(): number {
    return this.#epochMs + this.#clock.monotonic();
  }
}
