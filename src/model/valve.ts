/** The states in which a valve is shown. */
export type Valve = 'open' | 'opening' | 'closing' | 'closed';

/** A position in which a valve rests. */
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

/** The word of Wi-Fi sonics, on their local interface, for a valve whose position they do not know. */
export const unknownState = 'unknown';

/** The cloud's word for the valve; null where it has none, or says that it does not know. */
export function valveStateKnown(valveState: string | null): string | null {
  return valveState === unknownState ? null : valveState;
}

/** The position that an action leads to. */
export const targetOf = { open: 'open', close: 'closed' } as const satisfies Record<
  ValveAction,
  SettledValve
>;

/** The movement that an action starts. */
export const movementOf = { open: 'opening', close: 'closing' } as const satisfies Record<ValveAction, Valve>;

/** The resting position that the cloud reports, or null while it moves, is tested, is faulty or says a new word. */
export function settledValve(valveState: string | null): SettledValve | null {
  return valveState === 'open' || valveState === 'closed' ? valveState : null;
}

/**
 * The state to show for the cloud's valve_state. A pressure test closes the valve for a while without anybody having
 * closed it, so it keeps the last settled position. Unknown words are never taken for a position.
 */
export function valveShown(valveState: string | null, lastSettled: SettledValve | null): Valve | null {
  if (valveState === null) return null;
  if (valveState === 'pressure_test') return lastSettled;
  return shownByState.get(valveState) ?? null;
}

/** A valve command that the cloud accepted and has not yet shown. */
export interface AcceptedCommand {
  readonly action: ValveAction;
  /** The cloud's valve state before it accepted the command. */
  readonly stateBefore: string | null;
  /** Whether the valve was shown on its way then: where it had rested, it may have left. */
  readonly wasMoving: boolean;
}

/** The state to show while an accepted command is awaited: its movement, until the cloud reports a new state. */
export function valveShownAfter(
  command: AcceptedCommand | null,
  valveState: string | null,
  lastSettled: SettledValve | null,
): Valve | null {
  const isAwaited = command !== null && valveState === command.stateBefore;
  if (isAwaited && (command.wasMoving || settledValve(valveState) !== targetOf[command.action])) {
    return movementOf[command.action];
  }
  return valveShown(valveState, lastSettled);
}
