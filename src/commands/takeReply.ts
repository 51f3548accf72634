import type { Call, RecordOf } from '../cloud/operations.ts';
import type { Happening, Store } from '../store/store.ts';

/**
 * Takes in the answer to a change, heard at that time in ms of the monotonic clock: it is newer than any list that was
 * begun before, and some of what it says no list shows. Null, the cloud said no more than that it is done.
 */
export function takeReply(store: Store, call: Call, reply: unknown, now: number): readonly Happening[] {
  noteAccepted(store, call, reply);
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
    case 'update_property_settings':
      store.setSettings(call.params.property_id, reply as RecordOf<typeof call.operation>, now);
  }
  return [];
}

/** What no reading may show is as it was asked for, unless the answer says otherwise. */
function noteAccepted(store: Store, call: Call, reply: unknown): void {
  switch (call.operation) {
    case 'update_property_settings': {
      const { webhook_url } = call.body;
      if (webhook_url !== undefined) store.noteAcceptedSettings(call.params.property_id, { webhook_url });
      break;
    }
    case 'update_property_configuration': {
      const answered = reply as RecordOf<typeof call.operation> | null;
      const leak_protection_enabled = answered?.leak_protection_enabled ?? call.body.leak_protection_enabled;
      store.noteAcceptedSettings(call.params.property_id, { leak_protection_enabled });
      break;
    }
    case 'update_customer_notifications': {
      const answered = reply as RecordOf<typeof call.operation> | null;
      const push_enabled = answered?.push_enabled ?? call.body.push_enabled;
      store.noteAcceptedSettings(call.params.property_id, { push_enabled });
    }
  }
}
