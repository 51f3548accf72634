import type { Incident } from './records.ts';
import { wordOf } from './words.ts';

/** Words for ending an incident. Users know the first; the real cloud has used `dismiss`. */
const synonyms: ReadonlyMap<string, readonly string[]> = new Map([['resolve', ['resolve', 'dismiss']]]);

/** The known actions, from the interface document, the vendor's old documentation and the library herolabsapi. */
const harmlessActions: ReadonlySet<string> = new Set(['dismiss', 'reopen', 'resolve', 'snooze']);

/** Whether an action is known to change just the incident. Any other may move a valve. */
export function isHarmlessAction(action: string): boolean {
  return harmlessActions.has(wordOf(action));
}

/** The incident's own spelling of an action, compared without regard to case; null if it does not offer the action. */
export function offeredAction({ possible_actions: offered }: Incident, action: string): string | null {
  return offered.find((each) => wordOf(each) === wordOf(action)) ?? null;
}

/** The same, but `resolve` stands for `resolve` or `dismiss`, whichever the incident offers. */
export function endingAction(incident: Incident, action: string): string | null {
  const wanted = synonyms.get(wordOf(action)) ?? [action];
  for (const word of wanted) {
    const offered = offeredAction(incident, word);
    if (offered !== null) return offered;
  }
  return null;
}

export function offeredActions(incidents: readonly Incident[]): string[] {
  return [...new Set(incidents.flatMap(({ possible_actions: offered }) => offered))];
}
