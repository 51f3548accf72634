import { onTestFinished } from 'vitest';
import { demoCredentials, Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { FakeClock } from './fakeClock.ts';

/** What the cloud answered. */
export interface Heard {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Headers;
  readonly text: string;
}

/** What a request carries besides its method and path. */
export interface Sent {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
  /** Null sends none. */
  readonly contentType?: string | null;
  /** Null sends none; the visitor's own unless given. */
  readonly token?: string | null;
}

/** Asks a simulated cloud by hand, header by header. */
export class CloudVisitor {
  readonly #simulator: Simulator;
  token: string | null = null;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  async ask(method: string, path: string, sent: Sent = {}): Promise<Heard> {
    const { body, contentType = 'application/json', token = this.token } = sent;
    const text = sent.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = new Headers();
    if (contentType !== null && text !== undefined) headers.set('content-type', contentType);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(`${this.#simulator.url}${path}`, {
      method,
      headers,
      // Bytes, because fetch gives a string a content type of its own.
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
  async signIn(password: string = demoCredentials.password): Promise<Heard> {
    const body = { email: demoCredentials.email, password };
    const heard = await this.ask('POST', '/user-service/auth/sign_in', { body, token: null });
    if (heard.status === 200) this.token = JSON.parse(heard.text).token_details;
    return heard;
  }

  /** The JSON that a path answers. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  async get(path: string): Promise<any> {
    return JSON.parse((await this.ask('GET', path)).text);
  }

  put(path: string, body: unknown): Promise<Heard> {
    return this.ask('PUT', path, { body });
  }

  post(path: string, body: unknown): Promise<Heard> {
    return this.ask('POST', path, { body });
  }
}

/** A quiet simulated cloud whose clock stands still, and a visitor who is signed in; it stops when the test ends. */
export async function visitCloud(options: SimulatorOptions = {}) {
  const clock = new FakeClock();
  const simulator = new Simulator({ clock, quiet: true, ...options });
  await simulator.start();
  onTestFinished(() => simulator.stop());
  const visitor = new CloudVisitor(simulator);
  await visitor.signIn();
  return { clock, simulator, world: simulator.world, visitor };
}
