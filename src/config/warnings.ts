import { isLoopback } from './addresses.ts';
import type { Config } from './schema.ts';

/** What a valid configuration lets strangers do, one line for each; `run` and `check` say it every time. */
export function configWarnings({ cloud, mqtt }: Config): string[] {
  const { protocol, hostname } = new URL(cloud.base_url);
  const { enabled, host, username } = mqtt.embedded;
  const warnings = [];
  if (protocol === 'http:' && !isLoopback(hostname)) {
    warnings.push('cloud.base_url is http: anybody on the way can read the password and command the valves');
  }
  if (!mqtt.reject_unauthorized) {
    warnings.push('mqtt.reject_unauthorized is false: anybody on the way can read and command the valves');
  }
  if (enabled && username === null && !isLoopback(host)) {
    warnings.push(
      `mqtt.embedded listens on ${host} without a username: anybody in the network can read and command the valves`,
    );
  }
  return warnings;
}
