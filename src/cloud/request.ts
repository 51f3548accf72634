import type { z } from 'zod';
import { joinSentences } from '../base/joinSentences.ts';
import { isTooDeeplyNested } from '../base/nesting.ts';
import { CloudError } from './errors.ts';
import { type CallFault, faultsOf, unknownNames } from './fields.ts';
import { type AnyOperation, type OperationName, operationRow, paramNames } from './operations.ts';

/**
 * Operation name to `METHOD /path/{param}`, as the configuration has checked it; null switches it off. A route may lead
 * anywhere. What may move a valve goes by the name of the operation, so the owner answers for where it leads.
 */
export type RouteOverrides = Readonly<Record<string, string | null>>;

type RequestRoute = Pick<AnyOperation, 'method' | 'path'>;

export interface HttpRequest {
  readonly operation: OperationName;
  readonly method: AnyOperation['method'];
  /** Path and query, encoded. */
  readonly path: string;
  /** JSON; null for none. */
  readonly body: string | null;
  readonly wantsBody: boolean;
  /** A change must not be delivered once it was given up. */
  readonly isChange: boolean;
}

export interface UncheckedCall {
  readonly operation: OperationName;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/** Throws `unsupported` if the route is switched off. */
export function routeOf(name: OperationName, overrides: RouteOverrides): RequestRoute {
  const override = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  if (override === undefined) return operationRow(name);
  if (override === null) {
    throw new CloudError('unsupported', name, `${name} is switched off in cloud.routes`);
  }
  const [method, path] = override.split(' ') as [RequestRoute['method'], string];
  return { method, path };
}

export function checkCall(row: AnyOperation, call: Omit<UncheckedCall, 'operation'>) {
  const faults: CallFault[] = [];
  const params = checkParams(paramNames(row.path), call.params ?? {}, faults);
  const query = checkPart('query', row.query, call.query, faults);
  const body = checkPart('body', row.body, call.body, faults);
  return { params, query, body, faults };
}

/** For example `body.action is missing`. */
export function faultText({ place, name, message }: CallFault): string {
  return `${name === null ? place : `${place}.${name}`} ${message}`;
}

/** Checks a call against its row and encodes it; throws `invalid` with every fault. */
export function encodeCall(call: UncheckedCall, overrides: RouteOverrides): HttpRequest {
  const { operation: name } = call;
  const row = operationRow(name);
  const route = routeOf(name, overrides);
  const { params, query, body, faults } = checkCall(row, call);
  if (faults.length > 0) {
    throw new CloudError('invalid', name, joinSentences(faults.map(faultText)));
  }
  const path = route.path.replace(/\{([^}]+)\}/g, (_, param: string) => params.get(param) ?? '');
  return {
    operation: name,
    method: route.method,
    path: path + encodeQuery(query),
    body: row.body ? JSON.stringify(body) : null,
    wantsBody: row.reply.kind !== 'acknowledgement',
    isChange: row.retry === 'never',
  };
}

function checkParams(names: readonly string[], params: unknown, faults: CallFault[]): Map<string, string> {
  const encoded = new Map<string, string>();
  const fault = (name: string | null, message: string) => faults.push({ place: 'params', name, message });
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    fault(null, 'must be an object');
    return encoded;
  }
  const strangers = Object.keys(params).filter((name) => !names.includes(name));
  faults.push(...unknownNames('params', strangers, names));
  for (const name of names) {
    const value: unknown = Object.hasOwn(params, name) ? params[name as keyof typeof params] : undefined;
    if (value === undefined) fault(name, 'is missing');
    else if (typeof value !== 'string' || !staysInSegment(value)) fault(name, 'must be an ID');
    else encoded.set(name, encodeURIComponent(value));
  }
  return encoded;
}

/** Some servers decode more than once, cut at semicolons, trim, and only then resolve dots. Half a pair cannot be encoded. */
function staysInSegment(value: string): boolean {
  const isPlain = value.trim() === value && !/^[\s.]*$/.test(value);
  return isPlain && value.length <= 256 && !/[/\\%;\p{Cc}\p{Cs}]/u.test(value);
}

function checkPart(
  place: 'query' | 'body',
  schema: z.ZodType | undefined,
  value: unknown,
  faults: CallFault[],
): unknown {
  if (!schema) {
    if (value !== undefined) faults.push({ place, name: null, message: 'is not allowed for this operation' });
    return;
  }
  if (isTooDeeplyNested(value))
    return void faults.push({ place, name: null, message: 'is nested too deeply' });
  const result = schema.safeParse(value ?? {});
  if (!result.success) faults.push(...faultsOf(place, schema, value, result.error));
  // zod removes this one name without reporting an error.
  else if (Object.hasOwn(value ?? {}, '__proto__')) faults.push(...unknownNames(place, ['__proto__'], []));
  return result.data;
}

function encodeQuery(query: unknown): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return search.size > 0 ? `?${search}` : '';
}
