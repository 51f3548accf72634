import type { Incident } from './records.ts';

/** The householder's word for ending an incident, and what a cloud may call it: `dismiss` was seen in the real one. */
const synonyms: ReadonlyMap<string, readonly string[]> = new Map([['resolve', ['resolve', 'dismiss']]]);

/** Those that are known: from the interface document, the vendor's old documentation and the library herolabsapi. */
const harmlessActions: ReadonlySet<string> = new Set(['dismiss', 'reopen', 'resolve', 'snooze']);

/** Whether an action may move a valve: all may but those that are known to change only the incident. */
export function mayMoveValve(action: string): boolean {
  return !harmlessActions.has(action.trim().toLowerCase());
}

/** The incident's own word for an action, in any case; null if it does not offer it. */
export function offeredAction({ possible_actions: offered }: Incident, action: string): string | null {
  const wanted = action.trim().toLowerCase();
  return offered.find((each) => each.toLowerCase() === wanted) ?? null;
}

/** The same, where `resolve` means whichever of `resolve` and `dismiss` the incident offers. */
export function endingAction(incident: Incident, action: string): string | null {
  const wanted = synonyms.get(action.trim().toLowerCase()) ?? [action];
  for (const word of wanted) {
    const offered = offeredAction(incident, word);
    if (offered !== null) return offered;
  }
  return null;
}

/** All actions that any of the incidents offers, each once. */
export function offeredActions(incidents: readonly Incident[]): string[] {
  return [...new Set(incidents.flatMap(({ possible_actions: offered }) => offered))];
}
