import { parse } from 'yaml';
import { didYouMean, nearest } from '../base/nearest.ts';
import { type OptionRow, optionRows } from './schema.ts';

const prefix = 'SONIC2MQTT_';

/** The variable that names the configuration file. */
export const fileVariable = `${prefix}CONFIG`;

/** The variable that says where the setup page is served while there is no configuration; `off` for nowhere. */
export const setupVariable = `${prefix}SETUP`;

/** The variable that sets an option. */
export function variableOf(path: string): string {
  return prefix + path.toUpperCase().replaceAll('.', '__');
}

/** One option as the environment sets it. */
export interface Setting {
  readonly variable: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

const rowByVariable = new Map(optionRows.map((row) => [variableOf(row.path), row]));
const mapRows = optionRows.filter((row) => row.type === 'map');

/** What the environment sets, and variables of ours that are no option; an empty variable is not set. */
export function readEnvironment(env: NodeJS.ProcessEnv): { settings: Setting[]; unknown: string[] } {
  const settings: Setting[] = [];
  const unknown: string[] = [];
  // A map comes before its entries, so that both can be given.
  for (const [variable, value] of Object.entries(env).sort()) {
    if (!value || !variable.startsWith(prefix) || [fileVariable, setupVariable].includes(variable)) continue;
    if (isFromKubernetes(variable, value)) continue;
    const setting = readSetting(variable, value);
    if (setting) settings.push(setting);
    else unknown.push(unknownVariable(variable));
  }
  return { settings, unknown };
}

function readSetting(variable: string, value: string): Setting | null {
  const row = rowByVariable.get(variable);
  if (row) return { variable, path: row.path.split('.'), value: readValue(row.type, value) };
  for (const { path } of mapRows) {
    const name = entryName(variable, path);
    if (name) return { variable, path: [...path.split('.'), name], value: value === 'null' ? null : value };
  }
  return null;
}

function entryName(variable: string, path: string): string | null {
  const start = `${variableOf(path)}__`;
  const name = variable.startsWith(start) ? variable.slice(start.length) : '';
  return /^[A-Z][A-Z0-9_]*$/.test(name) ? name.toLowerCase() : null;
}

/** The option's own type decides, so that the password `true` stays a password; what does not fit stays text. */
function readValue(type: OptionRow['type'], written: string): unknown {
  const trimmed = written.trim();
  switch (type) {
    case 'text':
      return written;
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : written;
    case 'boolean':
      return /^(true|false)$/i.test(trimmed) ? trimmed.toLowerCase() === 'true' : written;
    case 'list':
      return trimmed.startsWith('[') ? readFlow(trimmed) : trimmed.split(',').map((item) => item.trim());
    case 'addresses':
      return trimmed.startsWith('[') ? readFlow(trimmed) : addressesIn(written);
    case 'map':
      return readFlow(trimmed);
  }
}

/** One, or several with commas between them; an address may hold a comma too. */
function addressesIn(written: string): string | string[] {
  const [first = '', ...others] = written.split(/,\s*(?=[a-z]+:\/\/)/i);
  return others.length === 0 ? first : [first, ...others];
}

/** JSON, or YAML on one line. */
function readFlow(written: string): unknown {
  try {
    return parse(written, { prettyErrors: false, logLevel: 'error' });
  } catch {
    return written;
  }
}

function unknownVariable(variable: string): string {
  const name = variable.slice(prefix.length);
  const candidates = [fileVariable, ...rowByVariable.keys()].map((each) => each.slice(prefix.length));
  const near = nearest(name, candidates);
  return `${variable}: sets no option${didYouMean(near && `${prefix}${near}`)}`;
}

/** Kubernetes tells every container where a service named sonic2mqtt is, in variables that look like ours. */
function isFromKubernetes(variable: string, value: string): boolean {
  if (variable === `${prefix}PORT`) return /^(tcp|udp):/.test(value);
  return /^SONIC2MQTT_(SERVICE_(HOST|PORT)|PORT_\d+_)/.test(variable);
}
