import { isLoopback } from './addresses.ts';
import type { Config } from './schema.ts';

/** What a valid configuration lets strangers do, one line for each; `run` and `check` say it every time. */
export function configWarnings({ cloud, mqtt }: Config): string[] {
  const { protocol, hostname } = new URL(cloud.base_url);
  const { enabled, host, username } = mqtt.embedded;
  const warnings = [];
  if (protocol === 'http:' && !isLoopback(hostname)) {
    warnings.push(
      'cloud.base_url uses http. Anyone on the network can read your password and control your valves. Use https',
    );
  }
  if (!mqtt.reject_unauthorized) {
    warnings.push(
      'mqtt.reject_unauthorized is false. Anyone on the network could control your valves. Set mqtt.ca_file instead',
    );
  }
  if (enabled && username === null && !isLoopback(host)) {
    warnings.push(
      `mqtt.embedded listens on ${host} without a username. Anyone on the network can control your valves. Set a username and a password`,
    );
  }
  return warnings;
}
