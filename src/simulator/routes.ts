import { type OperationName, operationNames, operationRow } from '../cloud/operations.ts';

interface Route {
  readonly segments: readonly string[];
  readonly names: Map<string, OperationName>;
}

/** Where a request leads: to an operation, to a path that has other methods, or nowhere. */
export type Match =
  | { readonly kind: 'operation'; readonly name: OperationName; readonly params: Record<string, string> }
  | { readonly kind: 'otherMethods'; readonly allow: string }
  | { readonly kind: 'nowhere' };

const routes = new Map<string, Route>();
for (const name of operationNames) {
  const { method, path } = operationRow(name);
  const route = routes.get(path) ?? { segments: path.split('/'), names: new Map() };
  route.names.set(method, name);
  routes.set(path, route);
}

/** By their number of segments: no other could match. */
const routesByLength = new Map<number, Route[]>();
for (const each of routes.values()) {
  const { length } = each.segments;
  routesByLength.set(length, [...(routesByLength.get(length) ?? []), each]);
}

/** Finds the operation of a request from the catalogue; a slash at the end of the path makes no difference. */
export function route(method: string, pathname: string): Match {
  const segments = pathname.replace(/\/$/, '').split('/');
  for (const { segments: template, names } of routesByLength.get(segments.length) ?? []) {
    const params = matchSegments(template, segments);
    if (!params) continue;
    const name = names.get(method);
    if (name) return { kind: 'operation', name, params };
    return { kind: 'otherMethods', allow: [...names.keys()].join(', ') };
  }
  return { kind: 'nowhere' };
}

function matchSegments(template: readonly string[], segments: readonly string[]) {
  if (!template.every((expected, index) => suits(expected, segments[index] ?? ''))) return null;
  const params: Record<string, string> = {};
  for (const [index, expected] of template.entries()) {
    if (isParameter(expected)) params[expected.slice(1, -1)] = decode(segments[index] ?? '');
  }
  return params;
}

function suits(expected: string, segment: string): boolean {
  return isParameter(expected) ? segment !== '' : segment === expected;
}

function isParameter(expected: string): boolean {
  return expected.startsWith('{');
}

/** A segment that is not well encoded is taken as it is; no record has such an id. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
