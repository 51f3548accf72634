import { type BridgeView, healthStatuses } from '../model/devices.ts';
import { hasOpen } from '../model/incidents.ts';
import { newestAttributes } from './incidents.ts';
import type { EntityRow } from './row.ts';

/** The levels that can be set while the bridge runs. */
export const settableLogLevels = ['debug', 'info', 'warn', 'error'] as const;

/** THE TABLE of the bridge's own entities. */
export const bridgeEntities: readonly EntityRow<BridgeView>[] = [
  {
    component: 'binary_sensor',
    key: 'cloud',
    name: 'Connection to cloud',
    needs: 'bridge',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: (view) => view.isCloudFresh,
  },
  {
    component: 'sensor',
    key: 'status',
    name: 'Health',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:heart-pulse',
    deviceClass: 'enum',
    options: healthStatuses,
    value: (view) => view.status,
    attributes: {
      path: 'health',
      expression: "{'reason': value_json.reason, 'schedules': value_json.schedules}",
    },
  },
  {
    // If an incident names no known device, the alert is shown here. A leak at an unknown place must not look like no
    // leak.
    component: 'binary_sensor',
    key: 'unassigned_incidents',
    name: 'Unassigned alerts',
    needs: 'bridge',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
    attributes: newestAttributes,
  },
  {
    component: 'button',
    key: 'refresh',
    name: 'Refresh',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:refresh',
    command: { path: 'refresh', operation: null, action: () => ({ kind: 'refresh' }) },
  },
  {
    component: 'select',
    key: 'log_level',
    name: 'Log level',
    needs: 'bridge',
    category: 'config',
    icon: 'mdi:text-box-outline',
    options: settableLogLevels,
    value: (view) => settableLogLevels.find((level) => level === view.logLevel) ?? 'debug',
    command: {
      path: 'log_level/set',
      operation: null,
      action: (_view, level) => ({ kind: 'set_log_level', level }),
    },
  },
  {
    component: 'sensor',
    key: 'last_update',
    name: 'Last update',
    needs: 'bridge',
    category: 'diagnostic',
    isDisabledByDefault: true,
    deviceClass: 'timestamp',
    value: (view) => view.lastUpdate,
  },
  {
    component: 'sensor',
    key: 'requests_last_hour',
    name: 'Requests in the last hour',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:counter',
    isDisabledByDefault: true,
    stateClass: 'measurement',
    value: (view) => view.requestsLastHour,
  },
  {
    component: 'sensor',
    key: 'version',
    name: 'Version',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:tag-outline',
    value: (view) => view.version,
  },
  {
    component: 'sensor',
    key: 'appliance_categories',
    name: 'Appliance categories',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:washing-machine',
    isDisabledByDefault: true,
    stateClass: 'measurement',
    exists: ({ applianceCategories }) => applianceCategories !== null,
    value: ({ applianceCategories }) => applianceCategories?.length ?? null,
    attributes: { path: 'info', expression: "{'categories': value_json.appliance_categories}" },
  },
];
