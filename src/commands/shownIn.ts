import type { ChangeName, OperationName } from '../cloud/operations.ts';
import type { Slice } from '../polling/slices.ts';
import type { ValveCall } from './valveCall.ts';

type ValveName = ValveCall['operation'];

/** What shows the effect of each change; null for what no poll shows, and for valves, which their confirmations read. */
const shownIn: Readonly<Record<Exclude<ChangeName, ValveName>, Slice | null>> = {
  act_on_incident: 'incidents',
  act_on_property_incident: 'incidents',
  update_property: 'properties',
  patch_property: 'properties',
  update_notification_settings: 'properties',
  update_property_settings: 'properties',
  update_signal: 'signals',
  patch_signal: 'signals',
  update_sonic: 'sonics',
  patch_sonic: 'sonics',
  update_wifi_sonic: 'sonics',
  patch_wifi_sonic: 'sonics',
  create_property: 'properties',
  update_customer_property: 'properties',
  update_property_configuration: 'properties',
  update_user: null,
  create_invitation: null,
  update_customer_notifications: 'properties',
  // A test shows as the state of the valve.
  start_pressure_test: 'sonics',
};

/** The slice that shows what an operation has changed; null where none does. */
export function sliceShowing(name: OperationName): Slice | null {
  return Object.hasOwn(shownIn, name) ? shownIn[name as keyof typeof shownIn] : null;
}
