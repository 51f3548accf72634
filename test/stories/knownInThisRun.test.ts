import { tell } from './words.ts';

// What an earlier run has left on the broker is not the present. It is offline, or unknown, until this run has read it.

const entities: Readonly<Record<string, readonly string[]>> = {
  property: ['binary_sensor_problem', 'sensor_open_incidents', 'switch_auto_shut_off', 'switch_active'],
  signal: ['binary_sensor_cloud_connection', 'sensor_wifi_rssi'],
  sonic: [
    ...['valve_valve', 'binary_sensor_incident_water_presence_detected', 'binary_sensor_radio_connection'],
    ...['sensor_water_today', 'sensor_battery', 'sensor_flow'],
  ],
};

tell(
  import.meta.url,
  {
    /** What stands in documents, but for ids. */
    values: (home, ...paths) =>
      paths.map((path) => {
        const [device = '', ...rest] = path.split('/');
        const id = { property: home.propertyId, sonic: home.sonicId }[device];
        const known = Object.entries(home.json([device, id, ...rest].join('/'))).filter(
          ([key, value]) => value !== null && key !== 'id' && !(Array.isArray(value) && value.length === 0),
        );
        return `${path} has ${known.map(([key]) => key)}`;
      }),
    /** Whether the valve was offline before the bridge was online again. */
    order: ({ messages, sonicId }) => {
      const words = messages.map(({ topic, payload }) => `${topic} ${payload}`);
      const valve = words.lastIndexOf(`sonic2mqtt/sonic/${sonicId}/availability offline`);
      return words.lastIndexOf('sonic2mqtt/bridge/state online') > valve
        ? 'first the valve, then the bridge'
        : 'wrong';
    },
  },
  {
    /** What the log says of devices that are offline. */
    named: ({ lines }) =>
      lines.flatMap(({ text }) => (/: (offline: |online again)/.test(text) ? [text] : [])),
    /** What of the property, its hub and its valve is shown as the present. */
    present: (home) => {
      const ids: Readonly<Record<string, string>> = {
        ...{ property: home.propertyId, signal: home.signalId, sonic: home.sonicId },
      };
      const hidden = Object.entries(ids).flatMap(([device, id]) =>
        (entities[device] ?? []).filter((component) => {
          if (!home.discovery(id)?.components[component]) return true;
          const { isAvailable, state } = home.entity(id, component);
          return !isAvailable || state === null || state === '';
        }),
      );
      return hidden.length === 0
        ? 'all present'
        : `not present: ${hidden.length === 12 ? 'any' : hidden.join(' ')}`;
    },
  },
);
