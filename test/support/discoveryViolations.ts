import {
  availabilityEntryFields,
  commonFields,
  deviceFields,
  type Fields,
  hasNoDuplicates,
  isObject,
  largestPayloadBytes,
  originFields,
  platforms,
  rootFields,
  sensorClasses,
  type Values,
  withRoot,
} from './homeAssistantRules.ts';

/** Lists each rule of Home Assistant that a device's discovery message breaks. */
export function discoveryViolations(configTopic: string, payload: string): string[] {
  const found: string[] = [];
  if (!/^[^~#+\s]+\/device\/[A-Za-z0-9_-]+\/config$/.test(configTopic)) {
    found.push(`${configTopic} is no discovery topic`);
  }
  const bytes = Buffer.byteLength(payload);
  if (bytes >= largestPayloadBytes) found.push(`the payload has ${bytes} bytes`);
  const root: unknown = JSON.parse(payload);
  if (!isObject(root)) return [...found, 'the payload is no object'];
  const { device, origin, components } = root;
  found.push(...fieldViolations('', root, rootFields, ['device', 'origin', 'components']));
  found.push(...availabilityViolations('', root));
  if (isObject(origin)) found.push(...fieldViolations('origin.', origin, originFields, ['name']));
  if (isObject(device)) {
    found.push(...fieldViolations('device.', device, deviceFields, ['identifiers', 'name']));
    if (device['via_device'] !== undefined && [device['identifiers']].flat().includes(device['via_device'])) {
      found.push('device.via_device is the device itself');
    }
  }
  if (!isObject(components)) return found;
  for (const [id, component] of Object.entries(components)) {
    if (!/^[a-z0-9_-]+$/.test(id)) found.push(`components.${id} is no component id`);
    if (isObject(component))
      found.push(...componentViolations(id, isStub(component) ? component : withRoot(root, component), root));
    else found.push(`components.${id} is no object`);
  }
  return found;
}

/** A component that the device lacks. */
const isStub = (component: Values) => Object.keys(component).length === 1;

function componentViolations(id: string, component: Values, root: Values): string[] {
  const at = `${id}.`;
  const name = String(component['platform']);
  const platform = Object.hasOwn(platforms, name) ? platforms[name] : undefined;
  if (!platform) return [`${at}platform: ${name} is no platform`];
  const fields = { ...commonFields, ...platform.fields };
  const required = isStub(component) ? ['platform'] : ['platform', 'unique_id', 'name', ...platform.required];
  const found = fieldViolations(at, component, fields, required);
  const fail = (isBroken: boolean, rule: string) => {
    if (isBroken) found.push(`${id}: ${rule}`);
  };
  fail(!id.startsWith(`${name}_`), 'the component id does not start with the platform');
  const entityId = component['default_entity_id'];
  fail(
    entityId !== undefined && !String(entityId).startsWith(`${name}.`),
    'default_entity_id lacks the domain',
  );
  const isRead = name === 'sensor' || name === 'binary_sensor';
  fail(isRead && component['entity_category'] === 'config', 'a sensor is never config');
  const isIdentify = name === 'button' && component['device_class'] === 'identify';
  fail(isIdentify && component['entity_category'] !== 'diagnostic', 'an identify button must be diagnostic');
  fail(
    'availability_topic' in component && 'availability' in root,
    'availability_topic does not go with the availability of the root',
  );
  found.push(...availabilityViolations(at, component));
  fail(
    (component['availability'] ?? component['availability_topic']) !== undefined &&
      component['availability_mode'] !== 'all',
    'availability_mode must be all',
  );
  if (name === 'sensor' || name === 'number')
    for (const rule of numberViolations(component)) fail(true, rule);
  fail(Number(component['min']) > Number(component['max']), 'min is above max');
  return found;
}

function numberViolations(component: Values): string[] {
  const found: string[] = [];
  const { device_class: deviceClass, state_class: state, unit_of_measurement: unit, options } = component;
  const words = typeof deviceClass === 'string' ? sensorClasses[deviceClass] : undefined;
  if (words) {
    const isUnitTaken = words.units.length === 0 ? !unit : words.units.includes(String(unit));
    if (!isUnitTaken) found.push(`${deviceClass} does not take the unit ${unit}`);
    if (state && !words.states.includes(String(state))) found.push(`${deviceClass} does not take ${state}`);
  }
  if (options !== undefined && deviceClass !== 'enum') found.push('options without the class enum');
  if (deviceClass === 'enum' && options === undefined) found.push('the class enum without options');
  if (component['last_reset_value_template'] !== undefined && state !== 'total') {
    found.push('last_reset_value_template goes with total only');
  }
  const isNumber = Boolean(unit || state);
  if (component['suggested_display_precision'] !== undefined && !isNumber) {
    found.push('a precision without a unit or a state class');
  }
  return found;
}

function availabilityViolations(at: string, values: Values): string[] {
  const list = values['availability'];
  if (!Array.isArray(list)) return [];
  const found = list.flatMap((entry, index) =>
    isObject(entry)
      ? fieldViolations(`${at}availability.${index}.`, entry, availabilityEntryFields, ['topic'])
      : [`${at}availability.${index} is no object`],
  );
  const named = list.map((entry) => (isObject(entry) ? entry['topic'] : entry));
  if (!hasNoDuplicates(named)) found.push(`${at}availability names a topic twice: only the last would count`);
  if ('availability_topic' in values)
    found.push(`${at}availability and availability_topic exclude each other`);
  if (list.length > 1 && at === '' && values['availability_mode'] !== 'all') {
    found.push('availability_mode must be all');
  }
  return found;
}

function fieldViolations(at: string, values: Values, fields: Fields, required: readonly string[]): string[] {
  const missing = required.filter((key) => !(key in values)).map((key) => `${at}${key} is missing`);
  const wrong = Object.entries(values).flatMap(([key, value]) => {
    const check = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!check) return [`${at}${key} is not among the keys`];
    return check(value) ? [] : [`${at}${key}: ${JSON.stringify(value)} is not taken`];
  });
  return [...missing, ...wrong];
}
