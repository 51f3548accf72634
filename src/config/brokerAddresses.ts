import type { Config } from './schema.ts';

/** The addresses of the broker, or of the nodes of a cluster; none where the embedded one is meant. */
export function brokerAddresses({ mqtt }: Config): readonly string[] {
  return [mqtt.url ?? []].flat();
}
