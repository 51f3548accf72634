import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { Retained } from '../broker/retained.ts';
import { commandFilters } from '../homeassistant/command.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { messageCount } from '../publishing/cleanup.ts';
import { RetainedScan } from '../publishing/retainedScan.ts';
import { stateFileName } from '../state/stateFile.ts';
import { readState } from '../state/stateSchema.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';

/** How many readings in a row may find only messages that were deleted before. A cluster may need a moment. */
const maxInVain = 2;

/** How many topics are read at a time. */
const maxReadAtOnce = 500;

/** `sonic2mqtt cleanup`. */
export async function cleanup(context: CommandContext, options: { readonly force?: true }): Promise<number> {
  return deleteMessages(await readConfiguration(context, { level: 'warn' }), context, options);
}

/** Deletes every retained message of this bridge from the broker, and fails if any is left. */
export async function deleteMessages(
  { config, log, secrets, findBroker }: Configuration,
  context: Pick<CommandContext, 'print' | 'signal'>,
  { force }: { readonly force?: true },
): Promise<number> {
  const topics = topicsOf(config);

  const deleteAll = async (connection: Connection): Promise<number> => {
    const { own, isRunning } = await readBridge(connection, topics);
    if (isRunning && !force) {
      log.error(
        `${topics.bridge('state')} is online, so nothing was deleted. Stop sonic2mqtt first. If it has crashed, use cleanup --force`,
      );
      return exitStatus.failed;
    }
    const scan = new RetainedScan(topics);
    const retained = new Retained(connection, log);
    const deleted = new Set<string>();
    const shown = new Set<string>();
    // A broker may send only a part of its messages at a time. So reading is repeated until it finds nothing, or
    // nothing that can be deleted.
    const deleteUnder = async (filters: readonly string[]): Promise<readonly string[]> => {
      for (let inVain = 0; ; ) {
        const found = new Set<string>();
        const note = ({ topic, payload, isRetained }: BrokerMessage) => {
          if (!isRetained || payload === '') return;
          scan.add(topic, payload);
          found.add(topic);
          shown.add(topic);
        };
        const ownFound = () => scan.removable().filter((topic) => found.has(topic));
        // If there are new messages, another reading will follow, so this one need not wait for late messages.
        const hasNew = () => ownFound().some((topic) => !deleted.has(topic));
        await connection.readRetained(filters, note, undefined, hasNew);
        const own = ownFound();
        inVain = own.every((topic) => deleted.has(topic)) ? inVain + 1 : 0;
        if (own.length === 0 || inVain > maxInVain) return own;
        for (const topic of own) {
          await retained.waitForRoom();
          retained.found(topic);
          retained.clear(topic);
          deleted.add(topic);
        }
        await retained.waitForAnswers();
      }
    };
    const { stateFilters, requestFilter } = topics;
    // Discovery messages come first, so that Home Assistant removes the devices before their states vanish.
    const left = [
      ...(await deleteUnder([topics.discoveryFilter])),
      ...(await deleteUnder([...stateFilters, topics.bridge('+'), ...commandFilters(topics), requestFilter])),
    ];
    const isShownByFilters = own.every((topic) => shown.has(topic));
    if (!isShownByFilters) {
      const known = await knownTopics(config.data_dir, topics);
      for (let start = 0; start < known.length; start += maxReadAtOnce) {
        left.push(...(await deleteUnder(known.slice(start, start + maxReadAtOnce))));
      }
    }
    for (const topic of left) deleted.delete(topic);
    context.print(`Deleted ${messageCount(deleted.size)}`);
    if (left.length > 0) {
      log.error(`${messageCount(left.length)} could not be deleted. Another client may publish them again`);
    } else if (!isShownByFilters) {
      log.error(
        'The broker does not list its retained messages. Only those of devices in data_dir were deleted. Delete others by hand',
      );
    } else return exitStatus.done;
    return exitStatus.failed;
  };

  // The error already says why there is no connection, so the connection logs only errors of its own.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), stopping: context.signal };
  return probeBroker(brokerOptions(config, secrets, findBroker), 'cleanup', parts, deleteAll).catch(
    (error: unknown) => {
      throw new Error(`MQTT broker: ${errorMessage(error)}`);
    },
  );
}

/**
 * Reads the topics at which this bridge has messages about itself, and whether it is online. They are exact topics,
 * which every broker shows if it keeps retained messages.
 */
async function readBridge(connection: Connection, topics: Topics) {
  const own: string[] = [];
  let isRunning = false;
  await connection.readRetained(topics.documents('bridge', ''), ({ topic, payload, isRetained }) => {
    if (!isRetained || payload === '') return;
    own.push(topic);
    if (topic === topics.bridge('state') && payload === 'online') isRunning = true;
  });
  return { own, isRunning };
}

/** All topics of the bridge, and of the devices and incidents in its state file. Discovery messages come first. */
async function knownTopics(directory: string, topics: Topics): Promise<string[]> {
  const text = await readFile(join(directory, stateFileName), 'utf8').catch(() => '{}');
  const { state } = readState(text);
  const devices = state.devices.flatMap((key) => {
    const target = topics.parse(`${topics.base}/${key}`);
    return target && target.kind !== 'incident' ? [{ kind: target.kind, id: target.id }] : [];
  });
  const all = [...devices, { kind: 'bridge', id: '' } as const];
  return [
    ...all.map(({ kind, id }) => topics.discovery(kind, id)),
    ...all.flatMap(({ kind, id }) => topics.documents(kind, id)),
    ...[...state.announced, ...state.waiting].map((id) => topics.incident(id)),
  ];
}
