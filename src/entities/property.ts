import type { PropertyView } from '../model/devices.ts';
import { hasOpen, highestSeverity } from '../model/incidents.ts';
import { severities } from '../model/records.ts';
import { summaryOf } from './headlineFacts.ts';
import { newestAttributes, openIncidents, resolveIncidents } from './incidents.ts';
import { notificationEntities } from './notifications.ts';
import { pauseEntities } from './pause.ts';
import type { EntityRow } from './row.ts';
import { settingEntities } from './settings.ts';

/** THE TABLE of a property's entities. */
export const propertyEntities: readonly EntityRow<PropertyView>[] = [
  {
    component: 'sensor',
    key: 'summary',
    name: 'Summary',
    needs: 'cloud',
    icon: 'mdi:text-box-check-outline',
    sentences: summaryOf,
  },
  {
    component: 'binary_sensor',
    key: 'problem',
    name: 'Water problem',
    needs: 'cloud',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
  },
  { ...openIncidents, attributes: newestAttributes },
  {
    component: 'sensor',
    key: 'highest_severity',
    name: 'Highest severity',
    needs: 'cloud',
    category: 'diagnostic',
    icon: 'mdi:alert-outline',
    isDisabledByDefault: true,
    deviceClass: 'enum',
    options: ['none', ...severities],
    value: highestSeverity,
  },
  resolveIncidents,
  ...settingEntities,
  ...pauseEntities,
  ...notificationEntities,
  {
    component: 'sensor',
    key: 'address',
    name: 'Address',
    needs: 'cloud',
    category: 'diagnostic',
    icon: 'mdi:map-marker',
    isDisabledByDefault: true,
    value: ({ property: { address, postcode, city }, isStale }) =>
      isStale ? null : [address, postcode, city].filter((part) => part).join(', ') || null,
  },
];
