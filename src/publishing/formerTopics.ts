import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import { Topics } from '../homeassistant/topics.ts';
import { type Kept, knownIncidents } from '../state/sections.ts';
import type { StateFile } from '../state/stateFile.ts';
import { maxTopicsAtOnce, RetainedScan, readRetained } from './retainedScan.ts';

interface FormerTopicsParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly log: Log;
}

/** The topics of each former base topic and discovery prefix in the state file, together and with the present ones. */
export function formerTopicsOf({ base, discoveryPrefix }: Topics, kept: Kept): readonly Topics[] {
  const prefixes = [...new Set([discoveryPrefix, ...kept.discoveryPrefixes.keys()])];
  return [...new Set([base, ...kept.baseTopics.keys()])]
    .flatMap((each) => prefixes.map((prefix) => new Topics(each, prefix)))
    .filter((each) => each.base !== base || each.discoveryPrefix !== discoveryPrefix);
}

/**
 * Deletes the messages that this bridge has published under its former base topics and discovery prefixes, unless
 * another bridge uses them now. The state file names them until all their messages are deleted. Never rejects.
 */
export async function removeFormerTopics(parts: FormerTopicsParts): Promise<void> {
  const { topics, state, log } = parts;
  const { baseTopics, discoveryPrefixes } = state.kept;
  baseTopics.set(topics.base, true);
  discoveryPrefixes.set(topics.discoveryPrefix, true);
  const left: Topics[] = [];
  for (const former of formerTopicsOf(topics, state.kept)) {
    const outcome = await removeBelow(former, parts).catch((error) => {
      log.debug(`Deleting the messages below ${former.base} and ${former.discoveryPrefix}: ${String(error)}`);
      return 'left' as const;
    });
    if (outcome === 'left') left.push(former);
    if (outcome !== 'in use' || !baseTopics.has(former.base)) continue;
    baseTopics.delete(former.base);
    log.info(`Another bridge runs below the former mqtt.base_topic ${former.base}. Its messages stay`);
  }
  for (const base of baseTopics.keys()) {
    if (base === topics.base || left.some((each) => each.base === base)) continue;
    baseTopics.delete(base);
    log.info(`mqtt.base_topic has changed. Deleted the retained messages below ${base}`);
  }
  for (const prefix of discoveryPrefixes.keys()) {
    if (prefix === topics.discoveryPrefix || left.some((each) => each.discoveryPrefix === prefix)) continue;
    discoveryPrefixes.delete(prefix);
    log.info(`homeassistant.discovery_prefix has changed. Deleted the retained messages below ${prefix}`);
  }
}

async function removeBelow(
  former: Topics,
  { topics, state, connection, retained }: FormerTopicsParts,
): Promise<'removed' | 'left' | 'in use'> {
  const isOtherBase = former.base !== topics.base;
  const ownDocuments = isOtherBase ? former.documents('bridge', '') : [];
  const filters = [...ownDocuments, ...(isOtherBase ? former.stateFilters : []), former.discoveryFilter];
  const scan = new RetainedScan(former);
  let isInUse = false;
  await readRetained(connection, filters, (topic, payload) => {
    if (isOtherBase && topic === former.bridge('state') && payload === 'online') isInUse = true;
    scan.add(topic, payload);
  });
  if (isInUse) return 'in use';
  // Some brokers do not list their retained messages, so the topics of known devices are added. The discovery message of
  // a device may be by a bridge with another base topic, so it is read first.
  const known = [...state.kept.devices.keys(), 'bridge'].flatMap(
    (key) => former.parse(`${former.base}/${key}`) ?? [],
  );
  const exact = known.flatMap(({ kind, id }) => (kind === 'incident' ? [] : [former.discovery(kind, id)]));
  for (let start = 0; start < exact.length && scan.discoveries().length === 0; start += maxTopicsAtOnce) {
    await readRetained(connection, exact.slice(start, start + maxTopicsAtOnce), (topic, payload) =>
      scan.add(topic, payload),
    );
  }
  const documents = [
    ...known.flatMap(({ kind, id }) => former.documents(kind, id)),
    ...knownIncidents(state.kept).map((id) => former.incident(id)),
  ];
  // At the present topics, this bridge has already published its own messages.
  const stale = new Set([...scan.removable(), ...(isOtherBase ? documents : [])]);
  const formerTopics = [...stale].filter((topic) => !retained.isKnown(topic));
  for (const topic of formerTopics) {
    await retained.waitForRoom();
    retained.found(topic);
    retained.clear(topic);
  }
  await retained.waitForAnswers();
  if (!connection.isConnected) return 'left';
  const isAnyLeft = formerTopics.some((topic) => retained.mayHave(topic));
  // If the broker has refused to delete a message, the next scan tries again. Until then nothing else must count it.
  for (const topic of formerTopics) retained.release(topic);
  return isAnyLeft ? 'left' : 'removed';
}
