import { type OperationName, operationNames, operationRow } from '../cloud/operations.ts';
import { acceptedBody, acceptedQuery, Rejection } from './document.ts';
import type { Faults } from './faults.ts';
import { handlers } from './handlers.ts';
import type { Sessions } from './sessions.ts';
import type { World } from './world.ts';

export interface Cloud {
  readonly world: World;
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly pageSize: number;
}

export interface CloudRequest {
  readonly method: string;
  readonly target: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly text: string;
}

export interface SimulatedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The target of a request: an operation, a path that only has other methods, or none. */
type Match =
  | { readonly kind: 'operation'; readonly name: OperationName; readonly params: Record<string, string> }
  | { readonly kind: 'otherMethods'; readonly allow: string }
  | { readonly kind: 'nowhere' };

export function jsonAnswer(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): SimulatedAnswer {
  const contentType = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...contentType, ...headers }, text: JSON.stringify(body) };
}

/**
 * The answer without a valid session, or to wrong credentials. The library herolabsapi recognises it by its body, which
 * is not JSON.
 */
export const denied: SimulatedAnswer = {
  status: 401,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'www-authenticate': 'Token realm="Application"',
  },
  text: 'HTTP Token: Access denied.\n',
};

/** Every route, with its path parameters as named groups. A slash at the end of a path makes no difference. */
const routes = operationNames.map((name) => {
  const { method, path } = operationRow(name);
  return { name, method, pattern: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`) };
});

export function findOperation(method: string, target: string): Match {
  const [path = ''] = target.split('?', 1);
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  const route = matching.find((each) => each.method === method);
  if (route) {
    const params = Object.entries(route.pattern.exec(path)?.groups ?? {});
    // Ids are compared without regard to case, and the world's are in lower case.
    const decoded = params.map(([name, segment]) => [name, decodeSegment(segment).toLowerCase()]);
    return { kind: 'operation', name: route.name, params: Object.fromEntries(decoded) };
  }
  if (matching.length === 0) return { kind: 'nowhere' };
  return { kind: 'otherMethods', allow: matching.map((each) => each.method).join(', ') };
}

/** Decodes a segment. If it is not encoded correctly, it is returned unchanged, and no record has such an id. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function answerRequest(cloud: Cloud, request: CloudRequest): SimulatedAnswer {
  try {
    return answer(cloud, request);
  } catch (error) {
    if (!(error instanceof Rejection)) return jsonAnswer(500, { message: String(error) });
    return error.status === 401 ? denied : jsonAnswer(error.status, { message: error.message });
  }
}

function answer(cloud: Cloud, request: CloudRequest): SimulatedAnswer {
  const match = findOperation(request.method, request.target);
  if (match.kind === 'nowhere') throw new Rejection(404, 'not found');
  if (match.kind === 'otherMethods') {
    return jsonAnswer(405, { message: 'method not allowed' }, { allow: match.allow });
  }
  const { name, params } = match;
  const { world, sessions } = cloud;
  const token = /^Bearer +(\S+)$/i.exec(request.authorization ?? '')?.[1] ?? '';
  // According to the interface document, an expired token can still be refreshed. The handler checks the token.
  const needsNoSession = name === 'sign_in' || (name === 'refresh_token' && token !== '');
  if (!needsNoSession && !sessions.isValid(token)) return denied;
  const query = acceptedQuery(name, request.target);
  const valid = { params, query, body: readBody(name, request), token, world, sessions };
  // All parts of the request were checked, and the types of the handler come from the same schemas.
  const result: object | readonly object[] | null = handlers[name](valid as never);
  if (result === null) return { status: 200, headers: { 'content-type': 'text/plain' }, text: '' };
  if (!Array.isArray(result)) return jsonAnswer(200, spoiled(cloud, name, result));
  return jsonAnswer(200, onePage(cloud, name, result, Number(query['page'] ?? 1)));
}

/** One page of a list. A page beyond the end of the list has no records. */
function onePage(cloud: Cloud, name: OperationName, records: readonly object[], page: number) {
  const { faults, pageSize } = cloud;
  if (faults.strike('missing-page', name) === page) throw new Rejection(500, 'internal server error');
  const all = faults.spoilList(name, records);
  const total = faults.strike('lying-totals', name) ?? all.length;
  return {
    data: all.slice((page - 1) * pageSize, page * pageSize).map((record) => spoiled(cloud, name, record)),
    page_number: page,
    page_size: pageSize,
    total_entries: total,
    total_pages: Math.ceil(total / pageSize),
  };
}

/** The record as the cloud shows it. Faults change the last record of each kind. */
function spoiled({ world, faults }: Cloud, name: OperationName, record: object): object {
  if (faults.areNone || !('id' in record)) return record;
  const { sonics, wifiSonics, signals, properties, incidents } = world;
  const kinds = [sonics, wifiSonics, signals, properties, incidents];
  return kinds.some(({ ids }) => ids.at(-1) === record.id) ? faults.spoilRecord(name, record) : record;
}

function readBody(name: OperationName, { contentType, text }: CloudRequest): unknown {
  if (!operationRow(name).body) return undefined;
  if (text === '') return acceptedBody(name, {});
  if (!/^application\/json\b/i.test(contentType ?? '')) {
    throw new Rejection(415, 'the body must be application/json');
  }
  try {
    return acceptedBody(name, JSON.parse(text));
  } catch (error) {
    throw error instanceof SyntaxError ? new Rejection(400, 'the body is not JSON') : error;
  }
}
