import type { CallOptions, CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';

const readings = {
  property: (client: CloudClient, id: string, options: CallOptions) =>
    client.call({ operation: 'read_property', params: { property_id: id } }, options),
  incident: (client: CloudClient, id: string, options: CallOptions) =>
    client.call({ operation: 'read_incident', params: { incident_id: id } }, options),
  signal: (client: CloudClient, id: string, options: CallOptions) =>
    client.call({ operation: 'read_signal', params: { signal_id: id } }, options),
  sonic: (client: CloudClient, id: string, options: CallOptions) =>
    client.call({ operation: 'read_sonic', params: { sonic_id: id } }, options),
  // Not by its own route: nobody has published that, and a 404 of it would leave the question open.
  wifiSonic: async (client: CloudClient, id: string, options: CallOptions) => {
    const { records } = await client.listAll({ operation: 'list_wifi_sonics' }, options);
    if (!records.some((each) => each.id === id)) throw new CloudError('notFound', 'list_wifi_sonics', id);
  },
};

/** What the cloud can be asked for by itself. */
export type RecordKind = keyof typeof readings;

/** Whether the cloud knows the record; null where it does not say. */
export async function isKnownToCloud(
  client: CloudClient,
  kind: RecordKind,
  id: string,
  options: CallOptions,
): Promise<boolean | null> {
  try {
    await readings[kind](client, id, options);
    return true;
  } catch (error) {
    if (error instanceof CloudError) return error.kind === 'notFound' ? false : null;
    throw error;
  }
}

/**
 * Whether the cloud still knows the device, so that a 404 for something of it is about the route: the device may have
 * been removed since it was listed. Only the cloud's own word says so; without an answer it is taken to be there.
 */
export async function isStillThere(
  client: CloudClient,
  kind: RecordKind,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await isKnownToCloud(client, kind, id, { signal })) ?? true;
}
