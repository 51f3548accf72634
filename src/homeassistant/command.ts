import { type Control, type OperationName, operationRow } from '../cloud/operations.ts';
import type { EntityRow, Order } from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import { type DeviceKind, type DeviceView, deviceKinds } from '../model/devices.ts';
import type { Topics } from './topics.ts';

/** What a command comes to, or why it is refused, in words for its sender. */
export type ParsedCommand = { readonly order: Order } | { readonly refusal: string };

type CommandRow = Extract<EntityRow<DeviceView>, { readonly command: unknown }>;

function commandRows(kind: DeviceKind): readonly CommandRow[] {
  // Each table reads views of its own kind only, and is given no other.
  const table = entityTable(kind) as unknown as readonly EntityRow<DeviceView>[];
  return table.filter((row) => 'command' in row);
}

/** The filters to subscribe to, one for each command of each kind of device. */
export function commandFilters(topics: Topics): string[] {
  return deviceKinds.flatMap((kind) =>
    commandRows(kind).map((row) => topics.below(kind, '+', row.command.path)),
  );
}

/** Whether a path below a device of this kind takes commands. */
export function isCommandPath(kind: DeviceKind, path: string): boolean {
  return commandRows(kind).some((row) => row.command.path === path);
}

/** What the payload asks of the device at this path. */
export function parseCommand(
  view: DeviceView,
  path: string,
  payload: string,
  control: Readonly<Record<Control, boolean>>,
): ParsedCommand {
  const row = commandRows(view.kind).find((each) => each.command.path === path);
  if (!row) return { refusal: `there is no command ${path}` };
  const forbidden = forbiddenBy(row.command.operation, control);
  if (forbidden) return { refusal: `not permitted: control.${forbidden} is off in the configuration` };
  switch (row.component) {
    case 'valve': {
      const action = valveAction(payload);
      return action
        ? { order: row.command.order(view, action) }
        : { refusal: `must be OPEN or CLOSE, or {"action":"open"}; got ${quote(payload)}` };
    }
    case 'button':
      return { order: row.command.order(view, null) };
    case 'select': {
      const option = row.options.find((each) => each === payload.trim());
      return option === undefined
        ? { refusal: `must be one of ${row.options.join(', ')}; got ${quote(payload)}` }
        : { order: row.command.order(view, option) };
    }
  }
}

/** The section of `control` that forbids an operation; null when it is permitted. */
export function forbiddenBy(
  operation: OperationName | null,
  control: Readonly<Record<Control, boolean>>,
): Control | null {
  const needed = operation === null ? undefined : operationRow(operation).control;
  return needed !== undefined && !control[needed] ? needed : null;
}

function valveAction(payload: string): 'open' | 'close' | null {
  const text = payload.trim();
  const word = (text.startsWith('{') ? actionIn(text) : text).toLowerCase();
  return word === 'open' || word === 'close' ? word : null;
}

function actionIn(text: string): string {
  try {
    const { action } = JSON.parse(text);
    return typeof action === 'string' ? action : '';
  } catch {
    return '';
  }
}

function quote(payload: string): string {
  return payload === ''
    ? 'an empty message'
    : JSON.stringify(payload.length > 60 ? `${payload.slice(0, 60)}…` : payload);
}
