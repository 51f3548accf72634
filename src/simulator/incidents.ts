import type { Incident, IncidentType } from '../model/records.ts';

/** What a new incident is about: a sonic (the first one unless given) or a signal alone. */
export interface IncidentCause {
  readonly type: IncidentType | (string & {});
  readonly sonicId?: string;
  readonly signalId?: string;
  readonly severity?: string;
}

/** What the cloud tells webhooks of (cloud facts 5). */
export type IncidentEvent = 'incident.created' | 'incident.closed';

/** The types during which water runs all the time. */
export const leakTypes: readonly string[] = ['high_volume_alert', 'long_flow_alert'];

const severityOf: Readonly<Record<string, string>> = {
  high_volume_alert: 'high',
  long_flow_alert: 'high',
  water_presence_detected: 'high',
  pressure_test_failed: 'high',
  legionella_high_risk: 'high',
  battery_too_low_to_move_handle: 'high',
  radio_disconnection: 'medium',
  cloud_disconnection: 'medium',
  health_check_failed: 'medium',
  device_handle_moved: 'medium',
  legionella_risk: 'medium',
};

const snoozeMs = 24 * 60 * 60 * 1_000;

/** How serious an incident of a type is unless something else is known. */
export function usualSeverity(type: string): string {
  return severityOf[type] ?? 'low';
}

/** An incident is open and somebody is being told, or it is resolved; what it can be told follows from that. */
export const open = {
  open: true,
  state: 'contacting',
  possible_actions: ['resolve', 'dismiss', 'snooze'],
} as const;
export const resolved = { open: false, state: 'resolved', possible_actions: ['reopen'] } as const;

/** What changes when a user tells an incident to do something; null if it does not offer that. */
export function afterAction(incident: Incident, action: string, now: number): Partial<Incident> | null {
  if (!incident.possible_actions.includes(action)) return null;
  if (action === 'reopen') return open;
  if (action !== 'snooze') return resolved;
  const snoozed = { snoozed_until: new Date(now + snoozeMs).toISOString() };
  return {
    ...snoozed,
    // It is not offered the same nap again.
    possible_actions: incident.possible_actions.filter((each) => each !== 'snooze'),
  };
}
