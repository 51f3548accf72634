import type { Config } from './schema.ts';

/** What a valid configuration lets others do, a line in words for each; empty where nothing does. */
export function risksOf({ cloud, mqtt }: Config): string[] {
  const { protocol, hostname } = new URL(cloud.base_url);
  const { enabled, host, username } = mqtt.embedded;
  const risks = [
    {
      isThere: protocol === 'http:' && !isOwnMachine(hostname),
      words: 'cloud.base_url is http: anybody on the way can read the password and command the valves',
    },
    {
      isThere: !mqtt.reject_unauthorized,
      words: 'mqtt.reject_unauthorized is false: anybody on the way can read and command the valves',
    },
    {
      isThere: enabled && username === null && !isOwnMachine(host),
      words: `mqtt.embedded listens on ${host} without a username: anybody in the network can read and command the valves`,
    },
  ];
  return risks.filter(({ isThere }) => isThere).map(({ words }) => words);
}

/** Whether only programs on this machine can be there. */
export function isOwnMachine(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}
