// Tables of what Home Assistant accepts by MQTT discovery, from 2024.12 on. It silently drops unknown keys of
// a component, and an error at the root loses the whole device. Keys newer than 2025.10 are left out on
// purpose. The exception is visible_by_default, which older versions drop without harm.

type Check = (value: unknown) => boolean;
/** The check for the value of each key. */
export type Fields = Readonly<Record<string, Check>>;
export type Values = Readonly<Record<string, unknown>>;

const text: Check = (value) => typeof value === 'string' && value !== '' && !/\p{Cs}/u.test(value);
const nullOr =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const oneOf =
  (...words: readonly unknown[]): Check =>
  (value) =>
    words.includes(value);
const flag = oneOf(true, false);
const wholeNumber: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const finite: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const topic: Check = (value) =>
  text(value) && !/[~#+\0\s]/.test(String(value)) && String(value).includes('/');
const template: Check = (value) => text(value) && /^\{\{ .+ \}\}$/.test(String(value));
const url: Check = (value) => text(value) && /^https?:\/\/[^/\s]+/.test(String(value));
const icon: Check = (value) => /^mdi:[a-z0-9-]+$/.test(String(value));
// An unknown text is shown as empty, so a pattern must match the empty text.
const pattern: Check = (value) => text(value) && isMatch(String(value), '');
const texts: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(text) && hasNoDuplicates(value);
const identifiers: Check = (value) => text(value) || texts(value);

export const hasNoDuplicates = (values: readonly unknown[]): boolean =>
  new Set(values).size === values.length;

/** Whether it is a JSON object. */
export function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMatch(source: string, word: string): boolean {
  try {
    return new RegExp(source, 'u').test(word);
  } catch {
    return false;
  }
}

const availabilityFields: Fields = {
  availability: (value) => Array.isArray(value) && value.length > 0,
  availability_topic: topic,
  availability_mode: oneOf('all'),
  availability_template: template,
  payload_available: text,
  payload_not_available: text,
};
/** The keys of an entry of an `availability` list. */
export const availabilityEntryFields: Fields = {
  topic,
  payload_available: text,
  payload_not_available: text,
  value_template: template,
};

/** The keys at the root of a device's message. Any other key loses the whole device. */
export const rootFields: Fields = {
  device: isObject,
  origin: isObject,
  components: isObject,
  ...availabilityFields,
  state_topic: topic,
  command_topic: topic,
};

/** The keys of `device`. Null is never accepted. */
export const deviceFields: Fields = {
  identifiers,
  connections: Array.isArray,
  name: text,
  manufacturer: text,
  model: text,
  model_id: text,
  hw_version: text,
  sw_version: text,
  serial_number: text,
  configuration_url: url,
  suggested_area: text,
  via_device: text,
};

/** The keys of `origin`. */
export const originFields: Fields = { name: text, sw_version: text, support_url: url };

/** The keys that every component may have. */
export const commonFields: Fields = {
  platform: text,
  unique_id: (value) => text(value) && /^[A-Za-z0-9_-]+$/.test(String(value)),
  name: nullOr(text),
  default_entity_id: text,
  entity_category: oneOf('config', 'diagnostic'),
  enabled_by_default: flag,
  visible_by_default: flag,
  icon,
  entity_picture: url,
  json_attributes_topic: topic,
  json_attributes_template: template,
  ...availabilityFields,
  qos: oneOf(0, 1, 2),
  encoding: oneOf('utf-8'),
};
const readFields: Fields = { state_topic: topic, value_template: template };
// A retained command would be carried out again after each connection.
const writeFields: Fields = { command_topic: topic, command_template: template, retain: oneOf(false) };
const writtenFields: Fields = { ...readFields, ...writeFields, optimistic: flag };

/** The units and state classes of each device class of a sensor. A sensor without a number has neither. */
export const sensorClasses: Readonly<
  Record<string, { units: readonly string[]; states: readonly string[] }>
> = {
  water: { units: ['L', 'm³', 'gal', 'ft³', 'CCF'], states: ['total', 'total_increasing'] },
  volume: {
    units: ['L', 'mL', 'm³', 'gal', 'fl. oz.', 'ft³', 'CCF'],
    states: ['total', 'total_increasing'],
  },
  volume_storage: { units: ['L', 'mL', 'm³', 'gal', 'fl. oz.', 'ft³', 'CCF'], states: ['measurement'] },
  volume_flow_rate: {
    units: ['L/min', 'L/h', 'L/s', 'mL/s', 'm³/h', 'm³/min', 'm³/s', 'ft³/min', 'gal/min'],
    states: ['measurement'],
  },
  pressure: {
    units: ['bar', 'mbar', 'cbar', 'Pa', 'hPa', 'kPa', 'psi', 'mmHg', 'inHg'],
    states: ['measurement'],
  },
  temperature: { units: ['°C', '°F', 'K'], states: ['measurement'] },
  humidity: { units: ['%'], states: ['measurement'] },
  battery: { units: ['%'], states: ['measurement'] },
  signal_strength: { units: ['dB', 'dBm'], states: ['measurement'] },
  duration: {
    units: ['d', 'h', 'min', 's', 'ms', 'μs'],
    states: ['measurement', 'total', 'total_increasing'],
  },
  distance: {
    units: ['km', 'm', 'cm', 'mm', 'mi', 'nmi', 'yd', 'in'],
    states: ['measurement', 'total', 'total_increasing'],
  },
  current: { units: ['A', 'mA'], states: ['measurement'] },
  power: { units: ['mW', 'W', 'kW', 'MW', 'GW', 'TW'], states: ['measurement'] },
  frequency: { units: ['Hz', 'kHz', 'MHz', 'GHz'], states: ['measurement'] },
  voltage: { units: ['V', 'mV', 'μV', 'kV', 'MV'], states: ['measurement'] },
  timestamp: { units: [], states: [] },
  date: { units: [], states: [] },
  enum: { units: [], states: [] },
};

const binarySensorClasses = [
  ...['battery', 'battery_charging', 'carbon_monoxide', 'cold', 'connectivity', 'door', 'garage_door'],
  ...['gas', 'heat', 'light', 'lock', 'moisture', 'motion', 'moving', 'occupancy', 'opening', 'plug'],
  ...['power', 'presence', 'problem', 'running', 'safety', 'smoke', 'sound', 'tamper', 'update'],
  ...['vibration', 'window'],
];

/** The keys of a platform besides the common ones, and the keys that it requires. */
export interface Platform {
  readonly required: readonly string[];
  readonly fields: Fields;
}

/** The platforms by name. An unknown platform loses the whole device. */
export const platforms: Readonly<Record<string, Platform>> = {
  valve: {
    // Without a command topic, it only shows where it stands.
    required: ['state_topic'],
    fields: {
      ...writtenFields,
      device_class: oneOf('water', 'gas', null),
      payload_open: nullOr(text),
      payload_close: nullOr(text),
      payload_stop: nullOr(text),
      state_open: text,
      state_opening: text,
      state_closed: text,
      state_closing: text,
      // With positions, a valve that stops half-way would stay "opening" forever.
      reports_position: oneOf(false),
    },
  },
  sensor: {
    required: ['state_topic'],
    fields: {
      ...readFields,
      device_class: oneOf(...Object.keys(sensorClasses), null),
      state_class: oneOf('measurement', 'total', 'total_increasing', null),
      unit_of_measurement: nullOr(text),
      options: texts,
      last_reset_value_template: template,
      force_update: flag,
      suggested_display_precision: wholeNumber,
    },
  },
  binary_sensor: {
    required: ['state_topic'],
    fields: {
      ...readFields,
      device_class: oneOf(...binarySensorClasses, null),
      payload_on: text,
      payload_off: text,
      off_delay: wholeNumber,
      force_update: flag,
    },
  },
  event: {
    required: ['state_topic', 'event_types'],
    fields: { ...readFields, event_types: texts, device_class: oneOf('button', 'doorbell', 'motion') },
  },
  button: {
    required: ['command_topic'],
    fields: {
      ...writeFields,
      payload_press: text,
      device_class: oneOf('identify', 'restart', 'update', null),
    },
  },
  switch: {
    required: ['command_topic', 'state_topic'],
    fields: {
      ...writtenFields,
      payload_on: text,
      payload_off: text,
      state_on: text,
      state_off: text,
      device_class: oneOf('outlet', 'switch', null),
    },
  },
  number: {
    required: ['command_topic', 'state_topic', 'min', 'max', 'step'],
    fields: {
      ...writtenFields,
      min: finite,
      max: finite,
      step: (value) => finite(value) && Number(value) >= 0.001,
      mode: oneOf('auto', 'box', 'slider'),
      unit_of_measurement: nullOr(text),
      device_class: oneOf(...Object.keys(sensorClasses), null),
      payload_reset: text,
    },
  },
  select: {
    required: ['command_topic', 'state_topic', 'options'],
    fields: { ...writtenFields, options: texts },
  },
  text: {
    required: ['command_topic', 'state_topic'],
    fields: {
      ...writtenFields,
      min: oneOf(0),
      max: (value) => wholeNumber(value) && Number(value) <= 255,
      mode: oneOf('text', 'password'),
      pattern,
    },
  },
};

const sharedKeys = [...Object.keys(availabilityFields), 'state_topic', 'command_topic'];

/**
 * A component with the fields that it inherits from the root of its message: those that it lacks and its
 * platform knows.
 */
export function withRoot(root: Values, component: Values): Values {
  const name = String(component['platform']);
  const own = (Object.hasOwn(platforms, name) && platforms[name]?.fields) || {};
  const taken = sharedKeys.filter((key) => key in root && (key in commonFields || key in own));
  return { ...Object.fromEntries(taken.map((key) => [key, root[key]])), ...component };
}

/** The names that Home Assistant silently drops from an entity's attributes. */
export const blockedAttributes: readonly string[] = [
  ...['assumed_state', 'available', 'device_class', 'device_info', 'entity_category', 'entity_id'],
  ...['entity_picture', 'entity_registry_enabled_default', 'extra_state_attributes', 'force_update'],
  ...['friendly_name', 'group_entities', 'icon', 'should_poll', 'state', 'supported_features', 'unique_id'],
  'unit_of_measurement',
];

/** Home Assistant accepts larger messages, but brokers may not. */
export const largestPayloadBytes = 64 * 1_024;
