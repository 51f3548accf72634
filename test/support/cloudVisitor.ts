import { demoCredentials, type Simulator } from '../../src/simulator/simulator.ts';

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
}
