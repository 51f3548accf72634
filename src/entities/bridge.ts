import { type BridgeView, healthStatuses } from '../model/devices.ts';
import { hasOpen } from '../model/incidents.ts';
import { newestAttributes } from './incidents.ts';
import { type EntityRow, rare, rowsFor } from './row.ts';

export const settableLogLevels = ['debug', 'info', 'warn', 'error'] as const;

const { sensor, binarySensor, button, select } = rowsFor<BridgeView>('bridge');

/** THE TABLE of the bridge's own entities. */
export const bridgeEntities: readonly EntityRow<BridgeView>[] = [
  binarySensor({
    key: 'cloud',
    name: 'Connection to cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: (view) => view.isCloudFresh,
  }),
  sensor({
    key: 'status',
    name: 'Health',
    category: 'diagnostic',
    icon: 'mdi:heart-pulse',
    deviceClass: 'enum',
    options: healthStatuses,
    isInWords: true,
    value: (view) => view.status,
    attributes: {
      path: 'health',
      expression:
        "{'code': value_json.status, 'reason': value_json.reason, 'schedules': value_json.schedules}",
    },
  }),
  binarySensor({
    // The alerts that no property shows. A leak at an unknown place must not look like no leak.
    key: 'unassigned_incidents',
    name: 'Unassigned alerts',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
    attributes: newestAttributes,
  }),
  button({
    key: 'refresh',
    name: 'Refresh',
    category: 'diagnostic',
    icon: 'mdi:refresh',
    command: { path: 'refresh', operation: null, action: () => ({ kind: 'refresh' }) },
  }),
  select({
    key: 'log_level',
    name: 'Log level',
    category: 'config',
    icon: 'mdi:text-box-outline',
    options: settableLogLevels,
    value: (view) => settableLogLevels.find((level) => level === view.logLevel) ?? 'debug',
    command: {
      path: 'log_level/set',
      operation: null,
      action: (_view, level) => ({ kind: 'set_log_level', level }),
    },
  }),
  sensor({
    ...rare,
    key: 'last_update',
    name: 'Last update',
    deviceClass: 'timestamp',
    value: (view) => view.lastUpdate,
  }),
  sensor({
    ...rare,
    key: 'requests_last_hour',
    name: 'Requests in the last hour',
    icon: 'mdi:counter',
    stateClass: 'measurement',
    value: (view) => view.requestsLastHour,
  }),
  sensor({
    key: 'version',
    name: 'Version',
    category: 'diagnostic',
    icon: 'mdi:tag-outline',
    value: (view) => view.version,
  }),
  sensor({
    ...rare,
    key: 'appliance_categories',
    name: 'Appliance categories',
    icon: 'mdi:washing-machine',
    stateClass: 'measurement',
    exists: ({ applianceCategories }) => applianceCategories !== null,
    value: ({ applianceCategories }) => applianceCategories?.length ?? null,
    attributes: { path: 'info', expression: "{'categories': value_json.appliance_categories}" },
  }),
];
