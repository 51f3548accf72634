import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StubRequest {
  readonly method: string;
  /** Without the query, still URL-encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON; undefined for no body. */
  readonly body: unknown;
  readonly token: string | null;
}

/** An answer of the stub: JSON, a text or a fault. */
export interface StubAnswer {
  readonly status?: number;
  readonly json?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `hang` never answers, `cut` closes the connection without an answer, and `cutInBody` closes it in the
   * middle of the body.
   */
  readonly fault?: 'hang' | 'cut' | 'cutInBody';
}

export type StubHandler = (request: StubRequest) => StubAnswer | undefined | Promise<StubAnswer | undefined>;

/**
 * A small stub of the cloud. It checks each request as strictly as the real cloud might, and gives the
 * answers that the test sets.
 */
export interface CloudStub {
  readonly url: string;
  /** All requests except those for sessions. */
  readonly requests: StubRequest[];
  readonly sessionRequests: StubRequest[];
  /** Mistakes in requests. Empty as long as the client works correctly. */
  readonly complaints: string[];
  readonly tokens: Set<string>;
  /** The largest number of requests at the same time. */
  readonly mostAtOnce: number;
  password: string;
  handler: StubHandler;
  /** Called first for session requests. If it returns undefined, the stub answers them itself. */
  sessionHandler: StubHandler;
  close(): Promise<void>;
}

export const stubEmail = 'me@example.com';

/** Starts the stub on a free port. Its URL has a path prefix, which the client must keep. */
export async function startCloudStub(handler: StubHandler = () => undefined): Promise<CloudStub> {
  const prefix = '/prefix';
  let issued = 0;
  let open = 0;
  let mostAtOnce = 0;

  const server = createServer((incoming, outgoing) => {
    open++;
    mostAtOnce = Math.max(mostAtOnce, open);
    outgoing.on('close', () => {
      open--;
    });
    void respond(incoming, outgoing);
  });

  async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await receive(incoming);
    judge(request);
    const isSession = request.path.startsWith('/user-service/auth/');
    (isSession ? stub.sessionRequests : stub.requests).push(request);
    const answer = isSession
      ? ((await stub.sessionHandler(request)) ?? answerSession(request))
      : stub.tokens.has(request.token ?? '')
        ? ((await stub.handler(request)) ?? { status: 404, json: { error: 'no such thing' } })
        : { status: 401, text: 'expired' };
    send(outgoing, answer);
  }

  async function receive(incoming: IncomingMessage): Promise<StubRequest> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const [rawPath = '', search = ''] = (incoming.url ?? '').split('?');
    if (!rawPath.startsWith(prefix)) stub.complaints.push(`the prefix is missing in ${rawPath}`);
    const text = Buffer.concat(chunks).toString();
    return {
      method: incoming.method ?? '',
      path: rawPath.slice(prefix.length),
      query: Object.fromEntries(new URLSearchParams(search)),
      headers: incoming.headers,
      body: text === '' ? undefined : JSON.parse(text),
      token: /^Bearer (\S+)$/.exec(incoming.headers.authorization ?? '')?.[1] ?? null,
    };
  }

  function judge({ method, path, headers, body, token }: StubRequest): void {
    const complain = (words: string) => stub.complaints.push(`${method} ${path}: ${words}`);
    if (!/^sonic2mqtt\/\d/.test(String(headers['user-agent']))) complain('no user agent');
    if (headers['accept'] !== 'application/json') complain('does not accept JSON');
    if (headers['accept-encoding'] !== 'identity') complain('asks for compression');
    const wantsType = body === undefined ? undefined : 'application/json';
    if (headers['content-type'] !== wantsType) complain(`content type ${headers['content-type']}`);
    if (method === 'GET' && body !== undefined) complain('a GET with a body');
    const isSignIn = path === '/user-service/auth/sign_in';
    if (isSignIn !== (token === null)) complain(isSignIn ? 'a token at sign-in' : 'no token');
  }

  function answerSession({ method, path, body, token }: StubRequest): StubAnswer {
    const issue = () => {
      const next = `token-${++issued}`;
      stub.tokens.add(next);
      return { json: { token_details: next, user_details: { id: 'u1' } } };
    };
    const route = `${method} ${path.replace('/user-service/auth/', '')}`;
    if (route === 'POST sign_in') {
      const { email, password } = body as { email?: string; password?: string };
      return email === stubEmail && password === stub.password ? issue() : { status: 401, text: 'no' };
    }
    if (!stub.tokens.has(token ?? '')) return { status: 401, text: 'expired' };
    if (route === 'GET validate_token') return { json: { token_details: token, user_details: {} } };
    if (route === 'DELETE sign_out') return { json: { success: stub.tokens.delete(token ?? '') } };
    if (route === 'PUT refresh_token') {
      stub.tokens.delete(token ?? '');
      return issue();
    }
    return { status: 404 };
  }

  const stub = {
    url: '',
    requests: [] as StubRequest[],
    sessionRequests: [] as StubRequest[],
    complaints: [] as string[],
    tokens: new Set<string>(),
    get mostAtOnce() {
      return mostAtOnce;
    },
    password: 'correct horse',
    handler,
    sessionHandler: (() => undefined) as StubHandler,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`;
  return stub;
}

function send(outgoing: ServerResponse, { status = 200, json, text, headers = {}, fault }: StubAnswer): void {
  if (fault === 'hang') return;
  if (fault === 'cut') {
    outgoing.destroy();
    return;
  }
  const body = json === undefined ? (text ?? '') : JSON.stringify(json);
  if (fault === 'cutInBody') {
    outgoing.writeHead(status, { 'content-length': body.length + 100 });
    outgoing.write(body, () => outgoing.destroy());
    return;
  }
  outgoing.writeHead(status, headers).end(body);
}

/** One page of a list, in the format of the vendor's interface document. */
export function pageOf(records: readonly unknown[], page: number, pageSize = 10): StubAnswer {
  return {
    json: {
      data: records.slice((page - 1) * pageSize, page * pageSize),
      page_number: page,
      page_size: pageSize,
      total_entries: records.length,
      total_pages: Math.ceil(records.length / pageSize),
    },
  };
}
