import { type RawData, WebSocket } from 'ws';
import { errorMessage } from '../base/errorMessage.ts';
import { connectionMessage } from '../base/systemErrors.ts';

export interface HomeAssistantAccess {
  /** The URL of its WebSocket. */
  readonly url: string;
  readonly token: string;
}

/** An error that Home Assistant itself has answered. */
export class HomeAssistantError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The time limit for an answer, in ms. A busy recorder answers late. */
const answerTimeoutMs = 120_000;
const connectTimeoutMs = 15_000;

export function socketUrl(pageUrl: string): string {
  const { protocol, host, pathname } = new URL(pageUrl);
  return `${protocol === 'https:' ? 'wss' : 'ws'}://${host}${pathname.replace(/\/+$/, '')}/api/websocket`;
}

export class HomeAssistantSocket {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      const answer = parsed(data);
      this.#waiting.get(answer.id)?.(answer);
    });
    socket.on('close', () => {
      const error = { code: 'closed', message: 'Home Assistant has closed the connection' };
      for (const answered of this.#waiting.values())
        answered({ id: 0, type: 'result', success: false, error });
    });
  }

  static async connect(
    { url, token }: HomeAssistantAccess,
    signal: AbortSignal,
  ): Promise<HomeAssistantSocket> {
    const socket = new WebSocket(url);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    const failed = new Promise<never>((_, reject) => {
      socket.on('error', reject);
      socket.once('close', () => reject(new Error('it has closed the connection')));
      limit.addEventListener('abort', () => reject(new Error('no answer')), { once: true });
    });
    // After signing in, a lost connection is reported by the pending answers.
    failed.catch(() => {});
    const next = async () => {
      const received = new Promise<RawData>((resolve) => socket.once('message', resolve));
      return parsed(await Promise.race([received, failed]));
    };
    try {
      let answer = await next();
      if (answer.type === 'auth_required') {
        socket.send(JSON.stringify({ type: 'auth', access_token: token }));
        answer = await next();
      }
      if (answer.type !== 'auth_ok') {
        throw new Error('it rejects the token. Create a long-lived access token of an administrator');
      }
      return new HomeAssistantSocket(socket);
    } catch (error) {
      socket.terminate();
      const { cause = error } = Object(error);
      const reason = connectionMessage(cause) ?? errorMessage(cause);
      throw new Error(`Home Assistant ${new URL(url).host}: ${reason}`, { cause: error });
    }
  }

  /** Sends a command; rejects with Home Assistant's error. */
  async ask(type: string, fields: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#socket.readyState !== WebSocket.OPEN) {
      throw new HomeAssistantError('closed', 'Home Assistant has closed the connection');
    }
    const answer = await new Promise<Answer>((resolve) => {
      const error = { code: 'timeout', message: 'Home Assistant does not answer' };
      const timer = setTimeout(() => resolve({ id, type: 'result', success: false, error }), answerTimeoutMs);
      this.#waiting.set(id, (each) => {
        clearTimeout(timer);
        resolve(each);
      });
      this.#socket.send(JSON.stringify({ id, type, ...fields }));
    });
    this.#waiting.delete(id);
    if (answer.success) return answer.result;
    const { code = 'unknown', message = 'no reason' } = answer.error ?? {};
    const isOwn = code === 'closed' || code === 'timeout';
    throw new HomeAssistantError(code, isOwn ? message : `Home Assistant rejects ${type}: ${message}`);
  }

  close(): void {
    this.#socket.close();
  }
}

interface Answer {
  readonly id: number;
  readonly type: string;
  readonly success?: boolean;
  readonly result?: unknown;
  readonly error?: { readonly code?: string; readonly message?: string };
}

function parsed(data: RawData): Answer {
  try {
    return Object(JSON.parse(String(data)));
  } catch {
    return { id: 0, type: 'unreadable' };
  }
}
