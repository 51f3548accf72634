import type { IncomingHttpHeaders } from 'node:http';
import type { Writable } from 'node:stream';

/** What a route is asked. */
export interface Question {
  /** Of the path, what a route that ends with `/*` leaves open: as it was sent, without the query. */
  readonly rest: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body; null where it is larger than so many bytes, of which the rest is not read then. */
  readonly readBody: (mostBytes: number) => Promise<Buffer | null>;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that goes on until one of the two hangs up. */
export interface Stream extends Omit<Reply, 'text'> {
  /** Takes over what can be written to. */
  readonly open: (out: Writable) => void;
}

/** What is served at a path. */
export interface Route {
  /** As in `/healthz`; `/webhook/*` takes everything below `/webhook/`. */
  readonly path: string;
  /** GET takes HEAD along. */
  readonly methods: readonly string[];
  /** Whether other methods are told that there is nothing, and not which ones there are. */
  readonly isSecret?: boolean;
  readonly answer: (question: Question) => Reply | Stream | Promise<Reply | Stream>;
}

/** Where a request leads. */
export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly rest: string; readonly query: URLSearchParams }
  | { readonly kind: 'otherMethods'; readonly allow: string }
  | { readonly kind: 'nowhere' };

/** Finds the route of a request; the query makes no difference, and neither does a host before the path. */
export function findRoute(routes: readonly Route[], method: string, target: string): Match {
  const [path = '', ...query] = target.replace(/^https?:\/\/[^/?]*\/?/i, '/').split('?');
  for (const route of routes) {
    const rest = restOf(route.path, path);
    if (rest === null) continue;
    if (methodsOf(route).includes(method)) {
      return { kind: 'route', route, rest, query: new URLSearchParams(query.join('?')) };
    }
    if (!route.isSecret) return { kind: 'otherMethods', allow: methodsOf(route).join(', ') };
  }
  return { kind: 'nowhere' };
}

/** A reply in JSON. */
export function jsonReply(status: number, value: object, headers: Reply['headers'] = {}): Reply {
  return { status, contentType: 'application/json; charset=utf-8', text: JSON.stringify(value), headers };
}

/** There is nothing here, or nothing that you are to know of. */
export const notFound = jsonReply(404, { status: 'not_found' });

function restOf(pattern: string, path: string): string | null {
  if (!pattern.endsWith('/*')) return path === pattern ? '' : null;
  const start = pattern.slice(0, -1);
  return path.startsWith(start) ? path.slice(start.length) : null;
}

function methodsOf({ methods }: Route): readonly string[] {
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}
