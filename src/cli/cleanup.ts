import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { fieldsIn } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { Mirror } from '../broker/mirror.ts';
import { commandFilters } from '../homeassistant/command.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { pauseFromShown } from '../model/pause.ts';
import { topicsOf } from '../partOptions.ts';
import {
  isOwnMessage,
  knownTopics,
  messageCount,
  readRetained,
  readTopics,
} from '../publishing/retainedMessages.ts';
import { type Kept, newKept, readSections } from '../state/sections.ts';
import { stateFileName } from '../state/stateFile.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { withOwnConnection } from './ownSession.ts';

/** How many readings in a row may find only messages that were deleted before. A cluster may need a moment. */
const maxInVain = 2;

const maxReadAtOnce = 500;

export async function cleanup(context: CommandContext, options: { readonly force?: true }): Promise<number> {
  return deleteMessages(await readConfiguration(context, { level: 'warn' }), context, options);
}

/**
 * Fails if any message is left. Unless forced, deletes nothing while the bridge runs or an automatic shut-off is paused:
 * the messages would come back, or a copy of the pause would be lost.
 */
export async function deleteMessages(
  configuration: Configuration,
  context: Pick<CommandContext, 'print' | 'signal'>,
  { force }: { readonly force?: true } = {},
): Promise<number> {
  const { config, log } = configuration;

  const deleteAll = async (connection: Connection): Promise<number> => {
    const topics = topicsOf(config);
    const kept = await keptIn(config.data_dir, config.mqtt.base_topic);
    // Its messages about itself: exact topics, which every broker shows.
    const own = new Map<string, string>();
    await readRetained(connection, topics.documents('bridge', ''), (topic, text) => own.set(topic, text));
    if (own.get(topics.bridge('state')) === 'online' && !force) {
      log.error(
        `${topics.bridge('state')} is online, so nothing was deleted. Stop sonic2mqtt first. If it has crashed, use cleanup --force`,
      );
      return exitStatus.failed;
    }
    if ((await isAnyPaused(connection, topics, kept)) && !force) {
      log.error(
        'An automatic shut-off is paused, so nothing was deleted. Start sonic2mqtt and end the pause first. Or turn the shut-off on in the vendor’s app, and use cleanup --force',
      );
      return exitStatus.failed;
    }
    const { deleted, left, isListed } = await deleteOf(topics, [...own.keys()], connection, log, kept);
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

/** `isListed`: whether the broker lists its messages, as far as this is known. */
async function deleteOf(
  topics: Topics,
  own: readonly string[],
  connection: Connection,
  log: Log,
  kept: Kept,
) {
  const mirror = new Mirror(connection, log);
  const deleted = new Set<string>();
  const left: string[] = [];
  const shown = new Set<string>();
  // A broker may send only a part of its messages at a time. So reading is repeated until nothing can be deleted.
  const deleteAt = async (filters: readonly string[]): Promise<void> => {
    for (let inVain = 0; ; ) {
      const found = new Set<string>();
      const note = ({ topic, payload, isRetained }: BrokerMessage) => {
        if (!isRetained || payload === '') return;
        if (isOwnMessage(topics, topic, payload)) found.add(topic);
        shown.add(topic);
      };
      // If there are new messages, another reading follows, so this one need not wait for late ones.
      const hasNew = () => [...found].some((topic) => !deleted.has(topic));
      await connection.readRetained(filters, note, hasNew);
      inVain = hasNew() ? 0 : inVain + 1;
      if (found.size === 0 || inVain > maxInVain) return void left.push(...found);
      for (const topic of found) {
        await mirror.waitForRoom();
        mirror.found(topic);
        mirror.drop(topic);
        deleted.add(topic);
      }
      await mirror.waitForAnswers();
    }
  };
  // Discovery messages come first, so that Home Assistant removes the devices before their states vanish.
  await deleteAt([topics.discoveryFilter]);
  const commands = [...commandFilters(topics), topics.requestFilter];
  await deleteAt([...topics.stateFilters, topics.bridge('+'), ...commands]);
  const isListed = own.every((topic) => shown.has(topic));
  const { discoveries, documents } = knownTopics(topics, kept);
  const exact = isListed ? [] : [...discoveries, ...documents];
  for (let start = 0; start < exact.length; start += maxReadAtOnce)
    await deleteAt(exact.slice(start, start + maxReadAtOnce));
  for (const topic of left) deleted.delete(topic);
  return { deleted, left, isListed };
}

async function keptIn(directory: string, baseTopic: string): Promise<Kept> {
  const text = await readFile(join(directory, stateFileName(baseTopic)), 'utf8').catch(() => '{}');
  const kept = newKept();
  readSections(kept, text);
  return kept;
}

/** Whether the state file or the broker has a pause, or a shut-off that was not seen on after one. */
async function isAnyPaused(connection: Connection, topics: Topics, kept: Kept): Promise<boolean> {
  if (kept.pauses.size > 0) return true;
  let isPaused = false;
  let isListing = false;
  const note = (_topic: string, payload: string) => {
    isListing = true;
    isPaused ||= pauseFromShown(fieldsIn(payload), systemClock) !== null;
  };
  const pauseOf = (id: string) => topics.below('property', id, 'pause');
  await readRetained(connection, [pauseOf('+')], note);
  if (isListing) return isPaused;
  // Some brokers send retained messages only for exact topics.
  const known = [...kept.devices.keys()].flatMap((key) => /^property\/(.*)/.exec(key)?.[1] ?? []);
  await readTopics(connection, known.map(pauseOf), note);
  return isPaused;
}
