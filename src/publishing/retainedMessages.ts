import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { isSafeId } from '../cloud/decoders.ts';
import { isCommandPath } from '../homeassistant/command.ts';
import { announcingBridge, documentPaths, type Target, type Topics } from '../homeassistant/topics.ts';
import type { Kept } from '../state/sections.ts';

const maxTopicsAtOnce = 100;

/**
 * Reads the retained messages under these filters. `found` is called for each message. Unless `isEnough` returns true
 * once most brokers have sent all of them, later ones are awaited for a while.
 */
export function readRetained(
  connection: Connection,
  filters: readonly string[],
  found: (topic: string, payload: string) => void,
  isEnough?: () => boolean,
): Promise<void> {
  const note = ({ topic, payload, isRetained }: BrokerMessage) => {
    if (isRetained && payload !== '') found(topic, payload);
  };
  return connection.readRetained(filters, note, isEnough);
}

/** Reads the retained messages of exact topics, which every broker shows. */
export async function readTopics(
  connection: Connection,
  topics: readonly string[],
  found: (topic: string, payload: string) => void,
): Promise<void> {
  for (let start = 0; start < topics.length; start += maxTopicsAtOnce)
    await readRetained(connection, topics.slice(start, start + maxTopicsAtOnce), found);
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

/** Whether a bridge of these topics has published the message. Discovery messages name their bridge. */
export function isOwnMessage(topics: Topics, topic: string, payload: string): boolean {
  if (topics.isDiscovery(topic)) return announcingBridge(payload) === topics.bridge('state');
  const target = topics.parse(topic);
  return target !== null && (isDocument(target) || isCommand(target));
}

/** Whether a bridge retains messages there. Other clients may use topics such as `sonic/garden/moisture`. */
export function isDocument({ kind, id, path }: Target): boolean {
  const paths: readonly string[] = documentPaths[kind];
  return (kind === 'bridge' || isSafeId(id)) && paths.includes(path);
}

function isCommand({ kind, id, path }: Target): boolean {
  if (kind === 'bridge' && path.startsWith('request/')) return true;
  return (kind === 'bridge' || isSafeId(id)) && isCommandPath(kind, path);
}

export function messageCount(messages: number): string {
  return `${messages.toLocaleString('en-US')} retained ${messages === 1 ? 'message' : 'messages'}`;
}
