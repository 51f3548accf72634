import { isLoopback } from './addresses.ts';
import type { Config } from './schema.ts';
import { shortSecrets } from './secrets.ts';

/** A possible mistake in a valid configuration. `run` and `check` report it every time. */
export interface Warning {
  /** The option, or the variable that gives it. */
  readonly about: string;
  readonly message: string;
}

/** What gives strangers access, or shows them a secret, in a valid configuration. */
export function configWarnings(config: Config): Warning[] {
  const { cloud, mqtt } = config;
  const { protocol, hostname } = new URL(cloud.base_url);
  const { enabled, host, username } = mqtt.embedded;
  const warnings: Warning[] = [];
  const warn = (about: string, message: string) => warnings.push({ about, message });
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
