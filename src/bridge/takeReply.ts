import type { Call, RecordOf } from '../cloud/operations.ts';
import type { Happening, Store } from './store.ts';

/**
 * Takes in the answer to a change, heard at that time in ms of the monotonic clock: it is newer than any list that was
 * begun before, and some of what it says no list shows.
 */
export function takeReply(store: Store, call: Call, reply: unknown, now: number): readonly Happening[] {
  if (reply === null) return [];
  switch (call.operation) {
    case 'act_on_incident': {
      const incident = reply as RecordOf<typeof call.operation>;
      return store.setIncident(call.params.incident_id, incident, now);
    }
    case 'update_property':
    case 'patch_property':
      store.setProperty(call.params.property_id, reply as RecordOf<typeof call.operation>, now);
      break;
    case 'update_signal':
    case 'patch_signal':
      store.setSignal(call.params.signal_id, reply as RecordOf<typeof call.operation>, now);
      break;
    case 'update_sonic':
    case 'patch_sonic':
    case 'update_wifi_sonic':
    case 'patch_wifi_sonic':
      store.setChangedSonic(call.params.sonic_id, reply as RecordOf<typeof call.operation>, now);
      break;
    case 'start_pressure_test': {
      const { job_id: jobId } = reply as RecordOf<typeof call.operation>;
      if (jobId !== null) store.notePressureTestJob(call.params.thing_id, jobId);
      break;
    }
    case 'update_notification_settings':
      store.setNotifications(call.params.property_id, reply as RecordOf<typeof call.operation>, now);
      break;
    case 'update_property_settings': {
      const { property_id: id } = call.params;
      store.setSettings(id, reply as RecordOf<typeof call.operation>, now);
      const { webhook_url } = call.body;
      // Whether readings will show it is not known yet.
      if (webhook_url !== undefined) store.noteAcceptedSettings(id, { webhook_url });
      break;
    }
    case 'update_property_configuration': {
      const { leak_protection_enabled: answered } = reply as RecordOf<typeof call.operation>;
      const leak_protection_enabled = answered ?? call.body.leak_protection_enabled;
      if (leak_protection_enabled !== undefined) {
        store.noteAcceptedSettings(call.params.property_id, { leak_protection_enabled });
      }
      break;
    }
    case 'update_customer_notifications': {
      const { push_enabled: answered } = reply as RecordOf<typeof call.operation>;
      const push_enabled = answered ?? call.body.push_enabled;
      if (push_enabled !== undefined) store.noteAcceptedSettings(call.params.property_id, { push_enabled });
    }
  }
  return [];
}
