import type { CloudClient } from '../cloud/client.ts';
import type { Account } from './examination.ts';

/**
 * Reads once what not every cloud offers, of the first device, so that it is known which operations there are. Changes
 * nothing and never rejects.
 */
export async function tryOperations(
  client: CloudClient,
  { signals = [], sonics = [] }: Account,
  signal: AbortSignal,
): Promise<void> {
  const [hub_id, sonic_id] = [signals[0]?.id, sonics[0]?.id];
  const ofSonic = (id: string) => [
    client.call({ operation: 'read_telemetry', params: { sonic_id: id } }, { signal }),
    client.call({ operation: 'read_daily_usage', params: { thing_id: id } }, { signal }),
    client.call({ operation: 'read_pressure_tests', params: { thing_id: id } }, { signal }),
  ];
  await Promise.allSettled([
    client.call({ operation: 'read_appliance_categories' }, { signal }),
    ...(hub_id === undefined ? [] : [client.call({ operation: 'read_hub', params: { hub_id } }, { signal })]),
    ...(sonic_id === undefined ? [] : ofSonic(sonic_id)),
  ]);
}
