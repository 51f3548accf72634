import { onTestFinished } from 'vitest';
import { demoCredentials, Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { FakeClock } from './fakeClock.ts';

export interface CloudAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Headers;
  readonly text: string;
}

/** The parts of a request besides its method and path. */
export interface RequestParts {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, in place of `body`. */
  readonly text?: string;
  /** Null sends no content type. */
  readonly contentType?: string | null;
  /** Null sends no token. By default the client's own token is sent. */
  readonly token?: string | null;
}

/** A plain HTTP client for a simulated cloud. The test controls every header. */
export class CloudTestClient {
  readonly #simulator: Simulator;
  token: string | null = null;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  async ask(method: string, path: string, sent: RequestParts = {}): Promise<CloudAnswer> {
    const { body, contentType = 'application/json', token = this.token } = sent;
    const text = sent.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = new Headers();
    if (contentType !== null && text !== undefined) headers.set('content-type', contentType);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(`${this.#simulator.url}${path}`, {
      method,
      headers,
      // A string would get a content type from fetch, bytes do not.
      body: text === undefined ? null : new TextEncoder().encode(text),
    });
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      headers: response.headers,
      text: await response.text(),
    };
  }

  /** Signs in and keeps the token. */
  async signIn(password: string = demoCredentials.password): Promise<CloudAnswer> {
    const body = { email: demoCredentials.email, password };
    const answer = await this.ask('POST', '/user-service/auth/sign_in', { body, token: null });
    if (answer.status === 200) this.token = JSON.parse(answer.text).token_details;
    return answer;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  async get(path: string): Promise<any> {
    return JSON.parse((await this.ask('GET', path)).text);
  }

  put(path: string, body: unknown): Promise<CloudAnswer> {
    return this.ask('PUT', path, { body });
  }

  post(path: string, body: unknown): Promise<CloudAnswer> {
    return this.ask('POST', path, { body });
  }
}

/**
 * Starts a simulated cloud in which nothing happens by itself, with a clock that stands still, and a
 * signed-in client. The cloud stops when the test ends.
 */
export async function startCloudWithClient(options: SimulatorOptions = {}) {
  const clock = new FakeClock();
  const simulator = new Simulator({ clock, quiet: true, ...options });
  await simulator.start();
  onTestFinished(() => simulator.stop());
  const client = new CloudTestClient(simulator);
  await client.signIn();
  return { clock, simulator, world: simulator.world, client };
}
