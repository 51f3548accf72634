import type { z } from 'zod';
import { isHarmlessAction } from '../model/incidentActions.ts';
import { catalogue, type Moves, type OperationRow, type Reply } from './catalogue.ts';

type Operations = typeof catalogue;
export type OperationName = keyof Operations;

export type AnyOperation = OperationRow<string, unknown>;

export function operationRow(name: OperationName): AnyOperation {
  return catalogue[name];
}

export const operationNames = Object.keys(catalogue) as OperationName[];

export function isOperationName(word: string): word is OperationName {
  return Object.hasOwn(catalogue, word);
}

/** How a call may move a valve; null if it does not. Only an action that is known to change just its incident moves none. */
export function movesOf(call: { readonly operation: OperationName; readonly body?: unknown }): Moves | null {
  const { moves = null } = operationRow(call.operation);
  const { action } = (call.body ?? {}) as { readonly action?: unknown };
  return moves === 'maybe' && isHarmlessAction(String(action)) ? null : moves;
}

type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

export type ParamsOf<Name extends OperationName> = Readonly<
  Record<ParamNames<Operations[Name]['path']>, string>
>;
type PartOf<Name extends OperationName, Part extends 'query' | 'body'> =
  Operations[Name] extends Readonly<Record<Part, infer Schema>> ? z.input<Schema> : never;
export type QueryOf<Name extends OperationName> = PartOf<Name, 'query'>;
export type BodyOf<Name extends OperationName> = PartOf<Name, 'body'>;

export type BodyField<Name extends OperationName> = {
  [Each in Name]: Operations[Each] extends { readonly body: { readonly shape: infer Fields } }
    ? keyof Fields & string
    : never;
}[Name];

/** Of a page, one of its records. */
export type RecordOf<Name extends OperationName> =
  Operations[Name]['reply'] extends Reply<infer T> ? T : never;

/** A call as data. */
export type Call<Name extends OperationName = OperationName> = {
  [Each in Name]: { readonly operation: Each } & ([ParamNames<Operations[Each]['path']>] extends [never]
    ? { readonly params?: Record<string, never> }
    : { readonly params: ParamsOf<Each> }) &
    ([QueryOf<Each>] extends [never] ? unknown : { readonly query?: QueryOf<Each> }) &
    ([BodyOf<Each>] extends [never] ? unknown : { readonly body: BodyOf<Each> });
}[Name];

export type ListName = {
  [Name in OperationName]: Operations[Name] extends { readonly query: infer Schema }
    ? 'page' extends keyof z.input<Schema>
      ? Name
      : never
    : never;
}[OperationName];

/** Changes something besides the session. */
export type ChangeName = {
  [Name in OperationName]: Operations[Name] extends { readonly control: unknown } ? Name : never;
}[OperationName];

export function paramNames(path: string): readonly string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '');
}

/** Whether it is not only of one property or hub. */
export function isAccountList(name: OperationName): boolean {
  const { path, reply } = operationRow(name);
  return reply.kind === 'page' && paramNames(path).length === 0;
}

/** Whether it is a list of valves or of leaks, for which the bridge exists. Such a list never waits for long. */
export function isVitalList(name: OperationName): boolean {
  return name === 'list_incidents' || name === 'list_sonics' || name === 'list_wifi_sonics';
}
