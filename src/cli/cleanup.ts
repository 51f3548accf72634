import { systemClock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { Retained } from '../broker/retained.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { isShared } from '../model/shard.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { devicesNamedIn } from '../publishing/cleanup.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { setUp } from './setup.ts';

/** Readings in a row that find nothing but what was deleted before: a cluster may need a moment, but not more of them. */
const mostInVain = 2;

/** What bridges of one base topic have retained on the broker, as far as it was read. */
interface Kept {
  /** Topics of bridges, devices and incidents, with the devices that an incident there names. */
  readonly states: Map<string, readonly (string | null)[]>;
  /** Discovery messages, with the bridge that made each. */
  readonly makers: Map<string, string>;
}

/**
 * `sonic2mqtt cleanup`: deletes every retained message of this bridge from the broker, and fails unless none is left;
 * where several share an account, what it has made and none of the others has taken over.
 */
export async function cleanup(
  context: CommandContext,
  { force }: { readonly force?: true },
): Promise<number> {
  const { config, log, secrets, findBroker } = await setUp(context, { level: 'warn' });
  const topics = topicsOf(config);
  const isOneOfSeveral = isShared(config.shard);

  const deleteAll = async (connection: Connection): Promise<number> => {
    const [running] = await runningBridges(connection, topics, isOneOfSeveral);
    if (running !== undefined && !force) {
      log.error(
        `The bridge of ${running} says that it is running, so nothing was deleted. Stop it first. If it has crashed, use cleanup --force`,
      );
      return exitStatus.failed;
    }
    const kept: Kept = { states: new Map(), makers: new Map() };
    const isOwn = (topic: string) => !isOneOfSeveral || isMade(topic, kept, topics);
    const retained = new Retained(connection, log);
    const deleted = new Set<string>();
    const left: string[] = [];
    // Devices first: Home Assistant removes them before their states go.
    for (const filters of [[topics.discoveryFilter], stateFilters(topics)]) {
      left.push(...(await deleteUnder(connection, filters, { topics, kept, isOwn, retained, deleted })));
    }
    for (const topic of left) deleted.delete(topic);
    const others = [...kept.makers.keys(), ...kept.states.keys()].filter((topic) => !isOwn(topic));
    const rest = isOneOfSeveral ? [`${others.length} that are not of ${topics.bridgeName} stay`] : [];
    context.print([`Deleted ${counted(deleted.size)}`, ...rest].join('; '));
    if (left.length === 0) return exitStatus.done;
    log.error(
      `${counted(left.length)} could not be deleted: the broker keeps them, or something publishes them again`,
    );
    return exitStatus.failed;
  };

  // Why there is no connection is the error's to tell; it is not tried again until it works.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), signal: context.signal };
  return probeBroker(brokerOptions(config, secrets, findBroker), 'cleanup', parts, deleteAll);
}

interface Cleaning {
  readonly topics: Topics;
  readonly kept: Kept;
  readonly isOwn: (topic: string) => boolean;
  readonly retained: Retained;
  readonly deleted: Set<string>;
}

/**
 * Deletes what is found under the filters again and again, since a broker may show only a part at a time. Resolves to
 * what is still there; nothing, once a reading finds nothing.
 */
async function deleteUnder(
  connection: Connection,
  filters: readonly string[],
  { topics, kept, isOwn, retained, deleted }: Cleaning,
): Promise<readonly string[]> {
  for (let inVain = 0; ; ) {
    const found = new Set<string>();
    await connection.readRetained(filters, ({ topic, payload, isRetained }) => {
      if (isRetained && payload !== '' && note(topic, payload, kept, topics)) found.add(topic);
    });
    const own = [...found].filter(isOwn);
    inVain = own.every((topic) => deleted.has(topic)) ? inVain + 1 : 0;
    if (own.length === 0 || inVain > mostInVain) return own;
    for (const topic of own) {
      await retained.room();
      retained.found(topic);
      retained.clear(topic);
      deleted.add(topic);
    }
    await retained.settle();
  }
}

/** Where bridges say that they are running: of several only this one counts. */
async function runningBridges(
  connection: Connection,
  topics: Topics,
  isOneOfSeveral: boolean,
): Promise<string[]> {
  const running = new Set<string>();
  const filter = topics.ofBridge(isOneOfSeveral ? topics.bridgeName : '+', 'state');
  await connection.readRetained([filter], ({ topic, payload }) => {
    if (payload === 'online' && topics.bridgeNamed(topic) !== null) running.add(topic);
  });
  return [...running];
}

/** All that may be kept, commands too, kind by kind: others may keep thousands below the base topic. */
function stateFilters({ base, bridgeName, bridgeFilters }: Topics): string[] {
  const kinds = ['incident', 'sonic', 'signal', 'property', bridgeName];
  return [...kinds.map((kind) => `${base}/${kind}/#`), ...bridgeFilters];
}

/** Keeps in mind what a bridge has retained; false for what others have, be it a bridge whose base topic is below. */
function note(topic: string, payload: string, kept: Kept, topics: Topics): boolean {
  if (!topic.startsWith(`${topics.base}/`)) {
    const maker = readDiscovery(topics, payload)?.maker;
    if (maker) kept.makers.set(topic, maker);
    return maker !== undefined;
  }
  const target = topics.parse(topic);
  if (target === null && topics.bridgeNamed(topic) === null) return false;
  kept.states.set(topic, target?.kind === 'incident' ? devicesNamedIn(payload) : []);
  return true;
}

/** Whether this bridge has made it, be it its own, a device's that it has announced, or an incident's of such a device. */
function isMade(topic: string, { states, makers }: Kept, topics: Topics): boolean {
  const maker = makers.get(topic) ?? topics.bridgeNamed(topic);
  if (maker !== null) return maker === topics.bridgeName;
  const { kind, id = null } = topics.parse(topic) ?? {};
  const devices = kind === 'incident' ? (states.get(topic) ?? []) : [id];
  // One topic for whatever has the id.
  return devices.some(
    (each) => each !== null && makers.get(topics.discovery('sonic', each)) === topics.bridgeName,
  );
}

function counted(messages: number): string {
  return `${messages.toLocaleString('en-US')} retained ${messages === 1 ? 'message' : 'messages'}`;
}
