import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';

const readings = {
  signal: (client: CloudClient, id: string, signal: AbortSignal) =>
    client.call({ operation: 'read_signal', params: { signal_id: id } }, { signal }),
  sonic: (client: CloudClient, id: string, signal: AbortSignal) =>
    client.call({ operation: 'read_sonic', params: { sonic_id: id } }, { signal }),
  // Not by its own route: nobody has published that, and a 404 of it would leave the question open.
  wifiSonic: async (client: CloudClient, id: string, signal: AbortSignal) => {
    const { records } = await client.crawl({ operation: 'list_wifi_sonics' }, { signal });
    if (!records.some((each) => each.id === id)) throw new CloudError('notFound', 'list_wifi_sonics', id);
  },
};

/**
 * Whether the cloud still knows the device, so that a 404 for something of it is about the route: the device may have
 * been removed since it was listed. Only the cloud's own word says so; without an answer it is taken to be there.
 */
export async function isStillThere(
  client: CloudClient,
  kind: keyof typeof readings,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await readings[kind](client, id, signal);
    return true;
  } catch (error) {
    if (error instanceof CloudError) return error.kind !== 'notFound';
    throw error;
  }
}
