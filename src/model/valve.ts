import { isSameWord, knownWord, wordOf } from './words.ts';

export type Valve = 'open' | 'opening' | 'closing' | 'closed';

/** A position in which a valve stands still. */
export type SettledValve = Extract<Valve, 'open' | 'closed'>;

/** The actions of a valve command (operation 21). */
export type ValveAction = 'open' | 'close';

const shownByState: ReadonlyMap<string, Valve> = new Map([
  ['open', 'open'],
  ['closed', 'closed'],
  ['opening', 'opening'],
  ['requested_open', 'opening'],
  ['closing', 'closing'],
  ['requested_closed', 'closing'],
]);

/** The word that Wi-Fi sonics use on their local interface if they do not know the position of the valve. */
export const unknownState = 'unknown';

/** The cloud's word for the valve's state; null if it has none, or says that it does not know. */
export function valveStateKnown(valveState: string | null): string | null {
  return valveState === null || wordOf(valveState) === unknownState ? null : valveState;
}

export const targetOf = { open: 'open', close: 'closed' } as const satisfies Record<
  ValveAction,
  SettledValve
>;

export const movementOf = { open: 'opening', close: 'closing' } as const satisfies Record<ValveAction, Valve>;

/** Null if it moves, is being tested, is faulty, or has an unknown state. */
export function settledValve(valveState: string | null): SettledValve | null {
  return knownWord(['open', 'closed'], valveState);
}

/**
 * The state to show for the cloud's valve_state. During a pressure test, nobody has closed the valve, although it is
 * closed for a while. So the last position is shown. An unknown word never counts as a position.
 */
export function valveShown(valveState: string | null, lastSettled: SettledValve | null): Valve | null {
  if (valveState === null) return null;
  const word = wordOf(valveState);
  if (word === 'pressure_test') return lastSettled;
  return shownByState.get(word) ?? null;
}

/** A valve command that the cloud has accepted but does not show yet. */
export interface AcceptedCommand {
  readonly action: ValveAction;
  /** The cloud's valve state before it accepted the command. */
  readonly stateBefore: string | null;
  /** Whether the valve was shown as moving then. If so, it may have left the position that the cloud still shows. */
  readonly wasMoving: boolean;
}

/** The state to show while a command is open: its movement, until the cloud reports a new state. */
export function valveShownAfter(
  command: AcceptedCommand | null,
  valveState: string | null,
  lastSettled: SettledValve | null,
): Valve | null {
  const isAwaited = command !== null && isSameWord(valveState, command.stateBefore);
  if (isAwaited && (command.wasMoving || settledValve(valveState) !== targetOf[command.action])) {
    return movementOf[command.action];
  }
  return valveShown(valveState, lastSettled);
}
