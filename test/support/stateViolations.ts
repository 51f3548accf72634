import { parseCachedJson } from './cachedJson.ts';
import { blockedAttributes, isObject, type Values } from './homeAssistantRules.ts';

/** The longest state that Home Assistant accepts. */
const longestState = 255;

// Jinja finds a method of a dict before an item with the same name.
const pythonMethods = ['clear', 'copy', 'get', 'items', 'keys', 'pop', 'popitem', 'update', 'values'];
const pythonName = /^[a-z_][a-z0-9_]*$/;

/** Lists what is wrong with the state that a component reads from the retained messages. */
export function stateViolations(
  id: string,
  component: Values,
  retained: ReadonlyMap<string, string>,
): string[] {
  const { platform, state_topic: topic, value_template: template } = component;
  if (topic === undefined) return [];
  const payload = retained.get(String(topic));
  if (platform === 'event') {
    // Home Assistant ignores retained events.
    return payload === undefined ? [] : [`${id}: the event's topic is retained`];
  }
  if (payload === undefined) return [`${id}: nothing is published at ${topic}`];
  const key = /^\{\{ value_json\.(\w+) \}\}$/.exec(String(template))?.[1];
  if (key === undefined) return [`${id}: the template ${template} is not {{ value_json.KEY }}`];
  try {
    const document = parseCachedJson(payload);
    const value = member(document, key);
    const wrong = wordViolation(component, value);
    const reset = resetViolation(component, value, document);
    return [
      ...(wrong === null ? [] : [`${id}: ${JSON.stringify(value)} ${wrong}`]),
      ...(reset === null ? [] : [`${id}: ${reset}`]),
    ];
  } catch (error) {
    return [`${id}: ${error instanceof Error ? error.message : error}`];
  }
}

/** An empty time of the last reset is ignored. A number that counts from a reset must have that time. */
function resetViolation(
  { last_reset_value_template: template }: Values,
  value: unknown,
  document: unknown,
): string | null {
  if (template === undefined) return null;
  const key = /^\{\{ value_json\.(\w+) \}\}$/.exec(String(template))?.[1];
  if (key === undefined) return `the template ${template} is not {{ value_json.KEY }}`;
  const reset = member(document, key);
  if (reset === '') return value === null ? null : 'it has a number and no last reset';
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([+-]\d\d:\d\d|Z)$/.test(String(reset));
  return isTime && !Number.isNaN(Date.parse(String(reset)))
    ? null
    : `its last reset is ${JSON.stringify(reset)}`;
}

/** Why Home Assistant rejects a value as the component's state. Null if it accepts it. */
export function wordViolation(component: Values, value: unknown): string | null {
  if (component['platform'] === 'text') return textViolation(component, value);
  if (value === null) return null;
  if (typeof value === 'string' && /\p{Cs}/u.test(value))
    return 'is broken Unicode, which fails the document';
  if (typeof value === 'boolean' || typeof value === 'object') return 'is no word and no number';
  const { platform, options, device_class: deviceClass } = component;
  const amongOptions = Array.isArray(options) && options.includes(value) ? null : 'is not among the options';
  switch (platform) {
    case 'binary_sensor':
    case 'switch':
      return value === 'ON' || value === 'OFF' ? null : 'is neither ON nor OFF';
    case 'valve':
      return ['open', 'opening', 'closed', 'closing'].includes(String(value))
        ? null
        : 'is no state of a valve';
    case 'select':
      return amongOptions;
    case 'number':
      return isNumberWithin(value, Number(component['min']), Number(component['max']))
        ? null
        : 'is out of range';
  }
  if (deviceClass === 'enum') return amongOptions;
  if (deviceClass === 'date') return isDate(value) ? null : 'is no date';
  if (deviceClass === 'timestamp') return isTimestamp(value) ? null : 'is no ISO 8601 time in UTC';
  const numeric = ['unit_of_measurement', 'state_class', 'suggested_display_precision'];
  if (numeric.some((key) => component[key] !== undefined)) {
    return isNumberWithin(value, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
      ? null
      : 'is no finite number';
  }
  if (typeof value !== 'string') return 'is no text';
  return value.length > longestState || value === '' ? `has ${value.length} characters` : null;
}

/** A text outside its limits is an error inside Home Assistant, and a text has no "unknown". */
function textViolation({ min, max, pattern }: Values, value: unknown): string | null {
  if (value === null) return 'is the word None for a text';
  if (typeof value !== 'string' || /\p{Cs}/u.test(value)) return 'is no text';
  const { length } = [...value];
  if (length < Number(min ?? 0) || length > Number(max ?? longestState)) return `has ${length} characters`;
  const isTaken = pattern === undefined || new RegExp(String(pattern), 'u').test(value);
  return isTaken ? null : 'does not match the pattern';
}

function isNumberWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= least && value <= most;
}

function isDate(value: unknown): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(String(value)) && !Number.isNaN(Date.parse(String(value)));
}

function isTimestamp(value: unknown): boolean {
  const text = String(value);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** Lists what is wrong with the attributes that a component reads from the retained messages. */
export function attributeViolations(
  id: string,
  component: Values,
  retained: ReadonlyMap<string, string>,
): string[] {
  const { json_attributes_topic: topic, json_attributes_template: template } = component;
  if (topic === undefined) return [];
  const payload = retained.get(String(topic));
  if (payload === undefined) return [`${id}: no attributes are published at ${topic}`];
  const expression = /^\{\{ \((.+)\) \| tojson \}\}$/.exec(String(template))?.[1];
  if (expression === undefined) return [`${id}: the template ${template} is not {{ (…) | tojson }}`];
  try {
    const attributes = evaluate(expression, parseCachedJson(payload));
    return isObject(attributes) ? [] : [`${id}: ${JSON.stringify(attributes)} is no object`];
  } catch (error) {
    return [`${id}: ${error instanceof Error ? error.message : error}`];
  }
}

/** The attributes of an entity as Home Assistant shows them. */
export function attributesShown(expression: string, document: unknown): Values {
  const attributes = evaluate(expression, document);
  if (!isObject(attributes)) throw new Error(`${JSON.stringify(attributes)} is no object`);
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !blockedAttributes.includes(key)));
}

/**
 * Evaluates the part of Jinja that the templates use: a path, a slice of it, `or {}`, and a dict of these.
 */
function evaluate(expression: string, document: unknown): unknown {
  const dict = /^\{('\w+': .+)\}$/.exec(expression)?.[1];
  if (dict !== undefined) {
    const entries = dict.split(', ').map((entry) => {
      const [, key, value] = /^'(\w+)': (.+)$/.exec(entry) ?? [];
      if (key === undefined || value === undefined) throw new Error(`cannot read ${entry}`);
      return [key, evaluate(value, document)];
    });
    return Object.fromEntries(entries);
  }
  const [, path, most, otherwise] =
    /^value_json((?:\.\w+)*)(?:\[:(\d+)\])?( or \{\})?$/.exec(expression) ?? [];
  if (path === undefined) throw new Error(`cannot read ${expression}`);
  const found = path.split('.').slice(1).reduce(member, document);
  const value = most === undefined ? found : listIn(found).slice(0, Number(most));
  return otherwise === undefined ? value : value || {};
}

/** The value that a template finds under a name. Throws if Home Assistant would warn about a missing key. */
function member(value: unknown, key: string): unknown {
  if (!pythonName.test(key) || pythonMethods.includes(key))
    throw new Error(`${key} cannot be read by a template`);
  if (!isObject(value) || !Object.hasOwn(value, key)) throw new Error(`${key} is missing`);
  return value[key];
}

function listIn(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${JSON.stringify(value)} is no list`);
  return value;
}
