import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import { Topics } from '../homeassistant/topics.ts';
import type { StateFile } from '../state/stateFile.ts';
import { RetainedScan, readRetained } from './retainedScan.ts';

interface FormerTopicsParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly log: Log;
}

/**
 * Deletes the messages that this bridge has published under its former base topics, unless another bridge uses them
 * now. The state file names a former base topic until all its messages are deleted. Never rejects.
 */
export async function removeFormerTopics(parts: FormerTopicsParts): Promise<void> {
  const { topics, state, log } = parts;
  state.recordBaseTopic(topics.base);
  for (const base of state.baseTopics) {
    if (base === topics.base) continue;
    await removeBelow(base, parts).catch((error) => {
      log.debug(`Deleting the messages below ${base}: ${String(error)}`);
    });
  }
}

async function removeBelow(
  base: string,
  { topics, state, connection, retained, log }: FormerTopicsParts,
): Promise<void> {
  const former = new Topics(base, topics.discoveryPrefix);
  const filters = [...former.documents('bridge', ''), ...former.stateFilters, former.discoveryFilter];
  const scan = new RetainedScan(former);
  let isInUse = false;
  await readRetained(connection, filters, (topic, payload) => {
    if (topic === former.bridge('state') && payload === 'online') isInUse = true;
    scan.add(topic, payload);
  });
  if (isInUse) {
    log.info(`Another bridge runs below the former mqtt.base_topic ${base}. Its messages stay`);
    state.forgetBaseTopic(base);
    return;
  }
  // Some brokers do not list their retained messages, so the topics of known devices are added.
  const known = [...state.devices]
    .map((key) => former.parse(`${base}/${key}`))
    .filter((each) => each !== null);
  const stale = [
    ...scan.removable(),
    ...known.flatMap(({ kind, id }) => former.documents(kind, id)),
    ...state.incidentIds().map((id) => former.incident(id)),
    ...former.documents('bridge', ''),
  ];
  // The discovery topics are the same as before, and this bridge has already published its own messages there.
  const formerTopics = [...new Set(stale)].filter((topic) => !retained.isKnown(topic));
  for (const topic of formerTopics) {
    await retained.waitForRoom();
    retained.found(topic);
    retained.clear(topic);
  }
  await retained.waitForAnswers();
  if (!connection.isConnected) return;
  const isAnyLeft = formerTopics.some((topic) => retained.mayHave(topic));
  // If the broker has refused to delete a message, the next scan tries again. Until then nothing else must count it.
  for (const topic of formerTopics) retained.release(topic);
  if (isAnyLeft) return;
  state.forgetBaseTopic(base);
  log.info(`mqtt.base_topic has changed. Deleted the retained messages below ${base}`);
}
