import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { Mirror } from '../broker/mirror.ts';
import { commandFilters } from '../homeassistant/command.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { topicsOf } from '../partOptions.ts';
import { formerTopicsOf, knownTopics } from '../publishing/formerTopics.ts';
import { isOwnMessage, messageCount, readRetained } from '../publishing/retainedMessages.ts';
import { type Kept, knownIncidents, newKept, readSections } from '../state/sections.ts';
import { stateFileName } from '../state/stateFile.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { withOwnConnection } from './ownSession.ts';
import { endPauses } from './pausedShutOffs.ts';

/** How many readings in a row may find only messages that were deleted before. A cluster may need a moment. */
const maxInVain = 2;

const maxReadAtOnce = 500;

export async function cleanup(context: CommandContext, options: { readonly force?: true }): Promise<number> {
  return deleteMessages(await readConfiguration(context, { level: 'warn' }), context, options);
}

/**
 * Deletes every retained message of this bridge from the broker, also below former base topics and discovery prefixes.
 * Fails if any is left. A paused automatic shut-off is turned on first. If that fails, nothing is deleted. For a demo,
 * whose valves are simulated, no shut-off is turned on.
 */
export async function deleteMessages(
  configuration: Configuration,
  context: Pick<CommandContext, 'print' | 'signal'>,
  { force, isDemo = false }: { readonly force?: true; readonly isDemo?: boolean },
): Promise<number> {
  const { config, log } = configuration;

  const deleteAll = async (connection: Connection): Promise<number> => {
    const topics = topicsOf(config);
    const kept = await keptIn(config.data_dir);
    const { own, isRunning } = await readBridge(connection, topics);
    if (isRunning && !force) {
      log.error(
        `${topics.bridge('state')} is online, so nothing was deleted. Stop sonic2mqtt first. If it has crashed, use cleanup --force`,
      );
      return exitStatus.failed;
    }
    const problem = isDemo ? null : await endPauses(configuration, connection, kept, context);
    if (problem !== null) {
      log.error(`${problem}. Nothing was deleted. Turn it on in the vendor's app, then try again`);
      return exitStatus.failed;
    }
    const mirror = new Mirror(connection, systemClock, log);
    const nothing = { deleted: new Set<string>(), left: [], bases: new Set<string>(), isListed: true };
    const deletion: Deletion = { connection, mirror, kept, ...nothing };
    await deleteBelow(topics, own, deletion);
    for (const former of formerTopicsOf(topics, kept)) {
      const bridge = await readBridge(connection, former);
      // A folder that was copied from another bridge names the topics of that bridge.
      if (bridge.isRunning && former.base !== topics.base) continue;
      await deleteBelow(former, bridge.own, deletion);
    }
    const { deleted, left, isListed } = deletion;
    context.print(`Deleted ${messageCount(deleted.size)}`);
    if (left.length > 0) {
      log.error(`${messageCount(left.length)} could not be deleted. Another client may publish them again`);
    } else if (!isListed) {
      log.error(
        'The broker does not list its retained messages. Only those of devices in data_dir were deleted. Delete others by hand',
      );
    } else return exitStatus.done;
    return exitStatus.failed;
  };

  return withOwnConnection(configuration, 'cleanup', context.signal, deleteAll);
}

interface Deletion {
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly kept: Kept;
  readonly deleted: Set<string>;
  readonly left: string[];
  /** Base topics below which nothing else is to be deleted. */
  readonly bases: Set<string>;
  /** Whether the broker lists its retained messages, as far as this is known. */
  isListed: boolean;
}

/** Deletes everything of a bridge with these topics. `own` are its messages about itself that are certainly there. */
async function deleteBelow(topics: Topics, own: readonly string[], deletion: Deletion): Promise<void> {
  const { connection, mirror, kept, deleted } = deletion;
  const shown = new Set<string>();
  /**
   * Deletes what the bridge has at these topics, and returns what is left. A broker may send only a part of its messages
   * at a time. So reading is repeated until it finds nothing, or nothing that can be deleted.
   */
  const deleteAt = async (filters: readonly string[]): Promise<readonly string[]> => {
    for (let inVain = 0; ; ) {
      const found = new Set<string>();
      const note = ({ topic, payload, isRetained }: BrokerMessage) => {
        if (!isRetained || payload === '') return;
        if (isOwnMessage(topics, topic, payload)) found.add(topic);
        shown.add(topic);
      };
      // If there are new messages, another reading will follow, so this one need not wait for late messages.
      const hasNew = () => [...found].some((topic) => !deleted.has(topic));
      await connection.readRetained(filters, note, hasNew);
      const left = [...found];
      inVain = left.every((topic) => deleted.has(topic)) ? inVain + 1 : 0;
      if (left.length === 0 || inVain > maxInVain) return left;
      for (const topic of left) {
        await mirror.waitForRoom();
        mirror.found(topic);
        mirror.drop(topic);
        deleted.add(topic);
      }
      await mirror.waitForAnswers();
    }
  };
  // Discovery messages come first, so that Home Assistant removes the devices before their states vanish.
  const left = [...(await deleteAt([topics.discoveryFilter]))];
  const commands = [...commandFilters(topics), topics.requestFilter];
  const states = [...topics.stateFilters, topics.bridge('+'), ...commands];
  if (!deletion.bases.has(topics.base)) left.push(...(await deleteAt(states)));
  deletion.bases.add(topics.base);
  deletion.isListed &&= own.every((topic) => shown.has(topic));
  const { discoveries, documents } = knownTopics(topics, kept);
  const exact = deletion.isListed ? [] : [...discoveries, ...documents];
  for (let start = 0; start < exact.length; start += maxReadAtOnce)
    left.push(...(await deleteAt(exact.slice(start, start + maxReadAtOnce))));
  for (const topic of left) deleted.delete(topic);
  deletion.left.push(...left);
}

/** The topics of the bridge's messages about itself: exact ones, which every broker shows. And whether it is online. */
async function readBridge(connection: Connection, topics: Topics) {
  const own: string[] = [];
  let isRunning = false;
  await readRetained(connection, topics.documents('bridge', ''), (topic, payload) => {
    own.push(topic);
    if (topic === topics.bridge('state') && payload === 'online') isRunning = true;
  });
  return { own, isRunning };
}

async function keptIn(directory: string): Promise<Kept> {
  const text = await readFile(join(directory, stateFileName), 'utf8').catch(() => '{}');
  const kept = newKept();
  readSections(kept, text);
  // An earlier version did not name incidents among the devices.
  for (const id of knownIncidents(kept)) kept.devices.set(`incident/${id}`, true);
  return kept;
}
