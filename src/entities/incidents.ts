import type { Call } from '../cloud/operations.ts';
import { endingAction, offeredActions } from '../model/incidentActions.ts';
import { hasOpenOf, openCount, typeOf, type WithIncidents } from '../model/incidents.ts';
import type { Incident, IncidentType } from '../model/records.ts';
import type { EntityName } from '../texts/texts.ts';
import { type Attributes, type BinarySensorRow, type Command, type Refusal, rare, rowsFor } from './row.ts';

const { sensor, binarySensor, button } = rowsFor<WithIncidents>('cloud');

type ShownIncident = Pick<BinarySensorRow<unknown>, 'name' | 'deviceClass' | 'icon'>;

/** The types that most people look at. The others also turn on the alert of the valve. */
const everydayTypes: readonly IncidentType[] = [
  'water_presence_detected',
  'long_flow_alert',
  'high_volume_alert',
  'device_handle_moved',
];

// For every type, `on` means open, so that an automation need not know any exceptions.
const shownByType: Readonly<Record<IncidentType, ShownIncident>> = {
  high_volume_alert: { name: 'High water use', deviceClass: 'problem', icon: 'mdi:water-plus' },
  long_flow_alert: { name: 'Water running too long', deviceClass: 'problem', icon: 'mdi:water-sync' },
  device_handle_moved: { name: 'Handle moved', deviceClass: 'tamper' },
  battery_too_low_to_move_handle: {
    name: 'Battery too weak for valve',
    deviceClass: 'problem',
    icon: 'mdi:battery-alert',
  },
  radio_disconnection: {
    name: 'Connection to hub lost',
    deviceClass: 'problem',
    icon: 'mdi:access-point-off',
  },
  cloud_disconnection: {
    name: 'Connection to cloud lost',
    deviceClass: 'problem',
    icon: 'mdi:cloud-off-outline',
  },
  pressure_test_failed: { name: 'Pressure test failed', deviceClass: 'problem', icon: 'mdi:gauge-low' },
  pressure_test_skipped: { name: 'Pressure test skipped', deviceClass: 'problem', icon: 'mdi:gauge-empty' },
  pressure_test_aborted: { name: 'Pressure test aborted', deviceClass: 'problem', icon: 'mdi:gauge-empty' },
  health_check_failed: { name: 'Health check failed', deviceClass: 'problem' },
  // Not the device class battery: Home Assistant shows the sensor of that class as the device's battery, and that is
  // `battery_low`.
  low_battery_level: { name: 'Low battery reported', deviceClass: 'problem', icon: 'mdi:battery-alert' },
  legionella_risk: { name: 'Legionella risk', deviceClass: 'safety', icon: 'mdi:bacteria-outline' },
  legionella_high_risk: { name: 'High legionella risk', deviceClass: 'safety', icon: 'mdi:bacteria' },
  low_water_temperature: { name: 'Low water temperature', deviceClass: 'cold' },
  water_presence_detected: { name: 'Leak', deviceClass: 'moisture' },
  low_temperature: { name: 'Low temperature', deviceClass: 'cold' },
  high_temperature: { name: 'High temperature', deviceClass: 'heat' },
  high_humidity: { name: 'High humidity', deviceClass: 'problem', icon: 'mdi:water-percent-alert' },
  advanced_valve_misalignment: { name: 'Valve misaligned', deviceClass: 'problem', icon: 'mdi:valve' },
  backup_battery_usage: { name: 'Backup battery in use', deviceClass: 'problem', icon: 'mdi:battery-sync' },
};

/** The name of an incident, which is the name of its sensor; null if its type has no sensor. */
export function incidentName(incident: Pick<Incident, 'type'>): EntityName | null {
  const known = typeOf(incident);
  return known === null ? null : shownByType[known].name;
}

/** On while an incident of the type is open, with the newest record as attributes. */
export function incidentSensor(type: IncidentType): BinarySensorRow<WithIncidents> {
  return binarySensor({
    key: `incident_${type}`,
    ...shownByType[type],
    ...(!everydayTypes.includes(type) && rare),
    value: (view) => hasOpenOf(view, type),
    attributes: { path: 'incidents', expression: `value_json.open.${type} or {}` },
  });
}

/** The newest records in the `incidents` document of a property or of the bridge. */
export const newestAttributes: Attributes = {
  path: 'incidents',
  // The recorder refuses attributes above 16 KB. Twenty records stay well below.
  expression: "{'open': value_json.open[:20]}",
};

export const openIncidents = sensor({
  key: 'open_incidents',
  name: 'Open alerts',
  icon: 'mdi:alert-circle-outline',
  stateClass: 'measurement',
  value: openCount,
});

export const incidentCommand: Command<WithIncidents, string> = {
  path: 'incidents/action',
  operation: 'act_on_incident',
  action: actOnAll,
};

function actOnAll(
  { incidents, possibleIncidents, areIncidentsFresh }: WithIncidents,
  action: string,
): readonly Call[] | Refusal {
  const calls = incidents.flatMap((incident): Call[] => {
    const offered = endingAction(incident, action);
    return offered === null ? [] : [actOn(incident.id, offered)];
  });
  if (calls.length > 0) return calls;
  const offered = offeredActions(incidents);
  if (offered.length > 0)
    return { refusal: `no open alert offers this action. Possible actions: ${offered.join(', ')}` };
  if (incidents.length > 0) return { refusal: 'the open alerts offer no action' };
  if (possibleIncidents.length > 0) {
    return {
      refusal: 'the open alert may be at another device. Use its topic incident/{id}/action',
    };
  }
  return {
    refusal: areIncidentsFresh
      ? 'there is no open alert'
      : 'there is no open alert. The cloud was not read completely yet',
  };
}

export function actOn(incidentId: string, action: string): Call<'act_on_incident'> {
  return { operation: 'act_on_incident', params: { incident_id: incidentId }, body: { action } };
}

export const resolveIncidents = button({
  key: 'resolve_incidents',
  name: 'Resolve alerts',
  icon: 'mdi:bell-check',
  payload: 'resolve',
  command: incidentCommand,
});

export const snoozeIncidents = button({
  key: 'snooze_incidents',
  name: 'Snooze alerts',
  icon: 'mdi:bell-sleep',
  payload: 'snooze',
  command: incidentCommand,
});
