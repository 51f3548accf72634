import { isoFromUnixSeconds } from '../model/calendar.ts';
import { cloudLinkOf, type SignalView } from '../model/devices.ts';
import { incidentSensor, openIncidents } from './incidents.ts';
import { nameText } from './name.ts';
import { type EntityRow, rare, rowsFor } from './row.ts';

const { sensor, binarySensor } = rowsFor<SignalView>('device');

/** THE TABLE of a signal's entities. */
export const signalEntities: readonly EntityRow<SignalView>[] = [
  binarySensor({
    key: 'cloud_connection',
    name: 'Connection to cloud',
    needs: 'cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: cloudLinkOf,
  }),
  openIncidents,
  incidentSensor('cloud_disconnection'),
  nameText('patch_signal', 'device', ({ signal }) => signal.name),
  sensor({
    key: 'wifi_rssi',
    name: 'Wi-Fi signal',
    category: 'diagnostic',
    deviceClass: 'signal_strength',
    unit: 'dBm',
    stateClass: 'measurement',
    value: ({ signal }) => signal.wifi_rssi,
  }),
  sensor({
    ...rare,
    key: 'boot_time',
    name: 'Started',
    deviceClass: 'timestamp',
    value: ({ signal }) => isoFromUnixSeconds(signal.boot_time),
  }),
  sensor({
    ...rare,
    key: 'modem_boot_time',
    name: 'Modem started',
    deviceClass: 'timestamp',
    value: ({ signal }) => isoFromUnixSeconds(signal.modem_boot_time),
  }),
  sensor({
    ...rare,
    key: 'version',
    name: 'Firmware',
    icon: 'mdi:chip',
    value: ({ signal }) => signal.version,
  }),
  sensor({
    ...rare,
    key: 'modem_version',
    name: 'Modem firmware',
    icon: 'mdi:chip',
    value: ({ signal }) => signal.modem_version,
  }),
  sensor({
    ...rare,
    key: 'hub_status',
    name: 'Hub status',
    icon: 'mdi:router-wireless',
    exists: ({ hub }) => hub !== null,
    value: ({ hub }) => hub?.status ?? null,
  }),
];
