import { isoFromUnixSeconds } from '../model/calendar.ts';
import { cloudLinkOf, type SignalView } from '../model/devices.ts';
import { incidentEvent, incidentSensor, openIncidents } from './incidents.ts';
import { nameText } from './name.ts';
import type { EntityRow } from './row.ts';

/** THE TABLE of a signal's entities. */
export const signalEntities: readonly EntityRow<SignalView>[] = [
  {
    component: 'binary_sensor',
    key: 'cloud_connection',
    name: 'Connection to cloud',
    needs: 'cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: cloudLinkOf,
  },
  openIncidents,
  incidentEvent,
  incidentSensor('cloud_disconnection'),
  nameText('patch_signal', 'device', ({ signal }) => signal.name),
  {
    component: 'sensor',
    key: 'wifi_rssi',
    name: 'Wi-Fi signal',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'signal_strength',
    unit: 'dBm',
    stateClass: 'measurement',
    value: ({ signal }) => signal.wifi_rssi,
  },
  {
    component: 'sensor',
    key: 'boot_time',
    name: 'Started',
    needs: 'device',
    category: 'diagnostic',
    isDisabledByDefault: true,
    deviceClass: 'timestamp',
    value: ({ signal }) => isoFromUnixSeconds(signal.boot_time),
  },
  {
    component: 'sensor',
    key: 'modem_boot_time',
    name: 'Modem started',
    needs: 'device',
    category: 'diagnostic',
    isDisabledByDefault: true,
    deviceClass: 'timestamp',
    value: ({ signal }) => isoFromUnixSeconds(signal.modem_boot_time),
  },
  {
    component: 'sensor',
    key: 'version',
    name: 'Firmware',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:chip',
    isDisabledByDefault: true,
    value: ({ signal }) => signal.version,
  },
  {
    component: 'sensor',
    key: 'modem_version',
    name: 'Modem firmware',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:chip',
    isDisabledByDefault: true,
    value: ({ signal }) => signal.modem_version,
  },
  {
    component: 'sensor',
    key: 'hub_status',
    name: 'Hub status',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:router-wireless',
    isDisabledByDefault: true,
    exists: ({ hub }) => hub !== null,
    value: ({ hub }) => hub?.status ?? null,
  },
];
