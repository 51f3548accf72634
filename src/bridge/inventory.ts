import type { Connection } from '../broker/connection.ts';
import { componentsOfDiscovery, type Topics } from '../homeassistant/topics.ts';

/** Retained messages that an earlier run of this bridge has left on the broker. */
export interface Inventory {
  readonly state: (topic: string) => void;
  readonly discovery: (topic: string, componentIds: readonly string[]) => void;
}

// Brokers send what they keep at once; the longest time is for a slow one with tens of thousands.
const patience = { quietMs: 300, longestMs: 10_000 };

/** Reads what is on the broker, as far as it shows; rejects as `Connection.readRetained` does. */
export async function takeInventory(connection: Connection, topics: Topics, found: Inventory): Promise<void> {
  const filters = [topics.discoveryFilter, ...topics.stateFilters];
  await connection.readRetained(filters, patience, ({ topic, payload, isRetained }) => {
    if (!isRetained || payload === '') return;
    if (topic.startsWith(`${topics.base}/`)) {
      found.state(topic);
      return;
    }
    const componentIds = componentsOfDiscovery(topics, payload);
    if (componentIds) found.discovery(topic, componentIds);
  });
}
