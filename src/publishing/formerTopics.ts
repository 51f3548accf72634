import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import { Topics } from '../homeassistant/topics.ts';
import type { Kept } from '../state/sections.ts';
import type { StateFile } from '../state/stateFile.ts';
import { isOwnMessage, readTopics } from './retainedMessages.ts';

interface FormerTopicsParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly log: Log;
}

/** The topics of each former base topic and discovery prefix in the state file, together and with the present ones. */
export function formerTopicsOf({ base, discoveryPrefix }: Topics, kept: Kept): readonly Topics[] {
  const prefixes = [...new Set([discoveryPrefix, ...kept.discoveryPrefixes.keys()])];
  return [...new Set([base, ...kept.baseTopics.keys()])]
    .flatMap((each) => prefixes.map((prefix) => new Topics(each, prefix)))
    .filter((each) => each.base !== base || each.discoveryPrefix !== discoveryPrefix);
}

/** All topics of the bridge, and of the records in its state file. Discovery messages come first. */
export function knownTopics(topics: Topics, kept: Kept) {
  const known = [...kept.devices.keys(), 'bridge'].flatMap(
    (key) => topics.parse(`${topics.base}/${key}`) ?? [],
  );
  return {
    discoveries: known.flatMap(({ kind, id }) => (kind === 'incident' ? [] : [topics.discovery(kind, id)])),
    documents: known.flatMap(({ kind, id }) => topics.documents(kind, id)),
  };
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
    const outcome = await removeBelow(former, parts).catch((error: unknown) => {
      log.debug(`Deleting below ${former.base} and ${former.discoveryPrefix}: ${errorMessage(error)}`);
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
  { topics, state, connection, mirror }: FormerTopicsParts,
): Promise<'removed' | 'left' | 'in use'> {
  const isOtherBase = former.base !== topics.base;
  const { discoveries, documents } = knownTopics(former, state.kept);
  const stale = isOtherBase ? documents : [];
  let isInUse = false;
  // At a device's discovery topic, another bridge may have its own message by now.
  await readTopics(
    connection,
    [...(isOtherBase ? [former.bridge('state')] : []), ...discoveries],
    (topic, payload) => {
      if (topic === former.bridge('state')) isInUse = payload === 'online';
      else if (isOwnMessage(former, topic, payload)) stale.unshift(topic);
    },
  );
  if (isInUse) return 'in use';
  // At the present topics, this bridge has already published its own messages.
  const formerTopics = stale.filter((topic) => !mirror.isKnown(topic));
  for (const topic of formerTopics) {
    await mirror.waitForRoom();
    mirror.found(topic);
    mirror.drop(topic);
  }
  await mirror.waitForAnswers();
  if (!connection.isConnected) return 'left';
  const isAnyLeft = formerTopics.some((topic) => mirror.mayHave(topic));
  // If the broker has refused to delete a message, the next connection tries again. Until then nothing else must count it.
  for (const topic of formerTopics) mirror.release(topic);
  return isAnyLeft ? 'left' : 'removed';
}
