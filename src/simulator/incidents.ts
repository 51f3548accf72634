import { dayMs } from '../base/duration.ts';
import type { Incident, IncidentType } from '../model/records.ts';

/** The device of a new incident: a sonic (by default the first one), or only a signal. */
export interface IncidentCause {
  readonly type: IncidentType | (string & {});
  readonly sonicId?: string;
  readonly signalId?: string;
  readonly severity?: string;
}

export type WebhookEventName = 'incident.created' | 'incident.closed';

/** The types of incidents during which water runs all the time. */
export const leakTypes: readonly string[] = ['high_volume_alert', 'long_flow_alert'];

const highTypes: readonly string[] = [
  ...['high_volume_alert', 'long_flow_alert', 'water_presence_detected', 'pressure_test_failed'],
  ...['legionella_high_risk', 'battery_too_low_to_move_handle'],
];
const mediumTypes: readonly string[] = [
  ...['radio_disconnection', 'cloud_disconnection', 'health_check_failed', 'device_handle_moved'],
  'legionella_risk',
];

export function usualSeverity(type: string): string {
  if (highTypes.includes(type)) return 'high';
  return mediumTypes.includes(type) ? 'medium' : 'low';
}

export const open = {
  open: true,
  state: 'contacting',
  possible_actions: ['resolve', 'dismiss', 'snooze'],
} as const;
export const resolved = { open: false, state: 'resolved', possible_actions: ['reopen'] } as const;

/** The fields that a user's action changes; null if the incident does not offer the action. */
export function afterAction(incident: Incident, action: string, now: number): Partial<Incident> | null {
  const { possible_actions } = incident;
  if (!possible_actions.includes(action)) return null;
  if (action === 'reopen') return open;
  if (action !== 'snooze') return resolved;
  return {
    ...{ snoozed_until: new Date(now + dayMs).toISOString() },
    // A snoozed incident cannot be snoozed again.
    possible_actions: possible_actions.filter((each) => each !== 'snooze'),
  };
}
