import type { PropertyView } from '../model/devices.ts';
import { hasOpen, highestSeverity } from '../model/incidents.ts';
import { severities } from '../model/records.ts';
import { summaryOf } from './headlineFacts.ts';
import { newestAttributes, openIncidents, resolveIncidents } from './incidents.ts';
import { notificationEntities } from './notifications.ts';
import { pauseEntities } from './pause.ts';
import { type EntityRow, rare, rowsFor } from './row.ts';
import { settingEntities } from './settings.ts';

const { sensor, binarySensor } = rowsFor<PropertyView>('cloud');

/** THE TABLE of a property's entities. */
export const propertyEntities: readonly EntityRow<PropertyView>[] = [
  sensor({
    key: 'summary',
    name: 'Summary',
    icon: 'mdi:text-box-check-outline',
    sentences: summaryOf,
  }),
  binarySensor({
    key: 'problem',
    name: 'Water problem',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
  }),
  { ...openIncidents, attributes: newestAttributes },
  sensor({
    ...rare,
    key: 'highest_severity',
    name: 'Highest severity',
    icon: 'mdi:alert-outline',
    deviceClass: 'enum',
    options: ['none', ...severities],
    value: highestSeverity,
  }),
  resolveIncidents,
  ...settingEntities,
  ...pauseEntities,
  ...notificationEntities,
  sensor({
    ...rare,
    key: 'address',
    name: 'Address',
    icon: 'mdi:map-marker',
    value: ({ property: { address, postcode, city }, isStale }) =>
      isStale ? null : [address, postcode, city].filter((part) => part).join(', ') || null,
  }),
];
