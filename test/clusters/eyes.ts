import { setTimeout as pause } from 'node:timers/promises';
import { changingParts } from '../support/changingParts.ts';
import { type MqttWatcher, type SeenMessage, watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

/** What the commands of the story leave behind. */
const ofCommands = /\/(last_command|movement)$/;

/** What is measured or counted anew. */
const changing = /"(valve_travel_time(_s)?|requests_last_hour)":[\d.a-z]+/g;

/** Whoever looks at a node of the cluster, or in a hurry at all of them. */
export interface Eyes {
  /** All messages that any of the lookers has seen, in no order of note among nodes. */
  messages(): SeenMessage[];
  /** Looks at a node that is there anew; nodes count from 1. */
  open(node: number): Promise<void>;
  close(): Promise<void>;
}

/** Looks at all nodes at once. */
export async function openEyes(urls: readonly string[], protocolVersion: 4 | 5): Promise<Eyes> {
  const all: MqttWatcher[] = [];
  const open = async (node: number) => {
    const watcher = await waitFor(() => lookAt(urls[node - 1] ?? '', protocolVersion), {
      what: `a look at node ${node}`,
      timeoutMs: 120_000,
      intervalMs: 500,
    });
    all.push(watcher);
  };
  for (const [index] of urls.entries()) await open(index + 1);
  return {
    messages: () => all.flatMap(({ messages }) => messages),
    open,
    close: async () => void (await Promise.allSettled(all.map((watcher) => watcher.close()))),
  };
}

/** Not `#`: lookers would see each other. */
const everything = ['sonic2mqtt/#', 'homeassistant/#'];

/** A node may take a client and answer it nothing more. */
const patienceMs = 30_000;

/** Null where the node does not let anybody look. */
function lookAt(url: string, protocolVersion: 4 | 5): Promise<MqttWatcher | null> {
  const looking = watchTopics(url, everything, { protocolVersion }).catch(() => null);
  return Promise.race([looking, pause(patienceMs, null)]);
}

/** All that a node has retained, but for what passes or tells of commands; null where it does not let anybody look. */
export async function picture(url: string, protocolVersion: 4 | 5): Promise<Map<string, string> | null> {
  const watcher = await lookAt(url, protocolVersion);
  await watcher?.close();
  // An event that comes at this moment is not retained.
  const stored = new Set(watcher?.messages.filter(({ retain }) => retain).map(({ topic }) => topic));
  const kept = [...(watcher?.last ?? [])].filter(([topic]) => stored.has(topic) && !ofCommands.test(topic));
  return (
    watcher &&
    new Map(kept.map(([topic, text]) => [topic, text.replaceAll(changingParts, '').replaceAll(changing, '')]))
  );
}

/** What is not as it should be, a line for each topic. */
export function differences(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string> | null,
): string[] {
  if (found === null) return ['nobody can look'];
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((topic) => wanted.get(topic) !== found.get(topic))
    .map((topic) => `${topic}: ${found.get(topic) ?? 'is missing'}, not ${wanted.get(topic) ?? 'there'}`);
}
