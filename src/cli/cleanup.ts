import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { Retained } from '../broker/retained.ts';
import { commandFilters } from '../homeassistant/command.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { messageCount } from '../publishing/cleanup.ts';
import { formerTopicsOf } from '../publishing/formerTopics.ts';
import { RetainedScan } from '../publishing/retainedScan.ts';
import { type Kept, knownIncidents, newKept, readSections } from '../state/sections.ts';
import { stateFileName } from '../state/stateFile.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { endPauses, findPaused } from './pausedShutOffs.ts';

/** How many readings in a row may find only messages that were deleted before. A cluster may need a moment. */
const maxInVain = 2;

/** How many topics are read at a time. */
const maxReadAtOnce = 500;

/** `sonic2mqtt cleanup`. */
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
  const { config, log, secrets, findBroker } = configuration;

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
    const known = [...kept.devices.keys()].flatMap((key) =>
      key.startsWith('property/') ? [key.slice(9)] : [],
    );
    const paused = isDemo
      ? new Map()
      : await findPaused(connection, { topics, known, kept: [...kept.pauses.keys()] });
    const problem = paused.size > 0 ? await endPauses(configuration, paused, context) : null;
    if (problem !== null) {
      log.error(`${problem}. Nothing was deleted. Turn it on in the vendor's app, then try again`);
      return exitStatus.failed;
    }
    const deletion = new Deletion(connection, log);
    await deletion.deleteBelow(topics, own, kept);
    for (const former of formerTopicsOf(topics, kept)) {
      const bridge =
        former.base === topics.base ? { own: [], isRunning: false } : await readBridge(connection, former);
      // A folder that was copied from another bridge names the topics of that bridge.
      if (!bridge.isRunning) await deletion.deleteBelow(former, bridge.own, kept);
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

  // The error already says why there is no connection, so the connection logs only errors of its own.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), stopping: context.signal };
  return probeBroker(brokerOptions(config, secrets, findBroker), 'cleanup', parts, deleteAll).catch(
    (error: unknown) => {
      throw new Error(`MQTT broker: ${errorMessage(error)}`);
    },
  );
}

/** Deletes messages below one base topic and one discovery prefix after another, and counts them. */
class Deletion {
  readonly deleted = new Set<string>();
  /** Messages that are still there. */
  readonly left: string[] = [];
  /** Whether the broker lists its retained messages, as far as this is known. */
  isListed = true;
  readonly #connection: Connection;
  readonly #retained: Retained;
  /** Base topics below which nothing else is to be deleted. */
  readonly #bases = new Set<string>();

  constructor(connection: Connection, log: Log) {
    this.#connection = connection;
    this.#retained = new Retained(connection, log);
  }

  /** Deletes everything of a bridge with these topics. `own` are its messages about itself that are certainly there. */
  async deleteBelow(topics: Topics, own: readonly string[], kept: Kept): Promise<void> {
    const scan = new RetainedScan(topics);
    const shown = new Set<string>();
    const left: string[] = [];
    // Discovery messages come first, so that Home Assistant removes the devices before their states vanish.
    left.push(...(await this.#deleteAt([topics.discoveryFilter], scan, shown)));
    if (!this.#bases.has(topics.base)) {
      const states = [
        ...topics.stateFilters,
        topics.bridge('+'),
        ...commandFilters(topics),
        topics.requestFilter,
      ];
      left.push(...(await this.#deleteAt(states, scan, shown)));
    }
    this.#bases.add(topics.base);
    this.isListed &&= own.every((topic) => shown.has(topic));
    const exact = this.isListed ? [] : knownTopics(topics, kept);
    for (let start = 0; start < exact.length; start += maxReadAtOnce) {
      left.push(...(await this.#deleteAt(exact.slice(start, start + maxReadAtOnce), scan, shown)));
    }
    for (const topic of left) this.deleted.delete(topic);
    this.left.push(...left);
  }

  /**
   * Deletes what the bridge has at these topics, and returns what is left. A broker may send only a part of its messages
   * at a time. So reading is repeated until it finds nothing, or nothing that can be deleted.
   */
  async #deleteAt(
    filters: readonly string[],
    scan: RetainedScan,
    shown: Set<string>,
  ): Promise<readonly string[]> {
    const { deleted } = this;
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
      await this.#connection.readRetained(filters, note, undefined, hasNew);
      const own = ownFound();
      inVain = own.every((topic) => deleted.has(topic)) ? inVain + 1 : 0;
      if (own.length === 0 || inVain > maxInVain) return own;
      for (const topic of own) {
        await this.#retained.waitForRoom();
        this.#retained.found(topic);
        this.#retained.clear(topic);
        deleted.add(topic);
      }
      await this.#retained.waitForAnswers();
    }
  }
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

async function keptIn(directory: string): Promise<Kept> {
  const text = await readFile(join(directory, stateFileName), 'utf8').catch(() => '{}');
  const kept = newKept();
  readSections(kept, text);
  return kept;
}

/** All topics of the bridge, and of the devices and incidents in its state file. Discovery messages come first. */
function knownTopics(topics: Topics, kept: Kept): string[] {
  const devices = [...kept.devices.keys()].flatMap((key) => {
    const target = topics.parse(`${topics.base}/${key}`);
    return target && target.kind !== 'incident' ? [{ kind: target.kind, id: target.id }] : [];
  });
  const all = [...devices, { kind: 'bridge', id: '' } as const];
  return [
    ...all.map(({ kind, id }) => topics.discovery(kind, id)),
    ...all.flatMap(({ kind, id }) => topics.documents(kind, id)),
    ...knownIncidents(kept).map((id) => topics.incident(id)),
  ];
}
