import { isLoopback } from './addresses.ts';
import { type Environment, variableOf } from './environment.ts';
import { type Config, optionRows } from './schema.ts';
import { shortSecrets } from './secrets.ts';
import { valueAt } from './tree.ts';

/** A possible mistake in a valid configuration. `run` and `check` report it every time. */
export interface Warning {
  /** The option, or the variable that gives it. */
  readonly about: string;
  readonly message: string;
}

const maxNamed = 10;

/** Possible mistakes in a valid configuration: access for strangers, and variables that set no option. */
export function configWarnings(config: Config, { foreign }: Pick<Environment, 'foreign'>): Warning[] {
  const { cloud, mqtt } = config;
  const { protocol, hostname } = new URL(cloud.base_url);
  const { enabled, host, username } = mqtt.embedded;
  const warnings: Warning[] = [];
  const warn = (about: string, message: string) => warnings.push({ about, message });
  if (foreign.length > 0) {
    const names = foreign.slice(0, maxNamed).join(', ');
    warn('environment', `Variables that set no option: ${names}. sonic2mqtt ignores them`);
  }
  for (const { path } of optionRows) {
    const value = valueAt(config, path.split('.'));
    if (typeof value !== 'string') continue;
    if (/\$\{.*\}/.test(value)) {
      warn(
        path,
        `${path} contains \${…}, which is not replaced. Set the variable ${variableOf(path)} instead`,
      );
    }
    if (/^[“”„‟‘’‚«»]|[“”„‟‘’‚«»]$/.test(value)) {
      warn(
        path,
        `${path} has typographic quotes, which count as part of it. Remove them, or write " instead`,
      );
    }
  }
  for (const option of shortSecrets(config)) {
    // A cloud on this machine is a simulated one, which has no secrets.
    if (option === 'cloud.password' && isLoopback(hostname)) continue;
    warn(
      option,
      `${option} is a secret of fewer than 8 characters, which the log may show. Choose a longer one`,
    );
  }
  if (protocol === 'http:' && !isLoopback(hostname)) {
    warn(
      'cloud.base_url',
      'cloud.base_url uses http. Anyone on the network can read your password and control your valves. Use https',
    );
  }
  if (!mqtt.reject_unauthorized) {
    warn(
      'mqtt.reject_unauthorized',
      'mqtt.reject_unauthorized is false. Anyone on the network could control your valves. Set mqtt.ca_file instead',
    );
  }
  if (enabled && username === null && !isLoopback(host)) {
    warn(
      'mqtt.embedded',
      `mqtt.embedded listens on ${host} without a username. Anyone on the network can control your valves. Set a username and a password`,
    );
  }
  return warnings;
}
