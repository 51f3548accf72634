import { joinSentences } from '../base/joinSentences.ts';
import { jsonIn } from '../base/json.ts';
import { repeatedKey } from '../base/repeatedKey.ts';
import type { Control } from '../cloud/catalogue.ts';
import {
  type Call,
  isOperationName,
  movesOf,
  type OperationName,
  operationRow,
} from '../cloud/operations.ts';
import { checkCall, type UncheckedCall } from '../cloud/request.ts';
import { type FieldsCommand, plainCommands, type WordCommand } from '../entities/commands.ts';
import { actOn } from '../entities/incidents.ts';
import {
  type CommandAction,
  type CommandRow,
  type FieldCommand,
  type FieldOperation,
  type Refusal,
  requiredOperation,
} from '../entities/row.ts';
import { settingReaders } from '../entities/settings.ts';
import { entityTable } from '../entities/tables.ts';
import { type DeviceKind, type DeviceView, deviceKinds } from '../model/devices.ts';
import { offeredAction } from '../model/incidentActions.ts';
import type { Incident } from '../model/records.ts';
import { viewId } from './discovery.ts';
import type { TargetKind, Topics } from './topics.ts';

/*
 * How a payload becomes an action. The path of the topic names a handler: a row of an entity table, or a plain command.
 * The handler reads the payload by its component: a word for a valve, an option, or fields of an operation, which are
 * checked by the operation's own schema. The action is refused unless `control` permits all of its calls.
 */

export type ParsedCommand = { readonly action: CommandAction } | Refusal;

type CommandHandler =
  | CommandRow<DeviceView>
  | { readonly component: 'field'; readonly command: FieldCommand<unknown, string> }
  | { readonly component: 'fields'; readonly command: FieldsCommand }
  | { readonly component: 'word'; readonly command: WordCommand<DeviceView> };

/** Further fields are not checked: it takes time, and a message has room for thousands of fields. */
const maxRefusalsShown = 5;

const incidentPath = 'action';

/** By kind and path. The path of a field has `+` for the field. */
const handlers = new Map(deviceKinds.map((kind) => [kind, handlersOf(kind)]));

function handlersOf(kind: DeviceKind): ReadonlyMap<string, CommandHandler> {
  const found = new Map<string, CommandHandler>();
  for (const row of entityTable(kind)) if ('command' in row) found.set(row.command.path, row);
  for (const command of plainCommands[kind]) {
    if ('action' in command) {
      // A plain command only receives views of its own kind.
      found.set(command.path, { component: 'word', command: command as WordCommand<DeviceView> });
      continue;
    }
    if ('field' in command) {
      found.set(command.path, { component: 'field', command });
      continue;
    }
    found.set(command.path, { component: 'fields', command });
    if (command.hasFieldTopics) {
      const path = command.path.replace(/set$/, '+/set');
      found.set(path, { component: 'field', command: { path, operation: command.operation, field: '' } });
    }
  }
  return found;
}

function handlerAt(kind: DeviceKind, path: string): CommandHandler | null {
  const own = handlers.get(kind)?.get(path);
  if (own) return own;
  const ofFields = handlers.get(kind)?.get(withAnyField(path));
  if (ofFields?.component !== 'field') return null;
  const field = path.split('/').at(-2) ?? '';
  return { component: 'field', command: { ...ofFields.command, path, field } };
}

function withAnyField(path: string): string {
  return path.replace(/[^/]*(?=\/set$)/, '+');
}

/** The paths of commands below a device of this kind. `+` stands for any field. */
function commandPaths(kind: DeviceKind): readonly string[] {
  const paths = [...(handlers.get(kind)?.keys() ?? [])];
  return paths.filter((path) => path === withAnyField(path) || !paths.includes(withAnyField(path)));
}

/** No two filters match the same topic, because a broker could then deliver a command twice. */
export function commandFilters(topics: Topics): string[] {
  const ofDevices = deviceKinds.flatMap((kind) =>
    commandPaths(kind).map((path) => topics.below(kind, '+', path)),
  );
  return [...ofDevices, topics.below('incident', '+', incidentPath)];
}

/** Whether commands are received at the path, below a device of this kind or below an incident. */
export function isCommandPath(kind: TargetKind, path: string): boolean {
  return kind === 'incident' ? path === incidentPath : handlerAt(kind, path) !== null;
}

export function parseCommand(
  view: DeviceView,
  path: string,
  payload: string,
  control: Readonly<Record<Control, boolean>>,
): ParsedCommand {
  const handler = handlerAt(view.kind, path);
  if (!handler) return { refusal: `there is no command ${path}` };
  const operation = requiredOperation<DeviceView, OperationName | null>(handler.command.operation, view);
  const forbidden = missingPermission(operation, control);
  if (forbidden) return { refusal: permissionMessage(forbidden) };
  return withPermission(readPayload(handler, view, payload), control);
}

export function parseIncidentCommand(
  incident: Incident,
  payload: string,
  control: Readonly<Record<Control, boolean>>,
): ParsedCommand {
  const forbidden = missingPermission('act_on_incident', control);
  if (forbidden) return { refusal: permissionMessage(forbidden) };
  const action = offeredAction(incident, payload);
  if (action !== null) return withPermission(actOn(incident.id, action), control);
  const offered = incident.possible_actions;
  return offered.length === 0
    ? { refusal: 'the alert offers no action' }
    : { refusal: `must be one of ${offered.join(', ')}. Got ${quote(payload)}` };
}

export function permissionMessage(section: Control): string {
  return `not permitted: control.${section} is off in the configuration`;
}

function withPermission(
  action: CommandAction | Refusal,
  control: Readonly<Record<Control, boolean>>,
): ParsedCommand {
  if ('refusal' in action) return action;
  const calls = 'kind' in action ? [] : [action].flat();
  const forbidden = calls
    .map((call) => missingPermissionFor(call, control))
    .find((section) => section !== null);
  return forbidden === undefined ? { action } : { refusal: permissionMessage(forbidden) };
}

function readPayload(handler: CommandHandler, view: DeviceView, payload: string): CommandAction | Refusal {
  switch (handler.component) {
    case 'valve': {
      const action = valveAction(payload);
      return typeof action === 'object' ? action : handler.command.action(view, action);
    }
    case 'select': {
      if ('field' in handler.command) return setField(view, handler.command, payload);
      const option = handler.options.find((each) => each === payload.trim());
      return option === undefined
        ? { refusal: `must be one of ${handler.options.join(', ')}. Got ${quote(payload)}` }
        : handler.command.action(view, option);
    }
    case 'button':
    case 'number':
    case 'word':
      return handler.command.action(view, payload);
    case 'switch':
    case 'text':
    case 'field':
      return setField(view, handler.command, payload);
    case 'fields':
      return setFields(view, handler.command, payload);
  }
}

/** The section of `control` that forbids an operation; null if it is permitted. */
export function missingPermission(
  operation: OperationName | null,
  control: Readonly<Record<Control, boolean>>,
): Control | null {
  const needed = operation === null ? [] : (operationRow(operation).control ?? []);
  return needed.find((section) => !control[section]) ?? null;
}

/** Null if the call is permitted. An incident's action may also need `valves`. */
export function missingPermissionFor(
  { operation, body }: UncheckedCall,
  control: Readonly<Record<Control, boolean>>,
): Control | null {
  if (!isOperationName(operation)) return null;
  const isValveAtRisk = movesOf({ operation, body }) !== null && !control.valves;
  return missingPermission(operation, control) ?? (isValveAtRisk ? 'valves' : null);
}

const valveWords = 'OPEN or CLOSE, or {"action":"open"}';

/** A payload that is only partly understood must not move a valve, so other or repeated keys are refused. */
export function valveAction(payload: string): 'open' | 'close' | Refusal {
  const text = payload.trim();
  const read = text.startsWith('{') ? readObject(text, valveWords) : { object: { action: text } };
  if ('refusal' in read) return read;
  const { action, ...others }: Readonly<Record<string, unknown>> = read.object;
  const word = typeof action === 'string' ? action.toLowerCase() : '';
  if (word !== 'open' && word !== 'close') return { refusal: `must be ${valveWords}. Got ${quote(payload)}` };
  const [stranger] = Object.keys(others);
  return stranger === undefined
    ? word
    : { refusal: `action must be the only key. Got ${quote(stranger)} also` };
}

function readObject(
  payload: string,
  wanted: string,
): { readonly object: Readonly<Record<string, unknown>> } | Refusal {
  const refusal = { refusal: `must be ${wanted}. Got ${quote(payload)}` };
  const object = jsonIn(payload);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return refusal;
  const repeated = repeatedKey(payload);
  return repeated === null ? { object: { ...object } } : { refusal: repeatedKeyMessage(repeated) };
}

export function repeatedKeyMessage(key: string): string {
  return `${key.slice(0, 80)} is given twice`;
}

// ---- fields -----------------------------------------------------------------------------------------------------

function setField(
  view: DeviceView,
  { operation: needed, field }: FieldCommand<DeviceView, string>,
  payload: string,
): Call | Refusal {
  const operation = requiredOperation(needed, view);
  const read = readField(view, operation, field, payload);
  return 'refusal' in read ? read : fieldsCall(view, operation, { [field]: read.value });
}

function setFields(view: DeviceView, { operation }: FieldsCommand, payload: string): Call | Refusal {
  const given = readObject(payload, 'a JSON object of fields');
  if ('refusal' in given) return given;
  const values: [field: string, value: unknown][] = [];
  const refusals: string[] = [];
  for (const [field, value] of Object.entries(given.object)) {
    const read = readField(view, operation, field, value);
    if ('value' in read) values.push([field, read.value]);
    else if (refusals.length < maxRefusalsShown) refusals.push(read.refusal);
    else return { refusal: `${joinSentences(refusals)}. Further errors are not shown` };
  }
  if (refusals.length > 0) return { refusal: joinSentences(refusals) };
  const call = fieldsCall(view, operation, Object.fromEntries(values));
  const [fault] = checkCall(operationRow(operation), call).faults;
  return fault ? { refusal: `the object ${fault.message}` } : call;
}

/**
 * The value in the form that the operation accepts. A text is tried in each of its possible meanings. A refusal does
 * not repeat the value, because an address may hold a secret.
 */
function readField(
  view: DeviceView,
  operation: FieldOperation,
  field: string,
  given: unknown,
): { readonly value: unknown } | Refusal {
  const row = operationRow(operation);
  const reader = operation === 'update_property_settings' ? settingReaders.get(field) : undefined;
  let words = '';
  for (const candidate of typeof given === 'string' ? interpretations(given) : [given]) {
    const value = reader && typeof candidate === 'string' ? reader(candidate) : candidate;
    if (typeof value === 'object' && value !== null && 'refusal' in value) {
      return { refusal: `${field} ${value.refusal}` };
    }
    const [fault] = checkCall(row, fieldsCall(view, operation, { [field]: value })).faults;
    // An address may be empty, but nobody could find a device without a name.
    const isNameless = field === 'name' && value === '';
    if (!fault && !isNameless) return { value };
    words = fault?.message ?? 'must not be blank';
  }
  return { refusal: `${field.slice(0, 80)} ${words}` };
}

/** All meanings that a text can have: a flag such as ON, a number, or the text itself. */
function interpretations(text: string): readonly unknown[] {
  const trimmed = text.trim();
  const flags: ReadonlyMap<string, boolean> = new Map([
    ['on', true],
    ['true', true],
    ['off', false],
    ['false', false],
  ]);
  const flag = flags.get(trimmed.toLowerCase());
  const isNumber = /^[+-]?\d+(\.\d+)?$/.test(trimmed);
  return [...(flag === undefined ? [] : [flag]), ...(isNumber ? [Number(trimmed)] : []), trimmed];
}

/** The call that sets only these fields of the device. The other fields stay as they are. */
function fieldsCall(view: DeviceView, operation: FieldOperation, body: object): Call {
  return { operation, params: { [`${view.kind}_id`]: viewId(view) }, body } as unknown as Call;
}

function quote(payload: string): string {
  return JSON.stringify(payload.length > 60 ? `${payload.slice(0, 60)}…` : payload);
}
