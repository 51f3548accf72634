import type { Call } from '../cloud/operations.ts';
import type { ValveAction } from '../model/valve.ts';

const valveNames = ['command_valve', 'command_wifi_valve', 'change_thing_state'] as const;

/** A call that moves a valve. */
export type ValveCall = Call<(typeof valveNames)[number]>;

/** Whether a call moves a valve. */
export function isValveCall(call: Call): call is ValveCall {
  return isValveOperation(call.operation);
}

/** Whether the operation of this name moves a valve. */
export function isValveOperation(operation: string): boolean {
  return valveNames.some((name) => name === operation);
}

/** What is asked of which valve; a thing may be asked for more than the two actions that move it. */
interface Move {
  readonly id: string;
  readonly wanted: string;
  readonly action: ValveAction | null;
}

/** What a call asks of which valve. */
export function moveOf(call: ValveCall): Move {
  const { action: wanted } = call.body;
  const id = call.operation === 'change_thing_state' ? call.params.thing_id : call.params.sonic_id;
  return { id, wanted: shown(wanted), action: wanted === 'open' || wanted === 'close' ? wanted : null };
}

/** An action in a log line; that of a thing is any text. */
function shown(action: string): string {
  return /^[a-z_]{1,40}$/.test(action) ? action : JSON.stringify(action.slice(0, 40));
}
