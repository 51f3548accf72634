import { once } from 'node:events';
import { setTimeout as passed } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { errorMessage } from '../base/errorMessage.ts';
import { fieldsIn } from '../base/json.ts';
import { connectionMessage } from '../base/systemErrors.ts';

export interface HomeAssistantAccess {
  /** The URL of its WebSocket. */
  readonly url: string;
  readonly token: string;
}

/** Home Assistant itself has answered it. */
export class HomeAssistantError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A busy recorder answers late. */
const answerTimeoutMs = 120_000;
const connectTimeoutMs = 15_000;

export function socketUrl(pageUrl: string): string {
  const { protocol, host, pathname } = new URL(pageUrl);
  return `${protocol === 'https:' ? 'wss' : 'ws'}://${host}${pathname.replace(/\/+$/, '')}/api/websocket`;
}

/** A connection that is signed in. It has one command at a time under way. */
export class HomeAssistantSocket {
  readonly #socket: WebSocket;
  readonly #ended: Promise<never>;
  #lastId = 0;

  private constructor(socket: WebSocket, signal: AbortSignal) {
    this.#socket = socket;
    this.#ended = new Promise((_, reject) => {
      socket.on('error', reject);
      socket.once('close', () => reject(new Error('it has closed the connection')));
      signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
    });
    this.#ended.catch(() => {});
  }

  static async connect(
    { url, token }: HomeAssistantAccess,
    signal: AbortSignal,
  ): Promise<HomeAssistantSocket> {
    const home = new HomeAssistantSocket(new WebSocket(url), signal);
    try {
      let answer = await home.#next(connectTimeoutMs);
      if (answer.type === 'auth_required') {
        home.#socket.send(JSON.stringify({ type: 'auth', access_token: token }));
        answer = await home.#next(connectTimeoutMs);
      }
      if (answer.type === 'auth_ok') return home;
      throw new Error('it rejects the token. Create a long-lived access token of an administrator');
    } catch (error) {
      home.#socket.terminate();
      throw home.#failure(error);
    }
  }

  /** Rejects with Home Assistant's error. */
  async ask(type: string, fields: object = {}): Promise<unknown> {
    this.#lastId += 1;
    this.#socket.send(JSON.stringify({ id: this.#lastId, type, ...fields }), () => {});
    const answer = await this.#next(answerTimeoutMs).catch((error) => Promise.reject(this.#failure(error)));
    if (answer.id === this.#lastId && answer.success) return answer.result;
    const { code = 'unknown', message = 'no reason' } = answer.error ?? {};
    throw new HomeAssistantError(code, `Home Assistant rejects ${type}: ${message}`);
  }

  close(): void {
    this.#socket.close();
  }

  async #next(timeoutMs: number): Promise<Answer> {
    const over = new AbortController();
    const options = { signal: over.signal };
    const late = passed(timeoutMs, undefined, options).then(() => Promise.reject(new Error('no answer')));
    const received = once(this.#socket, 'message', options);
    try {
      const [data] = await Promise.race([received, late, this.#ended]);
      return fieldsIn(String(data));
    } finally {
      over.abort();
      for (const each of [late, received]) each.catch(() => {});
    }
  }

  #failure(error: unknown): Error {
    const { cause = error } = Object(error);
    const reason = connectionMessage(cause) ?? errorMessage(cause);
    return new Error(`Home Assistant ${new URL(this.#socket.url).host}: ${reason}`, { cause: error });
  }
}

interface Answer {
  readonly id?: number;
  readonly type?: string;
  readonly success?: boolean;
  readonly result?: unknown;
  readonly error?: { readonly code?: string; readonly message?: string };
}
