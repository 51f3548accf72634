import { parse } from 'yaml';
import { didYouMean, nearest } from '../base/nearest.ts';
import { type OptionRow, optionRows } from './schema.ts';

const prefix = 'SONIC2MQTT_';

/** The variable that names the configuration file. */
export const fileVariable = `${prefix}CONFIG`;

/** The variable with the address of the setup page, which is served if there is no configuration; `off` for no page. */
export const setupVariable = `${prefix}SETUP`;

/** The variable that sets an option. */
export function variableOf(path: string): string {
  return prefix + path.toUpperCase().replaceAll('.', '__');
}

/** A value from elsewhere than the file. */
export interface Setting {
  /** What messages call the place: a variable or a field. */
  readonly place: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

/**
 * Kubernetes makes such variables for each Service, and Docker for each link: of one that is called `sonic2mqtt`, they have our prefix.
 */
const isOfService = (variable: string, value: string) =>
  /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
  (variable.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value));

const rowByVariable = new Map(optionRows.map((row) => [variableOf(row.path), row]));
const mapRows = optionRows.filter((row) => row.type === 'map');

export interface Environment {
  readonly settings: readonly Setting[];
  /** One line for each variable with our prefix that sets no option. */
  readonly problems: readonly string[];
}

/** Reads the options in the environment. An empty variable counts as not set. */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const settings: Setting[] = [];
  const problems: string[] = [];
  // Sorted, so that a map comes before its single entries and both can be given.
  for (const [variable, written] of Object.entries(env).sort()) {
    // If a file of variables was written on Windows, its values end with line ends.
    const value = written?.replace(/[\r\n]+$/, '');
    if (!value || !variable.startsWith(prefix) || [fileVariable, setupVariable].includes(variable)) continue;
    if (isOfService(variable, value)) continue;
    const setting = readSetting(variable, value);
    if (setting) settings.push(setting);
    else problems.push(`${variable}: sets no option${didYouMean(nearestVariable(variable))}`);
  }
  return { settings, problems };
}

function readSetting(variable: string, value: string): Setting | null {
  const row = rowByVariable.get(variable);
  if (row) {
    return { place: variable, path: row.path.split('.'), value: readOption(row.type, value) };
  }
  for (const { path } of mapRows) {
    const name = entryName(variable, path);
    if (name)
      return { place: variable, path: [...path.split('.'), name], value: value === 'null' ? null : value };
  }
  return null;
}

function entryName(variable: string, path: string): string | null {
  const start = `${variableOf(path)}__`;
  const name = variable.startsWith(start) ? variable.slice(start.length) : '';
  return /^[A-Z][A-Z0-9_]*$/.test(name) ? name.toLowerCase() : null;
}

/** Converts a value to the type of its option, so the password `true` stays text, as does a value that does not fit. */
function readOption(type: OptionRow['type'], written: string): unknown {
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

/** One address, or several separated by commas. An address may also contain a comma. */
function addressesIn(written: string): string | string[] {
  const [first = '', ...others] = written.split(/,\s*(?=[a-z]+:\/\/)/i);
  return others.length === 0 ? first : [first, ...others];
}

function readFlow(written: string): unknown {
  try {
    return parse(written, { prettyErrors: false, logLevel: 'error' });
  } catch {
    return written;
  }
}

function nearestVariable(variable: string): string | null {
  const name = variable.slice(prefix.length);
  const candidates = [fileVariable, ...rowByVariable.keys()].map((each) => each.slice(prefix.length));
  const near = nearest(name, candidates);
  return near && `${prefix}${near}`;
}
