import { isTooDeeplyNested } from '../base/nesting.ts';
import { type AnyOperation, type OperationName, operationRow } from '../cloud/operations.ts';
import type { Asked, Listing } from './asked.ts';
import type { Faults } from './faults.ts';
import { handlers } from './handlers.ts';
import { pageText, spoilRecord } from './pages.ts';
import { route } from './routes.ts';
import { Refusal } from './rules.ts';
import type { Sessions } from './sessions.ts';
import type { World } from './world.ts';

/** The cloud that answers. */
export interface Cloud {
  readonly world: World;
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly pageSize: number;
}

/** A request as it came in. */
export interface RawRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly text: string;
}

/** What goes back. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

/** An answer in JSON. */
export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { ...jsonHeaders, ...headers },
    text: JSON.stringify(body),
  };
}

/** No valid session, or wrong credentials; clients know that by a body that is not JSON (cloud facts 2). */
export const denied: Answer = {
  status: 401,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'www-authenticate': 'Token realm="Application"',
  },
  text: 'HTTP Token: Access denied.\n',
};

/** Judges a request as the cloud does and carries it out. */
export function judge(cloud: Cloud, request: RawRequest): Answer {
  try {
    return answer(cloud, request);
  } catch (error) {
    if (!(error instanceof Refusal)) return jsonAnswer(500, { message: String(error) });
    return error.status === 401 ? denied : jsonAnswer(error.status, { message: error.message });
  }
}

function answer(cloud: Cloud, request: RawRequest): Answer {
  const { path, query } = splitTarget(request.target);
  const match = route(request.method, path);
  if (match.kind === 'nowhere') throw new Refusal(404, 'not found');
  if (match.kind === 'otherMethods') {
    return jsonAnswer(405, { message: 'method not allowed' }, { allow: match.allow });
  }
  const { name, params } = match;
  const row = operationRow(name);
  const token = /^Bearer +(\S+)$/i.exec(request.authorization ?? '')?.[1] ?? '';
  // An expired token can still be refreshed (interface document 5.4): the handler judges it.
  const isLetIn =
    name === 'sign_in' || (name === 'refresh_token' && token !== '') || cloud.sessions.isValid(token);
  if (!isLetIn) return denied;
  const asked = { params, query: readQuery(row, query), body: readBody(row, request), token, ...cloud };
  // Its parts were read by the row's own path and schemas, which is where the handler's types come from.
  return present(cloud, name, row, asked as unknown as Asked<OperationName>);
}

function present(cloud: Cloud, name: OperationName, row: AnyOperation, asked: Asked<OperationName>): Answer {
  const given = handle(name, asked);
  if (given === null) return { status: 200, headers: { 'content-type': 'text/plain' }, text: '' };
  if (row.reply.kind !== 'page') {
    return jsonAnswer(200, spoilRecord(cloud.world, cloud.faults, name, given));
  }
  const { page = 1 } = asked.query as { page?: number };
  return { status: 200, headers: jsonHeaders, text: pageText(cloud, name, given as Listing, page) };
}

function handle<Name extends OperationName>(name: Name, asked: Asked<Name>): unknown {
  return handlers[name](asked);
}

/** Path and query of a request's target. */
export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = ''] = target.split('?', 1);
  return { path, query: new URLSearchParams(target.slice(path.length)) };
}

function readQuery(row: AnyOperation, query: URLSearchParams): unknown {
  if (!row.query) return {};
  return accepted(
    row.query,
    Object.fromEntries([...query].map(([key, text]) => [key, readValue(key, text)])),
  );
}

function readValue(key: string, text: string): unknown {
  if (/^(page|month|year)$/.test(key)) return /^\d+$/.test(text) ? Number(text) : text;
  if (key === 'open') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

function readBody(row: AnyOperation, { contentType, text }: RawRequest): unknown {
  if (!row.body) return undefined;
  if (text === '') return accepted(row.body, {});
  if (!/^application\/json\b/i.test(contentType ?? '')) {
    throw new Refusal(415, 'the body must be application/json');
  }
  return accepted(row.body, parseJson(text));
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  if (isTooDeeplyNested(value)) throw new Refusal(400, 'the body is nested too deeply');
  return value;
}

function accepted(schema: NonNullable<AnyOperation['body']>, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new Refusal(422, problems.join('; '));
}
