import { systemClock } from '../base/clock.ts';
import { devicesNamedIn } from '../bridge/inventory.ts';
import type { Connection } from '../broker/connection.ts';
import { Retained } from '../broker/retained.ts';
import { visitBroker } from '../broker/visit.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { isShared } from '../model/shard.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { type CommandContext, exitStatus } from './command.ts';
import { setUp } from './setup.ts';

/** Slow brokers need a moment before they start to send what they keep. */
const patience = { quietMs: 1_000, longestMs: 60_000 };

/** What bridges of one base topic have retained on the broker, as far as it tells whose it is. */
interface Kept {
  /** Topics of bridges, devices and incidents, with the devices that an incident there names. */
  readonly states: Map<string, readonly (string | null)[]>;
  /** Discovery messages, with the bridge that made each. */
  readonly makers: Map<string, string>;
  /** Bridges that say that they are running. */
  readonly running: Set<string>;
}

/**
 * `sonic2mqtt cleanup`: deletes every retained message of this bridge from the broker; where several share an account,
 * what it has made and none of the others has taken over.
 */
export async function cleanup(context: CommandContext): Promise<number> {
  const { config, log, secrets, findBroker } = await setUp(context, { level: 'warn' });
  const topics = topicsOf(config);

  const deleteAll = async (connection: Connection): Promise<number> => {
    const retained = new Retained(connection, log);
    const kept = await readKept(connection, topics);
    const isOneOfSeveral = isShared(config.shard);
    for (const name of isOneOfSeveral ? [topics.bridgeName] : kept.running) {
      if (!kept.running.has(name)) continue;
      log.warn(
        `The bridge ${name === 'bridge' ? '' : `${name} `}seems to be running: stop it first, or it publishes again when it reconnects`,
      );
    }
    // Devices first: Home Assistant removes them before their states go.
    const all = [...kept.makers.keys(), ...kept.states.keys()];
    const found = isOneOfSeveral ? all.filter((topic) => isMade(topic, kept, topics)) : all;
    for (const topic of found) retained.found(topic);
    for (const topic of found) {
      await retained.room();
      retained.clear(topic);
    }
    await retained.settle();
    const left = retained.unknownTopics().length;
    const others = all.length - found.length;
    const rest = isOneOfSeveral ? `; ${others} that are not of ${topics.bridgeName} stay` : '';
    context.print(`Deleted ${found.length - left} retained messages${rest}`);
    if (left > 0) log.error(`${left} could not be deleted`);
    return left === 0 ? exitStatus.done : exitStatus.failed;
  };

  // Why there is no connection is the error's to tell; it is not tried again until it works.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), signal: context.signal };
  return visitBroker(brokerOptions(config, secrets, findBroker), 'cleanup', parts, deleteAll);
}

async function readKept(connection: Connection, topics: Topics): Promise<Kept> {
  const kept: Kept = { states: new Map(), makers: new Map(), running: new Set() };
  const filters = [`${topics.base}/#`, topics.discoveryFilter];
  await connection.readRetained(filters, patience, ({ topic, payload, isRetained }) => {
    if (!isRetained || payload === '') return;
    if (!topic.startsWith(`${topics.base}/`)) {
      const maker = readDiscovery(topics, payload)?.maker;
      if (maker) kept.makers.set(topic, maker);
      return;
    }
    const target = topics.parse(topic);
    const bridge = topics.bridgeNamed(topic);
    // Others may keep something below the base topic, be it a bridge whose own base topic is there.
    if (target === null && bridge === null) return;
    kept.states.set(topic, target?.kind === 'incident' ? devicesNamedIn(payload) : []);
    const isRunning = bridge !== null && topic === topics.ofBridge(bridge, 'state') && payload === 'online';
    if (isRunning) kept.running.add(bridge);
  });
  return kept;
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
